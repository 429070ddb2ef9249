"""A mask that is built anew on every call.

What it does
    Finds attention calls in which a mask is made by ``ones``, ``tril`` or ``triu``.

Why it matters
    The mask is the same each time: the kernels and the launches that make it are wasted.

Example
    mask = torch.ones(n, n).tril() inside forward

Instead
    Build it once and keep it, or pass is_causal=True to a fused backend.

When it stays silent
    The mask is made outside the steps.

Evidence
    The kernels that make it.

Cost and saving
    GPU time of these kernels, or what the GPU waits for their ops; the saving by replay without both.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.replay import Change
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import cut, finding, launched, line_of, longest, mend, of_class, per_step_ns, scaled, steps
from tracekit.units import plural

RULE = Rule("TK105", "mask-rebuilt", "0.1.0")


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where masks are built inside the steps."""
    links = analysis.links
    builders = {"aten::tril", "aten::triu", "aten::tril_", "aten::triu_"}
    mine, tops = np.zeros(len(analysis.work), dtype=bool), set()
    for g in np.flatnonzero(
        launched(analysis) & (links.op >= 0) & of_class(analysis, "elementwise", "elementwise.mask", "elementwise.fill")
    ).tolist():
        row = int(links.op[g])
        for up in (row, *links.ancestors(row)):
            if analysis.trace.name(up) in builders:
                mine[g] = True
                tops.add(up)
    filled = _filled(analysis, tops)
    mine |= np.isin(links.op, filled[1]) & launched(analysis)
    if len(tops) < steps(analysis):
        return
    calls = len(tops) / steps(analysis)
    change = Change(scaled(analysis, mine), cut(analysis, sorted(tops | set(filled[0]))))
    mended = mend(analysis, change, "without the kernels that build the mask, and their ops")
    cost = max(per_step_ns(analysis, mine), mended.won_ns)
    math = any(region.backend == "math" for region in analysis.attention.attention)
    yield finding(
        analysis,
        RULE,
        "the mask is built anew on every call",
        f"{plural(calls, 'mask')} a step made by tril or triu{' inside the math backend' if math else ''}{line_of(analysis, min(tops))}.",
        "The same mask is made again and again; the launches cost the host time as well.",
        "Use a fused backend with is_causal=True: it needs no mask." if math else "Make the mask once and keep it, or pass is_causal=True.",
        longest(analysis, mine),
        cost,
        mended.saving,
        change=change,
    )


def _filled(analysis: Analysis, tops: set[int]) -> tuple[list[int], list[int]]:
    """Return the ops that fill what tril and triu then cut (``torch.ones`` right before), and all ops inside them."""
    trace, links = analysis.trace, analysis.links
    found, inside = [], []
    for top in tops:
        for row in range(top - 1, max(top - 12, -1), -1):
            if links.parent[row] == links.parent[top] and trace.name(row) in {"aten::ones", "aten::ones_like", "aten::full"}:
                found.append(row)
                inside += [row, *(child for child in range(row + 1, top) if row in links.ancestors(child))]
                break
    return found, inside
