"""Look-ups by id and by place."""

from __future__ import annotations

import numpy as np

from tests.support.builder import build
from tracekit.linking.ids import first_of_runs, flow_ends, pairs, slice_at
from tracekit.trace import Category


def ints(*values: int) -> np.ndarray:
    """Return int64 values."""
    return np.array(values, dtype=np.int64)


def test_pairs_gives_every_value_of_a_key() -> None:
    """In the order of the wanted keys; values of one key in their own order."""
    event, value, crowded = pairs(ints(7, 3, 7), ints(3, 9, 7), ints(70, 30, 71))
    assert event.tolist() == [0, 2, 2]
    assert value.tolist() == [30, 70, 71]
    assert crowded.tolist() == []


def test_pairs_gives_up_on_an_id_that_everything_has() -> None:
    """A thousand calls with one id, asked for a thousand times, aren't a million pairs."""
    event, _, crowded = pairs(np.ones(1000, np.int64), np.ones(1000, np.int64), np.arange(1000))
    assert event.tolist() == []
    assert len(crowded) == 1000


def test_pairs_of_nothing() -> None:
    """Empty on either side."""
    assert [a.tolist() for a in pairs(ints(), ints(1), ints())] == [[], [], []]
    assert [a.tolist() for a in pairs(ints(1), ints(), ints(5))] == [[], [], []]


def test_first_of_runs() -> None:
    """True where a value differs from the one before."""
    assert first_of_runs(ints(4, 4, 5, 5, 5, 9)).tolist() == [True, False, True, False, False, True]
    assert first_of_runs(ints()).tolist() == []


def test_flow_ends_goes_by_category_or_name() -> None:
    """Old files write async_gpu as the category and the call's name as the name."""
    builder = build().flow("ac2g", 1, 0, 5).flow("other", 2, 1, 6)
    builder.event({"ph": "s", "cat": "async_gpu", "name": "cudaLaunchKernel", "id": 3, "pid": 1, "tid": 1, "ts": 2})
    starts, stops = flow_ends(builder.trace(), {"ac2g", "async_gpu"})
    assert (len(starts), len(stops)) == (2, 1)


def test_slice_at_finds_the_innermost_that_starts_there_or_holds_the_time() -> None:
    """Exact starts first; a mark inside a slice points at it; one after its end at nothing."""
    trace = build().op("a", 0, 50).op("b", 0, 20).op("c", 30, 5).thread(2).op("d", 100, 5).trace()
    ops = trace.slices.rows(Category.CPU_OP)
    thread = trace.slices.thread[0]
    times = trace.slices.ts_ns[0] + ints(0, 10_000, 32_000, 36_000, 70_000)
    found = slice_at(trace, ops, np.full(5, thread, np.int32), times)
    assert [trace.name(r) if r >= 0 else None for r in found] == ["b", "b", "c", None, None]


def test_slice_at_with_nothing_to_find() -> None:
    """No rows, or no marks."""
    trace = build().op("a", 0, 50).trace()
    assert slice_at(trace, ints(), np.zeros(1, np.int32), ints(0)).tolist() == [-1]
    assert slice_at(trace, ints(0), np.zeros(0, np.int32), ints()).tolist() == []
