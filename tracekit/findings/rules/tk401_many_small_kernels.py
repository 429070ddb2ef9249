"""Many small kernels, one after the other.

What it does
    Finds steps of a busy GPU in which more than half of the kernels are ones that could be fused and take less than 5 µs.

Why it matters
    Between two kernels there is a gap, and each has a start and an end at which it can't fill the GPU.

Example
    a chain of elementwise ops

Instead
    torch.compile, or a fused op.

When it stays silent
    They are few (under 50 a step), are products, convolutions or collectives, which don't fuse, or take under 5 % of the step together with their gaps.

Evidence
    The shortest kernels.

Cost and saving
    Half of their GPU time and the gaps before them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.idle import Cause
from tracekit.analysis.work import KERNEL
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import finding, launched, longest, of_class, per_step_ns, step_ns, steps
from tracekit.units import ns_text, plural

RULE = Rule("TK401", "many-small-kernels", "0.1.0")

SMALL_NS, LEAST_COUNT, LEAST_SHARE = 5_000, 50, 0.05
# A product, a convolution or a collective doesn't fuse with its neighbours.
_FUSABLE = ("elementwise", "reduction", "norm", "softmax", "index", "embedding", "random", "optimizer", "triton", "other")


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where small kernels make up the step."""
    work, idle, count = analysis.work, analysis.idle, steps(analysis)
    mine = launched(analysis) & (work.kind == KERNEL) & (work.dur_ns < SMALL_NS) & of_class(analysis, *_FUSABLE)
    total = int((launched(analysis) & (work.kind == KERNEL)).sum())
    if mine.sum() < LEAST_COUNT * count or mine.sum() < 0.5 * total:
        return
    before = (idle.cause == Cause.QUEUE) & (idle.next >= 0)
    before &= mine[np.maximum(idle.next, 0)]
    gaps, busy = float(idle.dur_ns[before].sum()) / count, per_step_ns(analysis, mine)
    cost = gaps + 0.5 * busy
    if cost < LEAST_SHARE * step_ns(analysis):
        return
    yield finding(
        analysis,
        RULE,
        "many small kernels",
        f"{plural(int(mine.sum()) / count, 'kernel')} a step of under 5 µs: {ns_text(busy)} of work with {ns_text(gaps)} of gaps before them.",
        "Small kernels can't fill the GPU, and each begins with a gap.",
        "Fuse them: torch.compile, fused norms and activations, a fused optimizer.",
        longest(analysis, mine)[::-1],
        cost,
        Saving(0.3 * cost, 0.7 * cost, gaps + 0.9 * busy, "fused, most of the gaps and half of the work go"),
        confidence=0.7,
    )
