"""``link``: a trace in, who launched what out."""

from __future__ import annotations

import numpy as np

from tracekit.linking import forest
from tracekit.linking.backward import find_backward
from tracekit.linking.calls import call_roles
from tracekit.linking.launches import Joined, join, lost
from tracekit.linking.links import Links, Reason, Steps
from tracekit.linking.ranks import processes
from tracekit.linking.steps import find_steps
from tracekit.trace import ABSENT, CALLS, I32, I64, Category, Trace
from tracekit.units import plural


def link(trace: Trace, *, step_name: str | None = None) -> Links:
    """Link every GPU event of the trace to its launch, op and step; build the forests of host slices.

    Args:
        trace: The trace.
        step_name: Name of the user's own marks, to take as steps instead of ``ProfilerStep#N``.

    Returns:
        The links; ``Links.check`` holds.

    Raises:
        OptionError: No slice is called ``step_name``.
    """
    s = trace.slices
    process = processes(trace)
    steps, slice_step = find_steps(trace, process, step_name)
    roles = call_roles(trace)
    parent = forest.parents(s)
    joined = join(trace, roles, process)
    lost_launches, lost_reason = lost(trace, roles, parent, joined)
    backward, forward = find_backward(trace, process, parent)
    ends = forest.frame_ends(s)
    links = Links(
        gpu=joined.gpu,
        launch=joined.launch,
        op=_ops(trace, joined.launch),
        step=_steps(steps, slice_step, joined),
        method=joined.method,
        reason=joined.reason,
        parent=parent,
        self_ns=forest.self_times(s, parent, ends),
        frame=forest.frames(s, ends),
        forward=forward,
        backward=backward,
        slice_step=slice_step,
        steps=steps,
        lost_launches=lost_launches,
        lost_reason=lost_reason,
        notices=(*steps.notices, *_notices(trace, joined)),
    )
    for array in (*vars(links).values(), *vars(steps).values()):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return links


def _steps(steps: Steps, slice_step: I32, joined: Joined) -> I32:
    """Return the step in which each GPU event was launched (int32[g], -1 without).

    Where the whole trace is the step, an event whose launch isn't known is in it too, unless it was launched before the recording began.
    """
    step = np.where(joined.launch >= 0, slice_step[np.maximum(joined.launch, 0)], ABSENT).astype(np.int32)
    if not steps.marked and len(steps):
        step[(joined.launch < 0) & (joined.reason != Reason.LAUNCHED_BEFORE_TRACE)] = 0
    return step


def _ops(trace: Trace, launch: I64) -> I64:
    """Return the innermost op around each launch (int64[g], -1 without).

    Asked of the ops alone, not by climbing the forest: an annotation that starts inside an op and outlives it would hide the op.
    """
    s = trace.slices
    asked = np.zeros(len(s), dtype=bool)
    asked[launch[launch >= 0]] = True
    op = forest.enclosers(s, s.category == Category.CPU_OP, asked)
    return np.where(launch >= 0, op[np.maximum(launch, 0)], ABSENT).astype(np.int64)


def _notices(trace: Trace, joined: Joined) -> tuple[str, ...]:
    """Say what the trace can't tell."""
    s = trace.slices
    told = []
    if joined.processes > 1:
        told.append(f"the file holds {joined.processes} processes that launched GPU work: ids are joined within each")
    unsure = int((joined.reason == Reason.AMBIGUOUS).sum())
    if unsure:
        told.append(f"{plural(unsure, 'GPU event')} could have been launched by several calls: left without a launch")
    if not len(joined.gpu):
        other = (s.category == Category.ACCELERATOR).any()
        told.append("no GPU activity was recorded" + (", only that of another accelerator, which isn't linked" if other else ""))
    elif not s.is_any(CALLS).any():
        told.append("no runtime calls were recorded: GPU events can't be linked")
    elif not (s.category == Category.CPU_OP).any():
        told.append("no CPU ops were recorded: the op of a GPU event is unknown")
    return tuple(told)
