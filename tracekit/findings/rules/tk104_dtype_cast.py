"""Casts between number formats.

What it does
    Finds copy kernels launched by ``aten::_to_copy``, which changes a tensor's number format.

Why it matters
    A cast reads and writes the whole tensor; casts up also make what follows slower.

Example
    y = x.float() @ w.float()

Instead
    Keep one format; let autocast decide where a wider one is needed.

When it stays silent
    They take less than 1 % of the step, or belong to a mixed-precision optimizer.

Evidence
    The casts.

Cost and saving
    GPU time of the casts; the saving by replay without them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import (
    finding,
    launched,
    line_of,
    longest,
    names_above,
    of_class,
    ops_of,
    outermost,
    per_step_ns,
    remove,
    step_ns,
    steps,
)
from tracekit.units import ns_text, plural

RULE = Rule("TK104", "dtype-cast", "0.1.0")

LEAST_SHARE = 0.01


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where casts take a share of the step."""
    links = analysis.links
    mine = np.zeros(len(analysis.work), dtype=bool)
    for g in np.flatnonzero(of_class(analysis, "elementwise.copy") & launched(analysis) & (links.op >= 0)).tolist():
        mine[g] = "aten::_to_copy" in names_above(analysis, int(links.op[g]))
    cost = per_step_ns(analysis, mine)
    if cost < LEAST_SHARE * step_ns(analysis):
        return
    up = any("upcast" in note for region in analysis.attention.attention for note in region.notes)
    ops = ops_of(analysis, mine)
    yield finding(
        analysis,
        RULE,
        "tensors are cast between number formats",
        f"{plural(int(mine.sum()) / steps(analysis), 'cast')} a step, {ns_text(cost)}{', most for attention in float32' if up else ''}{line_of(analysis, int(ops[0]))}.",
        "A cast reads and writes the whole tensor, and what follows a cast up runs in the wider, slower format.",
        "Use a fused attention backend, which needs no cast." if up else "Keep one number format through the step, or use autocast.",
        longest(analysis, mine),
        cost,
        remove(analysis, mine, "without the casts and their ops", hosts=outermost(analysis, mine, {"aten::_to_copy"})),
    )
