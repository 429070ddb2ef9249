"""Steps that wait for launches.

What it does
    Finds steps in which the GPU idles for more than a fifth of the time because ops, calls and the Python between them take longer than the work that they launch.

Why it matters
    A faster GPU wouldn't help: the host is the limit.

Example
    a small batch, many small kernels

Instead
    CUDA graphs, torch.compile(mode='reduce-overhead'), larger batches.

When it stays silent
    Half of the idle time or more is in stretches of over 200 µs, which no launch takes: one op, one wait, the input or a first use is what to mend then.

Evidence
    The kernels with the longest idle time before them.

Cost and saving
    Idle time in short stretches charged to ops, calls and the Python between them; the saving is what of it is left without the profiler, and a graph's replay doesn't have.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.overhead import unprofiled_step_ns
from tracekit.analysis.replay import Change
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import finding, idle_cuts, launched, short_stretches, step_ns, steps
from tracekit.units import ns_text, plural

RULE = Rule("TK303", "launch-bound", "0.1.0")

LEAST_SHARE, LEAST_OF_IDLE = 0.20, 0.5

GRAPH_GAP_NS = 700.0
"""Between two kernels of a graph (64 products in a graph on an H200: 0.5 µs)."""


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where launching is the limit."""
    idle, count = analysis.idle, steps(analysis)
    mine = short_stretches(analysis)
    cost, step = float(idle.dur_ns[mine].sum()) / count, step_ns(analysis)
    if cost < LEAST_SHARE * step or cost < LEAST_OF_IDLE * float(idle.dur_ns.sum()) / count or len(analysis.work) < 20 * count:
        return
    # Where a few ops do something else than dispatch, that is what to mend.
    if float(np.minimum(analysis.host.opaque_ns, analysis.host.exposed_ns).sum()) / count > 0.5 * cost:
        return
    kernels = analysis.work.dur_ns[launched(analysis)]
    rows = [int(analysis.work.rows[g]) for g in idle.next[mine][np.argsort(-idle.dur_ns[mine], kind="stable")] if g >= 0]
    free = unprofiled_step_ns(analysis)
    yield finding(
        analysis,
        RULE,
        "the step is bound by launches",
        f"The GPU idles for {ns_text(cost)} a step while the host launches {plural(len(kernels) / count, 'event')} of {ns_text(float(np.median(kernels)))} (median). Some of it is the profiler's own doing: without it the step may take {ns_text(free.low_ns)} to {ns_text(free.high_ns)}.",
        "The host needs longer to launch the work than the GPU to do it.",
        "Capture the step in a CUDA graph (torch.compile(mode='reduce-overhead')), fuse small ops, or give the GPU more to do in a launch.",
        list(dict.fromkeys(rows)),
        cost,
        _graphed(analysis, cost),
        change=Change(cuts=idle_cuts(analysis, mine)),
        confidence=0.8,
    )


def _graphed(analysis: Analysis, cost: float) -> Saving:
    """Return what a graph's replay wins: the idle time that is left without the profiler, but for the gaps between its kernels."""
    count, free = steps(analysis), unprofiled_step_ns(analysis)
    busy, idle = float(analysis.windows.busy_ns.sum()) / count, float(analysis.idle.dur_ns.sum()) / count
    gaps = GRAPH_GAP_NS * float(launched(analysis).sum()) / count
    share = cost / idle if idle else 0.0
    low, mid, high = (max(share * (step - busy) - gaps, 0.0) for step in (free.low_ns, free.mid_ns, free.high_ns))
    return Saving(
        0.9 * low, mid, min(1.1 * high, cost), "a graph's replay launches at once; what of the idle time the profiler causes isn't won"
    )
