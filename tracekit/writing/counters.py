"""Counters of an annotated trace: points of (time in ns, value); a value holds until the next point."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.idle import Cause
from tracekit.analysis.memory import memory_points
from tracekit.intervals import covered
from tracekit.trace import I64

Points = Iterator[tuple[int, float]]

WINDOWS = 200
"""Points of a share over the trace."""

LEAST_WINDOW_NS = 50_000
MOST_POINTS = 20_000
"""Points of a counter that has one for each event: beyond, every second one is left out, and so on."""

_OF_THE_HOST = (Cause.OP, Cause.RUNTIME, Cause.SYNC, Cause.PYTHON, Cause.ANNOTATION, Cause.NO_HOST_EVENT)


def busy_pct(analysis: Analysis) -> Points:
    """Yield the share of each window in which the device works."""
    work = analysis.work
    on = work.device == analysis.windows.device
    yield from _shares(analysis, work.start_ns[on], work.end_ns[on])


def exposed_pct(analysis: Analysis) -> Points:
    """Yield the share of each window in which the device waits for the host."""
    idle = analysis.idle
    mine = np.isin(idle.cause, _OF_THE_HOST)
    if mine.any():
        yield from _shares(analysis, idle.start_ns[mine], idle.end_ns[mine])


def _shares(analysis: Analysis, starts_ns: I64, ends_ns: I64) -> Points:
    work = analysis.work
    on = work.device == analysis.windows.device
    if not on.any():
        return
    low, high = int(work.start_ns[on].min()), int(work.end_ns[on].max())
    width = max((high - low) // WINDOWS, LEAST_WINDOW_NS)
    windows = np.arange(low, high, width)
    order = np.argsort(starts_ns, kind="stable")
    share = 100.0 * covered(starts_ns[order], ends_ns[order], windows, windows + width) / width
    yield from zip(windows.tolist(), share.tolist(), strict=True)
    yield high, 0.0


def queue_events(analysis: Analysis) -> Points:
    """Yield how many GPU events are launched and not yet begun."""
    links, slices = analysis.links, analysis.trace.slices
    known = links.launch >= 0
    launched, begun = slices.ts_ns[links.launch[known]], analysis.work.start_ns[known]
    late = begun >= launched
    times = np.concatenate((launched[late], begun[late]))
    change = np.concatenate((np.ones(int(late.sum()), np.int64), -np.ones(int(late.sum()), np.int64)))
    order = np.lexsort((-change, times))
    times, depth = times[order], np.cumsum(change[order])
    last = np.append(times[1:] != times[:-1], True) if len(times) else np.empty(0, bool)
    yield from zip(times[last].tolist(), depth[last].astype(float).tolist(), strict=True)


def latency_us(analysis: Analysis) -> Points:
    """Yield how long each GPU event waited between its launch and its start; at one start, the longest."""
    links, work = analysis.links, analysis.work
    known = np.flatnonzero(links.launch >= 0)
    start = work.start_ns[known]
    wait = np.maximum(start - analysis.trace.slices.ts_ns[links.launch[known]], 0)
    order = np.lexsort((wait, start))
    start, wait = start[order], wait[order]
    last = np.append(start[1:] != start[:-1], True) if len(start) else np.empty(0, bool)
    start, wait = start[last], wait[last]
    every = max(1, -(-len(start) // MOST_POINTS))
    yield from zip(start[::every].tolist(), (wait[::every] / 1000).tolist(), strict=True)
    if len(start):
        yield int(work.end_ns[known].max()), 0.0


def memory_mib(analysis: Analysis) -> dict[str, list[tuple[int, float]]]:
    """Return the bytes allocated on each device, where the recording has them."""
    out: dict[str, list[tuple[int, float]]] = {}
    for device, points in memory_points(analysis.trace).items():
        every = max(1, -(-len(points) // MOST_POINTS))
        out[device] = [(ts_ns, size / (1 << 20)) for ts_ns, size in points[::every]]
    return out


__all__ = ["Points", "busy_pct", "exposed_pct", "latency_us", "memory_mib", "queue_events"]
