"""Host time that a change takes away."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.builder import Builder, build
from tracekit.analysis import Analysis, analyze
from tracekit.analysis.cuts import CALL_WEIGHT, LARGEST_SHARE, STEP_WEIGHT, Recorded, cut_slices, cut_time, join_cuts, no_cuts


def recorded() -> tuple[Analysis, Recorded]:
    """Return a step with an op of 100 µs, one of 40 inside it, and a launch of 10 inside that (rows 0 to 3)."""
    trace: Builder = build().step(0, 0, 200).op("aten::outer", 10, 100).op("aten::inner", 20, 40).launch("cudaLaunchKernel", 30, 10)
    analysis = analyze(trace.kernel("k", 60, 20).trace())
    return analysis, Recorded(analysis.trace, analysis.links)


def ints(*us: float) -> np.ndarray:
    """Return µs as ns."""
    return np.array([int(1000 * one) for one in us], dtype=np.int64)


def test_a_slice_that_goes_shifts_what_comes_after_it() -> None:
    """By its time; what is within it by the part that has gone by then."""
    analysis, host = recorded()
    cuts = cut_slices(analysis.trace, host, [2])
    assert cuts.before(ints(0, 20, 40, 60, 150), 0.0).tolist() == [0, 0, 20_000, 40_000, 40_000]


def test_what_is_kept_inside_it_stays() -> None:
    """Only the rest of the time goes."""
    analysis, host = recorded()
    cuts = cut_slices(analysis.trace, host, [1], kept=[2])
    assert cuts.before(ints(200), 0.0).tolist() == [60_000]


def test_nested_slices_and_overlapping_cuts_go_once() -> None:
    """With the largest share."""
    analysis, host = recorded()
    assert cut_slices(analysis.trace, host, [1, 2]).before(ints(200), 0.0).tolist() == [100_000]
    half = cut_slices(analysis.trace, host, [1], share=0.5)
    both = join_cuts(host, [half, cut_slices(analysis.trace, host, [2])])
    assert both.before(ints(200), 0.0).tolist() == [70_000]
    assert join_cuts(host, []).before(ints(200), 0.0).tolist() == [0]


def test_added_time_is_less_than_nothing_taken() -> None:
    """An op in the place of another costs host time too."""
    analysis, host = recorded()
    cuts = cut_slices(analysis.trace, host, [2], added_at=[2], added_ns=15_000.0)
    assert cuts.before(ints(10, 200), 0.0).tolist() == [0, 25_000]


def test_recording_isnt_taken_away_twice() -> None:
    """What every op loses when nothing is recorded isn't won again by removing it."""
    analysis, host = recorded()
    cuts = cut_slices(analysis.trace, host, [2])
    weight = 1 + CALL_WEIGHT
    assert cuts.before(ints(200), 1000.0).tolist() == [40_000 - 1000 * weight]


def test_the_interpreters_way_into_a_call_goes_with_it() -> None:
    """No further back than to what was recorded last."""
    analysis, host = recorded()
    assert cut_slices(analysis.trace, host, [2], python_ns=4_000).before(ints(200), 0.0).tolist() == [44_000]
    assert cut_slices(analysis.trace, host, [2], python_ns=40_000).before(ints(200), 0.0).tolist() == [50_000]


def test_covers_is_about_whole_intervals() -> None:
    """A wait inside what goes entirely goes too; one that is only shortened stays."""
    analysis, host = recorded()
    thread = np.zeros(2, dtype=np.int64)
    assert cut_slices(analysis.trace, host, [2]).covers(thread, ints(30, 50), ints(40, 70)).tolist() == [True, False]
    assert not cut_slices(analysis.trace, host, [2], share=0.5).covers(thread, ints(30, 50), ints(40, 70)).any()
    assert not no_cuts().covers(thread, ints(30, 50), ints(40, 70)).any()


def test_time_may_be_cut_without_a_slice() -> None:
    """A stretch in which the GPU idled."""
    _, host = recorded()
    cuts = cut_time(host, 0, ints(120), ints(150))
    assert cuts.before(ints(135, 190), 0.0).tolist() == [15_000, 30_000]
    assert not no_cuts()
    assert cuts


def test_recording_has_a_weight_and_a_bound() -> None:
    """A step's mark, two ops and a call; never more than a share of the host's time."""
    _, host = recorded()
    weight = STEP_WEIGHT + 2 + CALL_WEIGHT
    assert host.before(ints(0, 15, 200)).tolist() == [0, STEP_WEIGHT + 1, weight]
    assert host.most_ns == LARGEST_SHARE * 200_000 / weight
    assert host.within(0, ints(15), ints(50)).tolist() == pytest.approx([1 + CALL_WEIGHT])
    assert host.idle_since(0, ints(15, 5, 70)).tolist() == [10_000, 0, 60_000]
