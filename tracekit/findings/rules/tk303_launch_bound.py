"""Steps that wait for launches.

What it does
    Finds steps in which the GPU idles for more than a fifth of the time because ops and calls take longer to launch work than the work takes.

Why it matters
    A faster GPU wouldn't help: the host is the limit.

Example
    a small batch, many small kernels

Instead
    CUDA graphs, torch.compile(mode='reduce-overhead'), larger batches.

When it stays silent
    One op, one wait, the input or the profiler itself explains most of the idle time.

Evidence
    The kernels with the longest idle time before them.

Cost and saving
    Idle time charged to ops, calls and unnamed host time; the saving is what of it a graph's replay would not have.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.idle import Cause
from tracekit.analysis.overhead import unprofiled_step_ns
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import finding, launched, step_ns, steps, unprofiled_share
from tracekit.units import ns_text, plural

RULE = Rule("TK303", "launch-bound", "0.1.0")

LEAST_SHARE = 0.20


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where launching is the limit."""
    idle, count = analysis.idle, steps(analysis)
    mine = np.isin(idle.cause, (Cause.OP, Cause.RUNTIME, Cause.NO_HOST_EVENT, Cause.PYTHON))
    cost, step = float(idle.dur_ns[mine].sum()) / count, step_ns(analysis)
    if cost < LEAST_SHARE * step or len(analysis.work) < 20 * count:
        return
    # Where a few ops do something else than dispatch, that is what to mend.
    if float(np.minimum(analysis.host.opaque_ns, analysis.host.exposed_ns).sum()) / count > 0.5 * cost:
        return
    kernels = analysis.work.dur_ns[launched(analysis)]
    rows = [int(analysis.work.rows[g]) for g in idle.next[mine][np.argsort(-idle.dur_ns[mine], kind="stable")] if g >= 0]
    free, left = unprofiled_step_ns(analysis), unprofiled_share(analysis)
    yield finding(
        analysis,
        RULE,
        "the step is bound by launches",
        f"The GPU idles for {ns_text(cost)} a step while the host launches {plural(len(kernels) / count, 'event')} of {ns_text(float(np.median(kernels)))} (median). Some of it is the profiler's own doing: without it the step may take {ns_text(free.low_ns)} to {ns_text(free.high_ns)}.",
        "The host needs longer to launch the work than the GPU to do it.",
        "Capture the step in a CUDA graph (torch.compile(mode='reduce-overhead')), fuse small ops, or give the GPU more to do in a launch.",
        list(dict.fromkeys(rows)),
        cost,
        Saving(
            0.4 * left * cost,
            0.9 * left * cost,
            cost,
            "a graph's replay launches at once; what of the idle time the profiler causes isn't won",
        ),
        confidence=0.8,
    )
