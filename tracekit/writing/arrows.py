"""Flows that an annotated trace gains where the original has none: launch to GPU event, forward to backward."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.analysis import Analysis
from tracekit.linking import depths
from tracekit.linking.calls import rules
from tracekit.linking.ids import flow_ends
from tracekit.trace import I64, Trace

FIRST_LAUNCH = 1 << 45
FIRST_FORWARD = 1 << 46
"""Ids above those that profilers give, and above those of findings."""


@dataclass(frozen=True)
class End:
    """One end of a flow, on a slice.

    Attributes:
        flow: The flow's id.
        outgoing: Whether it begins here.
    """

    flow: int
    outgoing: bool


def missing_arrows(analysis: Analysis, taken: set[int]) -> dict[int, End]:
    """Return the ends of new flows by row: one a slice, as the format has it.

    Args:
        analysis: The trace's analysis.
        taken: Rows that have an end already.
    """
    out: dict[int, End] = {}
    _launches(analysis, taken, out)
    _backward(analysis, taken, out)
    return out


def _launches(analysis: Analysis, taken: set[int], out: dict[int, End]) -> None:
    trace, links = analysis.trace, analysis.links
    slices = trace.slices
    lacking = (links.launch >= 0) & ~_arrived(trace, links.gpu)
    lacking &= slices.ts_ns[links.gpu] >= slices.ts_ns[links.launch]  # a viewer drops a flow that goes back in time
    for row, launch in zip(links.gpu[lacking].tolist(), links.launch[lacking].tolist(), strict=True):
        if row in taken or launch in taken:
            continue
        out[launch] = End(FIRST_LAUNCH + launch, outgoing=True)
        out[row] = End(FIRST_LAUNCH + launch, outgoing=False)


def _arrived(trace: Trace, rows: I64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return whether a launch flow of the file that a viewer keeps ends at each row: one with a start, and no later than its end."""
    flows, slices = trace.flows, trace.slices
    starts, ends = flow_ends(trace, rules().launch_flows)
    begun = dict(zip(flows.id[starts].tolist(), flows.ts_ns[starts].tolist(), strict=True))
    columns = zip(flows.id[ends].tolist(), flows.thread[ends].tolist(), flows.ts_ns[ends].tolist(), strict=True)
    places = {(thread, ts) for flow, thread, ts in columns if flow in begun and begun[flow] <= ts}
    return np.array([place in places for place in zip(slices.thread[rows].tolist(), slices.ts_ns[rows].tolist(), strict=True)], dtype=bool)


def _backward(analysis: Analysis, taken: set[int], out: dict[int, End]) -> None:
    trace, links = analysis.trace, analysis.links
    if len(flow_ends(trace, rules().forward_backward_flows)[0]):
        return
    rows = np.flatnonzero(links.forward >= 0)
    parent = links.parent[rows]
    outer = (parent < 0) | (links.forward[np.maximum(parent, 0)] != links.forward[rows])
    rows = rows[outer]
    for row in rows[np.argsort(depths(links.parent)[rows], kind="stable")].tolist():
        forward = int(links.forward[row])
        begun = out.get(forward, End(FIRST_FORWARD + forward, outgoing=True))
        if row in taken or row in out or forward in taken or begun.flow != FIRST_FORWARD + forward:
            continue
        if trace.slices.ts_ns[row] < trace.slices.ts_ns[forward]:
            continue
        out[forward] = begun
        out[row] = End(begun.flow, outgoing=False)


__all__ = ["FIRST_FORWARD", "FIRST_LAUNCH", "End", "missing_arrows"]
