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
    They take less than 1 % of the step.

Evidence
    The casts.

Cost and saving
    GPU time of the casts, or what the GPU waits for their ops; the saving by replay without them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.analysis.replay import Change
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import (
    cut,
    finding,
    launched,
    line_of,
    longest,
    mend,
    names_above,
    of_class,
    ops_of,
    outermost,
    per_step_ns,
    scaled,
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
    if not mine.any():
        return
    change = Change(scaled(analysis, mine), cut(analysis, outermost(analysis, mine, {"aten::_to_copy", "aten::to"})))
    mended = mend(analysis, change, "without the casts and their ops")
    cost = max(per_step_ns(analysis, mine), mended.won_ns)
    if cost < LEAST_SHARE * step_ns(analysis):
        return
    norms = _for_norms(analysis, mine)
    up = any("upcast" in note for region in analysis.attention.attention for note in region.notes)
    ops = ops_of(analysis, mine)
    yield finding(
        analysis,
        RULE,
        "tensors are cast between number formats",
        f"{plural(int(mine.sum()) / steps(analysis), 'cast')} a step, {ns_text(per_step_ns(analysis, mine))} on the GPU{', most for attention in float32' if up else ''}{line_of(analysis, int(ops[0]))}.",
        "A cast reads and writes the whole tensor, and what follows a cast up runs in the wider, slower format.",
        "Use a fused attention backend, which needs no cast."
        if up
        else "Most stand around a norm that computes in float32: a fused norm (F.rms_norm, F.layer_norm, torch.compile) casts in registers."
        if norms > 0.5
        else "Keep one number format through the step, or use autocast.",
        longest(analysis, mine),
        cost,
        mended.saving,
        change=change,
    )


def _for_norms(analysis: Analysis, casts: NDArray[np.bool_]) -> float:
    """Return the share of the casts that stand beside the parts of a hand-written norm: pow, mean, rsqrt."""
    trace, links = analysis.trace, analysis.links
    at = np.flatnonzero(casts)
    beside = 0
    for g in at.tolist():
        top = [row for row in (int(links.op[g]), *links.ancestors(int(links.op[g]))) if trace.name(row) in {"aten::_to_copy", "aten::to"}][
            -1
        ]
        near = {trace.name(row) for row in range(max(top - 24, 0), min(top + 24, len(trace))) if links.parent[row] == links.parent[top]}
        beside += "aten::rsqrt" in near and bool({"aten::pow", "aten::square", "aten::mean"} & near)
    return beside / max(len(at), 1)
