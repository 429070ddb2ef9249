"""Who is innermost on a thread at any time."""

from __future__ import annotations

import numpy as np

from tests.support.builder import Builder, build
from tracekit.analysis import analyze
from tracekit.analysis.timeline import host_timeline


def owners(trace: Builder, start: int, end: int, *, frames: bool = False) -> list[tuple[str, int]]:
    """Return (name or "", µs) of each part of [start, end) on the first thread."""
    analysis = analyze(trace.trace())
    line = host_timeline(analysis.trace, analysis.links, 0, frames=frames)
    _, owner, begins, ends = line.split(np.array([start * 1000]), np.array([end * 1000]))
    return [
        (analysis.trace.name(row) if row >= 0 else "", (e - b) // 1000)
        for row, b, e in zip(owner.tolist(), begins.tolist(), ends.tolist(), strict=True)
    ]


def test_the_innermost_slice_owns_the_time() -> None:
    """A child takes its time from its parent; what lies outside belongs to nobody."""
    trace = build().op("outer", 10, 30).op("inner", 20, 5).op("next", 40, 10)
    assert owners(trace, 0, 60) == [("", 10), ("outer", 10), ("inner", 5), ("outer", 15), ("next", 10), ("", 10)]


def test_slices_that_share_their_ends_nest() -> None:
    """Equal starts: the longer is outside; equal ends: the inner ends first."""
    trace = build().op("outer", 0, 20).op("same start", 0, 5).op("same end", 15, 5)
    assert owners(trace, 0, 25) == [("same start", 5), ("outer", 10), ("same end", 5), ("", 5)]


def test_a_slice_of_no_length_owns_nothing() -> None:
    """It must not keep what follows it either."""
    assert owners(build().op("outer", 0, 20).op("nothing", 10, 0), 0, 20) == [("outer", 10), ("outer", 10)] or owners(
        build().op("outer", 0, 20).op("nothing", 10, 0), 0, 20
    ) == [("outer", 20)]


def test_a_frame_that_outlasts_its_caller_is_over_with_it() -> None:
    """A frame that was never closed runs to the end of the file; its caller ended before."""
    trace = build().frame("caller", 0, 20).frame("never closed", 5, 500)
    assert owners(trace, 0, 30, frames=True)[0] == ("caller", 5)
