"""An optimizer that updates parameters one by one.

What it does
    Finds ``Optimizer.step`` annotations inside which many elementwise kernels run that no foreach or fused implementation launched.

Why it matters
    Each parameter costs several launches of tiny kernels.

Example
    torch.optim.AdamW(params, foreach=False)

Instead
    torch.optim.AdamW(params, fused=True)

When it stays silent
    The optimizer is foreach or fused, or launches under 50 kernels a step.

Evidence
    The optimizer's steps.

Cost and saving
    GPU time and idle time inside the optimizer's step, less that of a fused one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import finding, launched, of_class, per_step_ns, steps
from tracekit.trace import Category
from tracekit.units import ns_text, plural

RULE = Rule("TK402", "unfused-optimizer", "0.1.0")

LEAST_KERNELS = 50


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where the optimizer launches elementwise kernels one by one."""
    trace, links = analysis.trace, analysis.links
    slices = trace.slices
    ids = trace.strings.ids_where(lambda name: name.startswith("Optimizer.step#"))
    marks = np.flatnonzero((slices.category == Category.USER_ANNOTATION) & np.isin(slices.name, ids) & (links.slice_step >= 0))
    if not len(marks):
        return
    launch = links.launch
    at = np.searchsorted(slices.ts_ns[marks], slices.ts_ns[np.maximum(launch, 0)], side="right") - 1
    inside = (launch >= 0) & (at >= 0)
    inside &= slices.ts_ns[np.maximum(launch, 0)] < slices.end_ns[marks[np.maximum(at, 0)]]
    single = inside & of_class(analysis, "elementwise") & launched(analysis)
    count = steps(analysis)
    if single.sum() < LEAST_KERNELS * count:
        return
    idle = analysis.idle
    waits = (idle.next >= 0) & single[np.maximum(idle.next, 0)]
    gaps, busy = float(idle.dur_ns[waits].sum()) / count, per_step_ns(analysis, single)
    yield finding(
        analysis,
        RULE,
        "the optimizer updates parameters one by one",
        f"{plural(int(single.sum()) / count, 'elementwise kernel')} a step inside {trace.name(int(marks[0]))}: {ns_text(busy)} of work with {ns_text(gaps)} of idle time before them.",
        "A loop over parameters launches several tiny kernels for each.",
        "Use fused=True (or foreach=True).",
        marks.tolist(),
        gaps + busy,
        Saving(0.5 * (gaps + 0.5 * busy), 0.85 * (gaps + 0.7 * busy), gaps + busy, "a fused optimizer has a handful of kernels"),
    )
