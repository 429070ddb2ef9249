"""What stands in the file beside its events."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reading.support import document, event, read
from tracekit.reading.metadata import read_members
from tracekit.reading.pieces import Notes
from tracekit.trace import Repair


@pytest.mark.parametrize(
    ("broken", "known"),
    [
        ('"INFO": ["start "now" and go", "b"]', False),
        ('"INFO": oops', False),
        ('"path": "C:\\new\\log"', True),
        ('"ratio": NaN', True),
        ('"text": "a\nb"', True),
    ],
)
@pytest.mark.parametrize("behind", [False, True])
def test_a_broken_value_costs_no_event_and_no_other_value(tmp_path: Path, broken: str, known: bool, behind: bool) -> None:
    """Log lines copied into metadata are often not escaped."""
    members = '"with_stack": 1,\n' + broken + ',\n"record_shapes": 1'
    trace = read(tmp_path, document(event(), after=",\n" + members) if behind else document(event(), before=members + ",\n"))
    assert trace.log.kept == 1
    assert (trace.metadata["with_stack"], trace.metadata["record_shapes"]) == (1, 1)
    assert (len(trace.metadata) == 3) or not known
    assert trace.log.repaired


def test_a_cut_tail_keeps_what_is_whole(tmp_path: Path) -> None:
    """The events are all there; the last value isn't."""
    trace = read(tmp_path, document(event(), after=', "a": 1, "b": [1, 2')[:-1])
    assert trace.metadata == {"a": 1}
    assert trace.log.repaired == {Repair.BAD_METADATA: 1}


def test_values_are_read_with_or_without_braces() -> None:
    """As they stand before the events and behind them."""
    for text in (b'{"a": 1, "b": {"c": [2]},', b', "a": 1, "b": {"c": [2]}}', b'"a":1,"b":{"c":[2]}}}'):
        notes = Notes()
        assert read_members(text, 0, notes) == ({"a": 1, "b": {"c": [2]}}, None)
        assert not notes.count


def test_ints_of_any_length_are_read() -> None:
    """Python refuses ints of thousands of digits; such a value is no int of anybody's."""
    found, _ = read_members(b'"a": 170000000000000000000000000, "b": ' + b"9" * 5000 + b', "c": 1', 0, Notes())
    assert found == {"a": 170000000000000000000000000, "b": None, "c": 1}


@pytest.mark.parametrize(("raw", "base"), [("1751410836000000000", 1751410836000000000), ("-5", 0), ('"x"', 0), ("true", 0), ("1e30", 0)])
def test_a_base_time_is_a_whole_number_or_none(tmp_path: Path, raw: str, base: int) -> None:
    """Anything else is read as absent."""
    assert read(tmp_path, document(event(), after=f', "baseTimeNanoseconds": {raw}')).base_ns == base
