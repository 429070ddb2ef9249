"""What the profiler itself costs: the step time that the same program would have without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tracekit.analysis.idle import Cause
from tracekit.trace import CALLS, Category

if TYPE_CHECKING:
    from tracekit.analysis.bundle import Analysis

RECORDING_NS = (800.0, 1_700.0, 2_700.0)
"""Host time that recording one op costs, low to high; a runtime call costs twice as much, a python frame a seventh.

Fitted on the 26 programs of ``traces/faults`` that wait for the host: each was timed with and without the profiler. The middle is the least-squares fit, low
and high hold most of the programs.
"""

LEAST_IDLE_SHARE = 0.005
"""A device that idles less than this waits for no host, however slow recording makes it."""


_HOST = (Cause.OP, Cause.RUNTIME, Cause.SYNC, Cause.PYTHON, Cause.ANNOTATION, Cause.NO_HOST_EVENT)


@dataclass(frozen=True)
class Unprofiled:
    """Step time without the profiler, with its range, and the host events that are recorded in a step."""

    low_ns: float
    mid_ns: float
    high_ns: float
    host_events_per_step: float


def unprofiled_step_ns(analysis: Analysis) -> Unprofiled:
    """Return what the mean step would take if nothing were recorded.

    By replay, with every recorded slice of the launching threads cheaper: where the GPU is the limit nothing gets shorter, and the step never gets shorter
    than its busy time.
    """
    windows, links, slices = analysis.windows, analysis.links, analysis.trace.slices
    steps = max(len(windows.wall_ns), 1)
    step, busy = float(windows.wall_ns.sum()) / steps, float(windows.busy_ns.sum()) / steps
    hosts = (Category.CPU_OP, Category.USER_ANNOTATION, Category.PYTHON_FUNCTION, *CALLS)
    events = float(((links.slice_step >= 0) & slices.is_any(hosts)).sum()) / steps
    if step - busy <= LEAST_IDLE_SHARE * step or not len(analysis.work):
        return Unprofiled(step, step, step, round(events, 1))
    # Where the GPU waits for another stream, or for work that is queued, no faster host helps.
    idle = analysis.idle
    waits = float(idle.dur_ns[np.isin(idle.cause, _HOST)].sum()) / steps
    replay = analysis.replay
    low, mid, high = (max(step - min(replay.unprofiled_saving_ns(cost), waits), busy) for cost in reversed(RECORDING_NS))
    return Unprofiled(low, mid, high, round(events, 1))
