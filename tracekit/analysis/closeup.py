"""A picture of a moment: some slices, with the streams, the idle time and the launching thread around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tracekit.analysis.picture import Lane, Picture, idle_lane, merged, stream_lanes
from tracekit.trace import ABSENT, CALLS, GPU_WORK, I64, Category

if TYPE_CHECKING:
    from tracekit.analysis.bundle import Analysis

MARGIN = 1.0
"""So many lengths of what it is about are shown on either side of it."""

LEAST_MARGIN_NS = 30_000
MERGE_SHARE = 0.002
MOST_STREAMS, MOST_LEVELS, MOST_SLICES = 4, 4, 3_000

EVIDENCE = "evidence"

_KINDS = {Category.CPU_OP: "op", Category.USER_ANNOTATION: "annotation", **dict.fromkeys(CALLS, "runtime call")}


def closeup(analysis: Analysis, rows: Sequence[int]) -> Picture | None:
    """Return the picture around the first of some slices; None where there are none.

    Where a host slice's GPU work runs long after it, as the queue is deep, the picture shows the GPU's side: there the time goes.
    """
    if not len(rows):
        return None
    shown = [_interval(analysis, row) for row in rows]
    begin, end = _around(shown)
    first, last = analysis.trace.span_ns
    margin = max(int(MARGIN * (end - begin)), LEAST_MARGIN_NS)
    low, high = max(begin - margin, first), min(end + margin, last)
    if high <= low:
        return None
    least = max(int(MERGE_SHARE * (high - low)), 1)
    bars = [
        (_name(analysis, row, one), max(one[0], low), min(one[1], high), EVIDENCE)
        for row, one in zip(rows, shown, strict=True)
        if one[0] < high and one[1] >= low
    ]
    device = _device(analysis, rows[0])
    lanes = [("evidence", merged(bars, low, least))]
    lanes += stream_lanes(analysis, device, low, high, least, MOST_STREAMS)
    lanes += idle_lane(analysis, low, high, least) if device == analysis.windows.device else []
    lanes += _host_lanes(analysis, _thread(analysis, rows[0]), low, high, least)
    return Picture("", high - low, tuple(lanes), low - first)


def _around(shown: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the first interval, with those that follow it more closely than it is long."""
    begin, end = shown[0]
    for low, high in sorted(shown):
        if begin <= low <= end + (end - begin):
            end = max(end, high)
    return begin, end


def _name(analysis: Analysis, row: int, interval: tuple[int, int]) -> str:
    name = analysis.trace.name(row)
    return name if interval[0] == analysis.trace.slices.ts_ns[row] else f"{name}: its GPU work"


def _launched(analysis: Analysis, row: int) -> I64:
    """Return the GPU events launched within a host slice, as indices into ``Work``."""
    slices, launch = analysis.trace.slices, analysis.links.launch
    has = np.flatnonzero(launch >= 0)
    calls = launch[has]
    inside = (
        (slices.thread[calls] == slices.thread[row])
        & (slices.ts_ns[calls] >= slices.ts_ns[row])
        & (slices.end_ns[calls] <= slices.end_ns[row])
    )
    return np.asarray(has[inside])


def _interval(analysis: Analysis, row: int) -> tuple[int, int]:
    slices, work = analysis.trace.slices, analysis.work
    begin, end = int(slices.ts_ns[row]), int(slices.end_ns[row])
    if slices.category[row] in GPU_WORK:
        return begin, end
    launched = _launched(analysis, row)
    if not len(launched):
        return begin, end
    low, high = int(work.start_ns[launched].min()), int(work.end_ns[launched].max())
    together = max(end, high) - min(begin, low)
    if together <= 2 * (end - begin + high - low) + LEAST_MARGIN_NS:
        return begin, end
    return low, high


def _at(analysis: Analysis, row: int) -> int:
    """Return the place of a GPU event in ``Work``, or -1."""
    found = np.flatnonzero(analysis.work.rows == row)
    return int(found[0]) if len(found) else ABSENT


def _device(analysis: Analysis, row: int) -> int:
    at = _at(analysis, row)
    return int(analysis.work.device[at]) if at >= 0 else analysis.windows.device


def _thread(analysis: Analysis, row: int) -> int:
    """Return the thread of a host slice, or the one that launched a GPU event; -1 where that isn't known."""
    at = _at(analysis, row)
    if at >= 0:
        row = int(analysis.links.launch[at])
    return int(analysis.trace.slices.thread[row]) if row >= 0 else ABSENT


def _host_lanes(analysis: Analysis, thread: int, low: int, high: int, least: int) -> list[Lane]:
    """Return the ops, annotations and calls of a thread, a lane each level; what spans the whole picture says nothing and is left out."""
    slices = analysis.trace.slices
    mine = np.flatnonzero((slices.thread == thread) & (slices.ts_ns < high) & (slices.end_ns > low))
    mine = mine[slices.is_any(tuple(_KINDS))[mine]]
    mine = mine[(slices.ts_ns[mine] > low) | (slices.end_ns[mine] < high)]
    if len(mine) > MOST_SLICES:
        mine = np.sort(mine[np.argsort(-slices.dur_ns[mine], kind="stable")[:MOST_SLICES]])
    kept = set(mine.tolist())
    levels: list[list[tuple[str, int, int, str]]] = [[] for _ in range(MOST_LEVELS)]
    for row in mine.tolist():
        depth = sum(one in kept for one in analysis.links.ancestors(row))
        if depth < MOST_LEVELS:
            kind = _KINDS[Category(int(slices.category[row]))]
            levels[depth].append((analysis.trace.name(row), max(int(slices.ts_ns[row]), low), min(int(slices.end_ns[row]), high), kind))
    used = [bars for bars in levels if bars]
    return [("host" if not i else "", merged(bars, low, least)) for i, bars in enumerate(used)]
