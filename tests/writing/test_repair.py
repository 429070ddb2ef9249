"""Damaged traces, written anew."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.paths import SHARED, TRACES, needs_shared
from tracekit.errors import InputError
from tracekit.reading import load
from tracekit.trace import Trace
from tracekit.writing import Repaired, repaired

CASES = sorted(path for path in (SHARED / "cases").glob("*.json*") if ".expect." not in path.name) or [SHARED / "absent.json"]
COLUMNS = ("ts_ns", "dur_ns", "category", "device", "stream", "correlation", "external_id")


def mended(path: Path, tmp_path: Path) -> tuple[Repaired, Trace]:
    """Repair a file; every parser must take the result, with nothing left to mend."""
    result = repaired(str(path), gzip=False)
    again = tmp_path / "mended.json"
    again.write_bytes(result.data)

    def refuse(word: str) -> None:
        raise AssertionError(word)

    json.loads(result.data.decode("utf-8"), parse_constant=refuse)
    trace = load(again)
    assert trace.log.complete
    assert not trace.log.repaired
    return result, trace


def same_slices(a: Trace, b: Trace, *, args: bool = True) -> None:
    """Assert that two traces have the same slices."""
    assert [a.name(row) for row in range(len(a))] == [b.name(row) for row in range(len(b))]
    for column in COLUMNS:
        assert np.array_equal(getattr(a.slices, column), getattr(b.slices, column)), column
    assert not args or all(a.args(row) == b.args(row) for row in range(len(a)))


@needs_shared
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_odd_inputs_become_clean_ones(path: Path, tmp_path: Path) -> None:
    """With the slices that were read of them."""
    try:
        before = load(path)
    except InputError:
        pytest.skip("is no trace")
    _, after = mended(path, tmp_path)
    same_slices(before, after)


def test_a_sound_trace_stays_as_it_is(tmp_path: Path) -> None:
    """Every event byte for byte."""
    result, after = mended(TRACES / "gpt.json.gz", tmp_path)
    assert result.as_they_stood == result.kept == after.log.in_file
    assert (result.dropped, result.repaired) == ({}, {})
    same_slices(load(TRACES / "gpt.json.gz"), after)


@pytest.mark.parametrize(
    ("odd", "name", "dur_ns"),
    [
        ('{"ph": "X", "name": "a", "ts": "7.5", "dur": "2"}', "a", 2000),
        ('{"ph": "X", "name": "a", "ts": 7.5}', "a", 0),
        ('{"ph": "X", "name": "a", "ts": 7.5, "dur": -3}', "a", 0),
        ('{"ph": "B", "name": "a", "ts": 7.5}', "a", 0),
        ('{"ph": "X", "name": "C:\\dir", "ts": 7.5, "dur": 1}', "C:\\dir", 1000),
        ('{"ph": "X", "name": "a"b"", "ts": 7.5, "dur": 1}', 'a"b"', 1000),
        ('{"ph": "X", "name": "a\tb", "ts": 7.5, "dur": 1,}', "a\tb", 1000),
        ('{"ph": "X", "name": "a", "ts": 7.5, "dur": 1, "args": {"x": NaN, "stream": 18446744073709551615}}', "a", 1000),
    ],
)
def test_each_kind_of_damage_is_mended_in_the_text(odd: str, name: str, dur_ns: int, tmp_path: Path) -> None:
    """The result says in JSON what the reader made of it."""
    path = tmp_path / "odd.json"
    path.write_text('{"traceEvents": [{"ph": "X", "name": "good", "ts": 1, "dur": 1}, ' + odd + "]}", encoding="utf-8")
    result, after = mended(path, tmp_path)
    assert (result.kept, result.as_they_stood) == (2, 1)
    assert (after.name(1), int(after.slices.ts_ns[1]), int(after.slices.dur_ns[1])) == (name, 7500, dur_ns)
    same_slices(load(path), after, args="18446744073709551615" not in odd)  # a folded id stands folded in the new file


def test_what_can_not_be_saved_is_counted(tmp_path: Path) -> None:
    """A cut event is lost, and said."""
    path = tmp_path / "cut.json"
    path.write_text('{"traceEvents": [{"ph": "X", "name": "good", "ts": 1, "dur": 1}, 5, {"ph": "X", "name": "cu')
    result, after = mended(path, tmp_path)
    assert {reason.value: count for reason, count in result.dropped.items()} == {"not_an_object": 1, "truncated": 1}
    assert after.log.in_file == 1


def test_nothing_to_save_is_an_error(tmp_path: Path) -> None:
    """An empty result would look like a success."""
    path = tmp_path / "lost.json"
    path.write_text('{"traceEvents": [5, 6]}')
    with pytest.raises(InputError, match="no event that can be read"):
        repaired(str(path), gzip=False)
