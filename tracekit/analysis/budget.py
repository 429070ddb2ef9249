"""Where a step's time goes, in parts that add up to it: GPU busy by class, idle by cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tracekit.analysis.idle import Cause

if TYPE_CHECKING:
    from tracekit.analysis.bundle import Analysis


@dataclass(frozen=True)
class BudgetPart:
    """A part of the mean step.

    Attributes:
        name: Kernel class, or cause of idle time (as ``Cause``, in small letters).
        busy: Whether the GPU works in it.
        ns: Its share of the mean step.
    """

    name: str
    busy: bool
    ns: float


@dataclass(frozen=True)
class Budget:
    """The mean step of the device that works most.

    Attributes:
        steps: Number of steps it is the mean of: those with GPU work.
        step_ns: Its time.
        parts: Its parts, busy ones first, longest first; they add up to ``step_ns``.
    """

    steps: int
    step_ns: float
    parts: tuple[BudgetPart, ...]


def budget(analysis: Analysis) -> Budget | None:
    """Return the budget; None where no step has GPU work.

    Where streams overlap, the time is charged to what started first, as a stretch of time can be spent only once.
    """
    windows, work, idle = analysis.windows, analysis.work, analysis.idle
    usable = np.flatnonzero(windows.on_device & (windows.wall_ns > 0))
    if not len(usable):
        return None
    mine = np.flatnonzero(work.device == windows.device)
    mine = mine[np.lexsort((-work.dur_ns[mine], work.start_ns[mine]))]
    ends = work.end_ns[mine]
    reached = np.maximum.accumulate(ends) if len(ends) else ends
    starts = np.maximum(work.start_ns[mine], np.append(np.iinfo(np.int64).min, reached[:-1]))
    busy = np.zeros(len(work.classes))
    for step in usable.tolist():
        low, high = int(windows.start_ns[step]), int(windows.end_ns[step])
        part = slice(int(np.searchsorted(reached, low, side="right")), int(np.searchsorted(work.start_ns[mine], high)))
        inside = np.minimum(ends[part], high) - np.maximum(starts[part], low)
        busy += np.bincount(work.class_id[mine[part]], weights=np.maximum(inside, 0), minlength=len(busy))
    waits = np.isin(idle.step, usable)
    idling = np.bincount(idle.cause[waits], weights=idle.dur_ns[waits], minlength=len(Cause))
    count = len(usable)
    parts = [BudgetPart(name, True, ns / count) for name, ns in zip(work.classes, busy.tolist(), strict=True) if ns]
    parts += [BudgetPart(cause.name.lower(), False, idling[cause] / count) for cause in Cause if idling[cause]]
    parts.sort(key=lambda part: (not part.busy, -part.ns))
    return Budget(count, float(windows.wall_ns[usable].mean()), tuple(parts))
