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
    GPU time and idle time inside the optimizer's step; the saving by replay with one fused kernel in its place.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.analysis.replay import Change
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import Mend, cut, finding, launched, mend, of_class, per_step_ns, scaled, steps
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
    mended = _fused(analysis, single, marks, at)
    yield finding(
        analysis,
        RULE,
        "the optimizer updates parameters one by one",
        f"{plural(int(single.sum()) / count, 'elementwise kernel')} a step inside {trace.name(int(marks[0]))}: {ns_text(busy)} of work with {ns_text(gaps)} of idle time before them.",
        "A loop over parameters launches several tiny kernels for each.",
        "Use fused=True (or foreach=True).",
        marks.tolist(),
        max(gaps + busy, mended.won_ns),
        mended.saving,
        change=mended.change,
    )


FUSED_GPU, FUSED_HOST = 0.2, 0.09
"""What of the kernels' time, and of the host's, a fused AdamW takes (measured: 0.11 to 0.16, 0.07 to 0.09)."""

FUSED_WEIGHT = 8.0


def _fused(analysis: Analysis, single: NDArray[np.bool_], marks: NDArray[np.int64], at: NDArray[np.int64]) -> Mend:
    """Return what is won with one kernel in the place of each optimizer step's."""
    factors = scaled(analysis, single)
    for mark in np.unique(at[single]).tolist():
        events = np.flatnonzero(single & (at == mark))
        factors[events[0]] = FUSED_GPU * float(analysis.work.dur_ns[events].sum()) / max(int(analysis.work.dur_ns[events[0]]), 1)
    used = marks[np.unique(at[single])].tolist()
    added = FUSED_HOST * analysis.trace.slices.dur_ns[used]
    cuts = cut(analysis, used, added_at=used, added_ns=added, added_weight=FUSED_WEIGHT)
    return mend(analysis, Change(factors, cuts), "with a fused optimizer", gpu_tail_ns=0.0)
