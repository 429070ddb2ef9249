"""A picture of one step: what the GPU did by class, and why it idled."""

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


@dataclass(frozen=True)
class Picture:
    """The median step.

    Attributes:
        step: Its name.
        length_ns: Its time.
        lanes: Label and bars of each row: streams, then idle time.
    """

    step: str
    length_ns: int
    lanes: tuple[tuple[str, tuple[PictureBar, ...]], ...]


def step_picture(analysis: Analysis) -> Picture | None:
    """Return the picture of the step whose time is the median; None where no step has GPU work."""
    windows, work = analysis.windows, analysis.work
    usable = np.flatnonzero(windows.on_device & (windows.wall_ns > 0))
    if not len(usable):
        return None
    step = int(usable[np.argsort(windows.wall_ns[usable], kind="stable")[(len(usable) - 1) // 2]])
    low, high = int(windows.start_ns[step]), int(windows.end_ns[step])
    on = np.flatnonzero((work.device == windows.device) & (work.end_ns > low) & (work.start_ns < high))
    streams = analysis.trace.slices.stream[work.rows[on]]
    least = max(int(MERGE_SHARE * (high - low)), 1)
    lanes = []
    busiest = sorted(np.unique(streams).tolist(), key=lambda one: -int(work.dur_ns[on[streams == one]].sum()))
    for stream in busiest[:MOST_LANES]:
        events = on[streams == stream]
        bars = [
            (
                analysis.trace.name(int(work.rows[g])),
                max(int(work.start_ns[g]), low),
                min(int(work.end_ns[g]), high),
                work.classes[work.class_id[g]],
            )
            for g in events.tolist()
        ]
        lanes.append((f"stream {stream}" if stream >= 0 else "GPU", _merged(bars, low, least)))
    idle = analysis.idle
    mine = np.flatnonzero(idle.step == step)
    gaps = [(_cause(analysis, q), int(idle.start_ns[q]), int(idle.end_ns[q]), "idle") for q in mine.tolist()]
    if gaps:
        lanes.append(("idle", _merged(gaps, low, least)))
    return Picture(analysis.links.steps.names[step], high - low, tuple(lanes))


def _cause(analysis: Analysis, q: int) -> str:
    idle = analysis.idle
    name = analysis.trace.name(int(idle.row[q])) if idle.row[q] >= 0 else ""
    return f"{Cause(int(idle.cause[q])).name.lower().replace('_', ' ')} {name}".strip()


def _merged(bars: list[tuple[str, int, int, str]], low: int, least: int) -> tuple[PictureBar, ...]:
    """Join neighbours of one kind that are nearer than ``least``."""
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
