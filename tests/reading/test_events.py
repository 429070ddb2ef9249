"""Events that were read singly."""

from __future__ import annotations

from typing import Any

import pytest

from tracekit.reading.damaged import Found, sound_value
from tracekit.reading.events import row_of_found
from tracekit.reading.rows import ASIDE, MISSING, TEXT_ID, Row, Space
from tracekit.trace import Drop, Repair


def row(sound: str, **found: Any) -> tuple[Row, bytes]:
    """Return the row of a sound event's text at offset 100, and what was put aside."""
    data = sound.encode()
    value, end, _ = sound_value(data, 0, len(data))
    aside = bytearray()
    return row_of_found(Found(**{"end": end, "value": value, "text": data, **found}), 100, Space(), aside), bytes(aside)


def test_sound_args_stay_where_they_are() -> None:
    """The offset is that of the file."""
    text = '{"ph": "X", "ts": 1, "args": {"a": 1.50}}'
    made, aside = row(text)
    assert (made.args_at, made.args_len, made.flags, aside) == (100 + text.index('{"a"'), 11, 0, b"")


def test_mended_args_are_put_aside_with_all_their_digits() -> None:
    """Nothing is rounded on the way."""
    made, aside = row('{"ph": "X", "ts": 1, "args": {"a": 1.500000000000000000001, "b": [1e5]}}', text=None, repairs=(Repair.BAD_ESCAPE,))
    assert (made.args_at, made.args_len, made.flags) == (0, len(aside), ASIDE)
    assert aside == b'{"a":1.500000000000000000001,"b":[1e5]}'


@pytest.mark.parametrize("phase", ["XX", "é", '"', ""])
def test_a_phase_of_no_single_letter_is_kept_as_unknown(phase: str) -> None:
    """It is counted as ``?``; an empty one is no phase."""
    made, _ = row('{"ph": "%s", "ts": 1}' % phase.replace('"', '\\"'))  # noqa: UP031
    assert (chr(made.phase), made.drop > 0) == (("?", False) if phase else ("\0", True))


def test_text_ids_are_strings_until_all_are_known() -> None:
    """The flag says so."""
    made, _ = row('{"ph": "s", "ts": 1, "id": "abc"}')
    assert (made.flags, made.correlation) == (TEXT_ID, 0)
    assert row('{"ph": "s", "ts": 1, "id": 1.5}')[0].correlation == MISSING


def test_what_is_lost_keeps_its_reason() -> None:
    """A dropped element has a row too, so that places in the file are counted."""
    made, _ = row("{}", value=None, drop=Drop.NOT_AN_OBJECT)
    assert (made.at, made.drop) == (100, 1 + list(Drop).index(Drop.NOT_AN_OBJECT))
