"""Where in time a difference stands: for viewers that show both traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracekit.diff.align import Bundle, Pair, align, bundles
from tracekit.diff.causes import cause_of
from tracekit.diff.sides import SideData
from tracekit.units import ns_text

LEAST_SHARE = 0.002
"""Share of the longer step below which a change isn't marked."""


@dataclass(frozen=True)
class DiffMark:
    """A stretch of the first compared step in which GPU work of one row of the ledger runs.

    Attributes:
        start_ns, end_ns: On the clock of its own trace.
        name: The change per step, and what it is.
        args: The row's figures.
    """

    start_ns: int
    end_ns: int
    name: str
    args: dict[str, object]


def difference_marks(a: SideData, b: SideData) -> tuple[list[DiffMark], list[DiffMark]]:
    """Return the marks of both sides, in order of time; work that only one side has is marked there."""
    least = LEAST_SHARE * max(a.mean(a.analysis.windows.wall_ns), b.mean(b.analysis.windows.wall_ns))
    out: tuple[list[DiffMark], list[DiffMark]] = ([], [])
    for pair in align(bundles(a), bundles(b)):
        delta = (pair.b.ns / b.count if pair.b else 0.0) - (pair.a.ns / a.count if pair.a else 0.0)
        if abs(delta) < least:
            continue
        for marks, bundle, side in ((out[0], pair.a, a), (out[1], pair.b, b)):
            if bundle is not None:
                marks += _of(pair, bundle, side, delta, cause_of(pair, a, b))
    for marks in out:
        marks.sort(key=lambda one: (one.start_ns, -one.end_ns))
    return out


def _of(pair: Pair, bundle: Bundle, side: SideData, delta_ns: float, cause: str) -> Iterator[DiffMark]:
    """Yield the runs of a bundle's events in the first compared step that nothing of another bundle interrupts."""
    if not len(side.steps):
        return
    work, step = side.analysis.work, int(side.steps[0])
    events = np.array(bundle.events, dtype=np.int64)
    events = np.sort(events[side.analysis.links.step[events] == step])
    if not len(events):
        return
    what = " ".join(part for part in (bundle.region, bundle.stage or bundle.class_) if part)
    name = f"{ns_text(delta_ns, signed=True)} a step: {what}{f' ({cause})' if cause else ''}"
    only = "" if pair.a and pair.b else "only here"
    args: dict[str, object] = {
        "region": bundle.region,
        "class": bundle.class_,
        "delta_us_per_step": round(delta_ns / 1000, 3),
        "cause": cause,
        "match": only or f"matched, confidence {pair.confidence:g}",
        "events_per_step": round(bundle.count / side.count, 2),
    }
    for run in np.split(events, np.flatnonzero(np.diff(events) > 1) + 1):
        yield DiffMark(int(work.start_ns[run].min()), int(work.end_ns[run].max()), name, args)
