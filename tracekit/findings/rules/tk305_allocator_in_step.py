"""The allocator asks the driver for memory inside a step.

What it does
    Finds ``cudaMalloc``, ``cudaFree`` and their kin inside the steps.

Why it matters
    They wait for the GPU and take milliseconds; the caching allocator should make them unnecessary after warm-up.

Example
    torch.cuda.empty_cache() in every step

Instead
    Take it out; warm up with the largest shapes.

When it stays silent
    There are none after the first step, they cost under 0.5 % of the step, or the GPU wasn't recorded.

Evidence
    The calls.

Cost and saving
    Host time of the calls that the GPU waits for; the saving by replay without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.replay import Change
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import cut, finding, line_of, mend, step_ns, steps
from tracekit.linking import Role, call_roles
from tracekit.units import ns_text, plural

RULE = Rule("TK305", "allocator-in-step", "0.1.0")

LEAST_SHARE = 0.005


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where driver allocations stand inside steps."""
    trace, links = analysis.trace, analysis.links
    roles = call_roles(trace)
    rows = np.flatnonzero(np.isin(roles, (Role.ALLOC, Role.FREE)) & (links.slice_step >= 0))
    rows = rows[[not _CHEAP.search(trace.name(int(row))) for row in rows]] if len(rows) else rows
    steady = links.steps.marked and len(links.steps) > 1
    if steady:
        # In the first step they are warm-up.
        rows = rows[links.slice_step[rows] > 0]
    if not len(rows) or not len(analysis.work):
        return
    host = float(trace.slices.dur_ns[rows].sum()) / steps(analysis)
    exposed = float(analysis.host.exposed_ns[rows].sum()) / steps(analysis)
    mended = mend(analysis, Change(cuts=cut(analysis, rows.tolist())), "without the calls")
    cost = max(exposed, mended.won_ns)
    if cost < LEAST_SHARE * step_ns(analysis):
        return
    names = sorted({trace.name(int(row)) for row in rows})
    worst = rows[np.argsort(-trace.slices.dur_ns[rows], kind="stable")]
    once = (
        ""
        if steady
        else " The trace has no steps, or only one: a first allocation, which warm-up pays, can't be told from what every step pays."
    )
    yield finding(
        analysis,
        RULE,
        "the allocator goes to the driver in the step",
        f"{plural(len(rows) / steps(analysis), 'call')} a step to {', '.join(names[:3])}: {ns_text(host)} of host time, {ns_text(exposed)} of GPU idle time{line_of(analysis, int(worst[0]))}.{once}",
        "Allocating and freeing device memory waits for the GPU and takes long; the caching allocator keeps memory to avoid it.",
        "Don't call empty_cache in the loop; warm up with the largest shapes; see PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True for fragmentation.",
        worst.tolist(),
        cost,
        # What the driver takes for the same call differs by as much from run to run.
        Saving(0.7 * mended.saving.low_ns, mended.saving.mid_ns, 1.3 * mended.saving.high_ns, mended.saving.how),
        change=mended.change,
        # Where the whole trace is one step, what happens once can't be told from what every step pays.
        cap="error" if steady else "info",
    )


_CHEAP = re.compile(r"Async|Host|Pool")
