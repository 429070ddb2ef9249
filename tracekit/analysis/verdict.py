"""What the steps wait for: the GPU itself, the host, its input, or communication."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from tracekit.analysis.idle import Cause
from tracekit.intervals import covered, subtract
from tracekit.trace import Category
from tracekit.units import ns_text, pct_text

if TYPE_CHECKING:
    from tracekit.analysis.bundle import Analysis


class Bound(Enum):
    """What the steps wait for."""

    GPU = "gpu"
    HOST = "host"
    INPUT = "input"
    COMMUNICATION = "communication"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Verdict:
    """What the steps wait for, and why one thinks so."""

    bound: Bound
    text: str


IDLE_SHARE = 0.10
"""A GPU that idles for less of its steps is the limit itself."""

_HOST_CAUSES = (Cause.OP, Cause.RUNTIME, Cause.SYNC, Cause.PYTHON, Cause.ANNOTATION, Cause.NO_HOST_EVENT)
_INPUT = ("dataloader", "data_loader", "next_batch", "load_batch", "input_stall", "get_batch")


def verdict(analysis: Analysis) -> Verdict:
    """Return what the steps wait for, by the share of their time in which the GPU works, idles, or only communicates."""
    windows, idle = analysis.windows, analysis.idle
    wall = int(windows.wall_ns.sum())
    if not len(analysis.work):
        return Verdict(Bound.UNKNOWN, "No GPU activity was recorded, so the trace can't tell what the steps wait for.")
    if wall <= 0:
        return Verdict(Bound.UNKNOWN, "No step has a duration, so the trace can't tell what they wait for.")
    dur = idle.dur_ns
    share = float(dur.sum()) / wall
    comm = exposed_communication_ns(analysis) / wall
    busy = pct_text(1.0 - share)
    if comm > max(IDLE_SHARE, share):
        text = f"Communication that no computation hides takes {pct_text(comm)} of the step time (GPU busy {busy})."
        return Verdict(Bound.COMMUNICATION, text)
    if share <= IDLE_SHARE:
        return Verdict(Bound.GPU, f"The GPU works for {busy} of the step time: the GPU is the limit.")
    by_host = np.isin(idle.cause, _HOST_CAUSES)
    host = float(dur[by_host].sum()) / wall
    worst = _worst(analysis, by_host)
    input_ns = sum(ns for name, ns in worst if any(word in name.lower() for word in _INPUT))
    if input_ns > 0.5 * dur.sum():
        return Verdict(
            Bound.INPUT, f"The GPU idles for {pct_text(share)} of the step time, most of it waiting for input ({worst[0][0][:80]})."
        )
    if host > 0.5 * share:
        what = (
            f"; the largest part goes to {worst[0][0][:80]} ({ns_text(worst[0][1] / max(len(analysis.links.steps), 1))} a step)"
            if worst
            else ""
        )
        return Verdict(Bound.HOST, f"The GPU idles for {pct_text(share)} of the step time because the host launches too late{what}.")
    return Verdict(
        Bound.UNKNOWN,
        f"The GPU idles for {pct_text(share)} of the step time, and most of that isn't the host's: work was queued, or its launch isn't in the trace.",
    )


def _worst(analysis: Analysis, mine: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[tuple[str, int]]:
    """Return names and ns that idle time is charged to, most first. Launch calls count for their op: the op is what one can change."""
    idle, slices = analysis.idle, analysis.trace.slices
    rows = idle.row[mine & (idle.row >= 0)]
    dur = idle.dur_ns[mine & (idle.row >= 0)]
    up = analysis.links.parent[rows].astype(np.int64)
    is_call = (slices.category[rows] == Category.RUNTIME) | (slices.category[rows] == Category.DRIVER)
    named = slices.name[np.where(is_call & (up >= 0), up, rows)].astype(np.int64)
    ids, at = np.unique(named, return_inverse=True)
    time = np.zeros(len(ids), dtype=np.int64)
    np.add.at(time, at, dur)
    return [(analysis.trace.strings[ids[i]], int(time[i])) for i in np.argsort(-time, kind="stable")]


def exposed_communication_ns(analysis: Analysis) -> int:
    """Return the ns within the steps in which the device communicates and computes nothing."""
    work, windows = analysis.work, analysis.windows
    on = work.device == windows.device
    names = [i for i, name in enumerate(work.classes) if name == "communication"]
    comm = on & np.isin(work.class_id, names)
    if not comm.any():
        return 0
    compute = on & ~comm
    starts, ends = subtract(work.start_ns[comm], work.end_ns[comm], work.start_ns[compute], work.end_ns[compute])
    return int(covered(starts, ends, windows.start_ns, windows.end_ns).sum())
