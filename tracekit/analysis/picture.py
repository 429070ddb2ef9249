"""A picture of one step: what the GPU did by class, and why it idled; and the lanes that any picture is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tracekit.analysis.idle import Cause

if TYPE_CHECKING:
    from tracekit.analysis.bundle import Analysis

MERGE_SHARE = 0.0015
"""Bars nearer to each other than this share of the step are drawn as one: the eye can't tell them apart."""

MOST_LANES = 6


@dataclass(frozen=True)
class PictureBar:
    """A stretch: what it is, since the step's start, and its class or cause."""

    name: str
    start_ns: int
    length_ns: int
    kind: str


Lane = tuple[str, tuple[PictureBar, ...]]
"""Label and bars of a row."""


@dataclass(frozen=True)
class Picture:
    """A stretch of time.

    Attributes:
        step: Name of the step that it shows, or "".
        length_ns: Its length.
        lanes: Label and bars of each row: streams, then idle time.
        start_ns: Where it begins, since the start of the trace; 0 for a step.
    """

    step: str
    length_ns: int
    lanes: tuple[Lane, ...]
    start_ns: int = 0


def step_picture(analysis: Analysis) -> Picture | None:
    """Return the picture of the step whose time is the median; None where no step has GPU work."""
    windows = analysis.windows
    usable = np.flatnonzero(windows.on_device & (windows.wall_ns > 0))
    if not len(usable):
        return None
    step = int(usable[np.argsort(windows.wall_ns[usable], kind="stable")[(len(usable) - 1) // 2]])
    low, high = int(windows.start_ns[step]), int(windows.end_ns[step])
    least = max(int(MERGE_SHARE * (high - low)), 1)
    lanes = [*stream_lanes(analysis, windows.device, low, high, least, MOST_LANES), *idle_lane(analysis, low, high, least)]
    return Picture(analysis.links.steps.names[step], high - low, tuple(lanes))


def stream_lanes(analysis: Analysis, device: int, low_ns: int, high_ns: int, least_ns: int, most: int) -> list[Lane]:
    """Return what a device's busiest streams do in ``[low, high)``, busiest first."""
    work = analysis.work
    on = np.flatnonzero((work.device == device) & (work.end_ns > low_ns) & (work.start_ns < high_ns))
    streams = analysis.trace.slices.stream[work.rows[on]]
    lanes = []
    busiest = sorted(np.unique(streams).tolist(), key=lambda one: -int(work.dur_ns[on[streams == one]].sum()))
    for stream in busiest[:most]:
        bars = [
            (
                analysis.trace.name(int(work.rows[g])),
                max(int(work.start_ns[g]), low_ns),
                min(int(work.end_ns[g]), high_ns),
                work.classes[work.class_id[g]],
            )
            for g in on[streams == stream].tolist()
        ]
        lanes.append((f"stream {stream}" if stream >= 0 else "GPU", merged(bars, low_ns, least_ns)))
    return lanes


def idle_lane(analysis: Analysis, low_ns: int, high_ns: int, least_ns: int) -> list[Lane]:
    """Return the lane of the idle stretches in ``[low, high)``; [] where there are none."""
    idle = analysis.idle
    mine = np.flatnonzero((idle.end_ns > low_ns) & (idle.start_ns < high_ns))
    gaps = [(_cause(analysis, q), max(int(idle.start_ns[q]), low_ns), min(int(idle.end_ns[q]), high_ns), "idle") for q in mine.tolist()]
    return [("idle", merged(gaps, low_ns, least_ns))] if gaps else []


def _cause(analysis: Analysis, q: int) -> str:
    idle = analysis.idle
    name = analysis.trace.name(int(idle.row[q])) if idle.row[q] >= 0 else ""
    return f"{Cause(int(idle.cause[q])).name.lower().replace('_', ' ')} {name}".strip()


def merged(bars: list[tuple[str, int, int, str]], low: int, least: int) -> tuple[PictureBar, ...]:
    """Return (name, start, end, kind) as bars since ``low``; neighbours of one kind that are nearer than ``least`` are joined."""
    out: list[tuple[str, int, int, str]] = []
    for name, start, end, kind in sorted(bars, key=lambda bar: bar[1]):
        if out:
            last_name, last_start, last_end, last_kind = out[-1]
            near = kind == last_kind and start - last_end < least
            if near and (name == last_name or end - last_start < least):
                out[-1] = (last_name, last_start, max(last_end, end), kind)
                continue
        out.append((name, start, end, kind))
    return tuple(PictureBar(name[:200], start - low, end - start, kind) for name, start, end, kind in out)
