"""Waits of the host for the GPU inside a step.

What it does
    Finds calls that wait (``.item()``, a boolean index, a copy to the CPU, an explicit synchronize) inside the steps.

Why it matters
    After a wait the queue is empty: the GPU idles until the host has launched again.

Example
    if loss.item() > threshold: ...

Instead
    Keep the decision on the GPU, or look at the value once in many steps.

When it stays silent
    The wait stands outside the steps' ops and annotations, the GPU hardly idles after it, or it is that of a pageable copy (TK102).

Evidence
    The waits, those with the longest idle time after them first.

Cost and saving
    Idle time of the GPU from the end of what the wait was for to the next event; the saving by replay with a host that doesn't wait.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.analysis.idle import Cause
from tracekit.analysis.replay import Change
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import Mend, cut, finding, line_of, mend, names_above, pageable_inputs, scaled, step_ns, steps
from tracekit.linking import Role, call_roles
from tracekit.trace import Category
from tracekit.units import ns_text, plural

RULE = Rule("TK302", "host-sync", "0.1.0")

LEAST_SHARE = 0.005


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding for each op that waits."""
    trace, links = analysis.trace, analysis.links
    if not len(analysis.work):
        return
    slices = trace.slices
    waits = np.flatnonzero((call_roles(trace) == Role.SYNC) & (links.slice_step >= 0) & (links.parent >= 0))
    # The wait of a copy from pageable memory is TK102's.
    copies = set(links.op[pageable_inputs(analysis)].tolist())
    waits = waits[[int(links.parent[row]) not in copies for row in waits.tolist()]] if copies else waits
    drained = _drained(analysis, waits)
    groups: dict[str, list[int]] = {}
    for row in waits.tolist():
        names = [name for name in names_above(analysis, row)[1:] if name.startswith("aten::")]
        if names:
            groups.setdefault(names[-1], []).append(row)
    step, count = step_ns(analysis), steps(analysis)
    for op, rows in groups.items():
        idle = sum(drained.get(row, 0) for row in rows) / count
        if idle < LEAST_SHARE * step:
            continue
        rows.sort(key=lambda row: -drained.get(row, 0))
        mended = _without(analysis, rows)
        cost = min(idle, mended.won_ns)
        if cost < LEAST_SHARE * step:
            continue
        waiting = float(slices.dur_ns[rows].sum()) / count
        yield finding(
            analysis,
            RULE,
            f"{op} makes the host wait for the GPU",
            f"{plural(len(rows) / count, 'wait')} a step, {ns_text(waiting)} of waiting; the GPU then idles for {ns_text(idle)} until new work arrives{line_of(analysis, rows[0])}.",
            "Each wait drains the queue of launched work, and the GPU idles while the host fills it again.",
            "Keep the value on the GPU (masks, torch.where, tensors as thresholds), or read it less often.",
            rows,
            cost,
            mended.saving,
            change=mended.change,
        )


def _without(analysis: Analysis, waits: list[int]) -> Mend:
    """Return what is won if the host needn't wait: without the waits; where an op only reads a value, without it and its copy."""
    links, trace = analysis.links, analysis.trace
    tops, copies = set(), np.zeros(len(analysis.work), dtype=bool)
    for row in waits:
        reads = [up for up in links.ancestors(row) if trace.name(up) in _READS]
        tops.add(reads[-1] if reads else row)
    inside = [top for top in tops if trace.slices.category[top] == Category.CPU_OP]
    if inside:
        for g in np.flatnonzero(links.op >= 0).tolist():
            copies[g] = not set(inside).isdisjoint((int(links.op[g]), *links.ancestors(int(links.op[g]))))
    return mend(analysis, Change(scaled(analysis, copies), cut(analysis, sorted(tops))), "without the waits, and the reads that only wait")


_READS = {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"}


def _drained(analysis: Analysis, waits: NDArray[np.int64]) -> dict[int, int]:
    """Return the idle time that follows each wait: of the gap in which it ends."""
    idle, slices = analysis.idle, analysis.trace.slices
    if not len(idle.gap) or not len(waits):
        return {}
    _, first = np.unique(idle.gap, return_index=True)
    starts = idle.start_ns[first]
    # What the host does under a name of its own after the wait (loading data) is that thing's cost, not the wait's.
    lengths = np.add.reduceat(idle.dur_ns, first)
    named = np.add.reduceat(np.where(idle.cause == Cause.ANNOTATION, idle.dur_ns, 0), first)
    order = np.argsort(starts, kind="stable")
    out: dict[int, int] = {}
    ends = slices.end_ns[waits]
    at = np.searchsorted(starts[order], ends, side="right") - 1
    last: dict[int, int] = {}
    for row, end, place in zip(waits.tolist(), ends.tolist(), at.tolist(), strict=True):
        gap = int(order[place]) if place >= 0 else -1
        if gap < 0 or not starts[gap] <= end <= starts[gap] + lengths[gap]:
            continue
        # Several waits in one gap: what follows the last of them is all that a wait causes.
        if gap in last:
            out.pop(last[gap], None)
        last[gap] = row
        since = max(int(starts[gap]), int(slices.ts_ns[row]))
        out[row] = max(int(starts[gap] + lengths[gap] - named[gap]) - since, 0)
    return out
