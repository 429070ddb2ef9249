"""Repairs, one at a time."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.reading.repair import (
    DEEPEST,
    Unreadable,
    commas,
    control_characters,
    escapes,
    half_pairs,
    is_sound,
    name_quotes,
    not_numbers,
    parse,
    parse_args,
    quotes,
    utf8,
)
from tracekit.trace import Repair

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_what_is_sound_is_never_changed(value: object) -> None:
    """No repair touches a text that is JSON."""
    text = json.dumps(value, ensure_ascii=False).encode()
    assert parse(text) == (value, ())
    for mend in (escapes, control_characters, not_numbers, commas, utf8, half_pairs):
        assert mend(text) == text


@pytest.mark.parametrize(
    ("mend", "text", "mended"),
    [
        (escapes, rb'["C:\new", "a\n"]', rb'["C:\new", "a\n"]'),
        (escapes, rb'["C:\models\new"]', rb'["C:\\models\\new"]'),
        (escapes, rb'["a\"C:\q\\"]', rb'["a\"C:\\q\\"]'),
        (half_pairs, rb'"\ud83d\ude00 \ud83d \ude00 \\ud83d"', rb'"\ud83d\ude00 \ufffd \ufffd \\ud83d"'),
        (control_characters, b'{\n"a": "x\ny"\n}', b'{\n"a": "x\\u000ay"\n}'),
        (not_numbers, b'{"NaN": NaN, "b": [-Infinity, inf], "c": "nan"}', b'{"NaN": null, "b": [null, null], "c": "nan"}'),
        (commas, b'[,1,,2,[3,],{"a":1,},"x,,"]', b'[1,2,[3],{"a":1},"x,,"]'),
        (name_quotes, b'{"name": "a "b", c", "pid": 1}', b'{"name": "a \\"b\\", c", "pid": 1}'),
        (quotes, b'{"k": "a "b" c"}', b'{"k": "a \\"b\\" c"}'),
        (utf8, b'"\xff"', b'"\xef\xbf\xbd"'),
    ],
)
def test_each_repair_does_one_thing(mend: object, text: bytes, mended: bytes) -> None:
    """And leaves the rest alone."""
    assert mend(text) == mended  # type: ignore[operator]


def test_repairs_are_named_in_the_order_of_need() -> None:
    """Only those that changed the text."""
    value, used = parse(b'{"name": "a "b"\n\\q", "ts": NaN, "pid": 1,}')
    assert value == {"name": 'a "b"\n\\q', "ts": None, "pid": 1}
    assert used == (Repair.UNESCAPED_QUOTE, Repair.BAD_ESCAPE, Repair.CONTROL_CHARACTER, Repair.NOT_A_NUMBER, Repair.TRAILING_COMMA)


def test_a_repair_may_be_ruled_out() -> None:
    """For when it isn't yet known how far the text reaches."""
    with pytest.raises(Unreadable):
        parse(b'{"name": "a "b"", "pid": 1}', without=Repair.UNESCAPED_QUOTE)


def test_depth_is_measured_outside_of_strings() -> None:
    """Brackets in strings don't nest."""
    assert is_sound(b'["' + b"[" * 1000 + b'"]')
    assert is_sound(b"[" * DEEPEST + b"]" * DEEPEST)
    assert not is_sound(b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1))
    assert is_sound(b"[" + b"[]," * 1000 + b"[]]")


def test_args_that_are_no_object_are_empty() -> None:
    """Whatever stands there, a dict comes back."""
    assert [parse_args(one) for one in (b"[1]", b"oops", b"{", b'{"a": 1e999}')] == [{}, {}, {}, {"a": None}]
