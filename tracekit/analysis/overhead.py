"""What the profiler itself costs: the step time that the same program would have without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tracekit.analysis.idle import Cause
from tracekit.trace import CALLS, Category

if TYPE_CHECKING:
    from tracekit.analysis.bundle import Analysis

EVENT_NS = (500.0, 1_500.0, 2_500.0)
"""Cost of recording one op, annotation or call, low to high. Measured on ``traces/gpt`` and its repeats against their unprofiled steps."""

FRAME_NS = (100.0, 300.0, 600.0)
"""Of one python frame."""

_HOST = (Cause.OP, Cause.RUNTIME, Cause.PYTHON, Cause.ANNOTATION, Cause.NO_HOST_EVENT)


@dataclass(frozen=True)
class Unprofiled:
    """Step time without the profiler, with its range, and the host events that are recorded in a step."""

    low_ns: float
    mid_ns: float
    high_ns: float
    host_events_per_step: float


def unprofiled_step_ns(analysis: Analysis) -> Unprofiled:
    """Return what the mean step would take if nothing were recorded.

    Only time that the GPU waits for the host can shrink, and the step never gets shorter than its busy time.
    """
    windows, links, slices = analysis.windows, analysis.links, analysis.trace.slices
    steps = max(len(windows.wall_ns), 1)
    step = float(windows.wall_ns.sum()) / steps
    idle = analysis.idle
    waits = float(idle.dur_ns[np.isin(idle.cause, _HOST)].sum()) / steps
    inside = links.slice_step >= 0
    events = float((inside & slices.is_any((Category.CPU_OP, Category.USER_ANNOTATION, *CALLS))).sum()) / steps
    frames = float((inside & (slices.category == Category.PYTHON_FUNCTION)).sum()) / steps
    shorter = [min(events * event + frames * frame, waits) for event, frame in zip(EVENT_NS, FRAME_NS, strict=True)]
    return Unprofiled(step - shorter[2], step - shorter[1], step - shorter[0], round(events + frames, 1))
