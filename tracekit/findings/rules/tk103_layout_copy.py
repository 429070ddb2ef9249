"""Copies that only change a tensor's layout.

What it does
    Finds copy kernels launched by ``contiguous`` or ``reshape`` through ``clone``, without a change of number format.

Why it matters
    They move every byte twice and compute nothing.

Example
    y = x.transpose(1, 2).contiguous()

Instead
    Keep the layout that the next op takes, or choose one that needs no copy.

When it stays silent
    They take less than 1 % of the step, or repeat keys and values (TK106).

Evidence
    The copies.

Cost and saving
    GPU time of the copies, or what the GPU waits for their ops; the saving by replay without them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.replay import Change
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import (
    cut,
    expanded_heads,
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

RULE = Rule("TK103", "layout-copy", "0.1.0")

LEAST_SHARE = 0.01


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where layout copies take a share of the step."""
    links = analysis.links
    mine = np.zeros(len(analysis.work), dtype=bool)
    for g in np.flatnonzero(of_class(analysis, "elementwise.copy", "memcpy.DtoD") & launched(analysis) & (links.op >= 0)).tolist():
        names = names_above(analysis, int(links.op[g]))
        mine[g] = (
            "aten::clone" in names
            and bool({"aten::contiguous", "aten::reshape", "aten::flatten"} & set(names))
            and "aten::_to_copy" not in names
        )
    # Keys and values written out for every head are TK106's.
    mine &= ~expanded_heads(analysis)
    if not mine.any():
        return
    change = Change(scaled(analysis, mine), cut(analysis, outermost(analysis, mine, {"aten::clone", "aten::contiguous"})))
    mended = mend(analysis, change, "without the copies and the ops that make them")
    cost = max(per_step_ns(analysis, mine), mended.won_ns)
    if cost < LEAST_SHARE * step_ns(analysis):
        return
    ops = ops_of(analysis, mine)
    yield finding(
        analysis,
        RULE,
        "tensors are copied to change their layout",
        f"{plural(int(mine.sum()) / steps(analysis), 'copy', 'copies')} a step, {ns_text(per_step_ns(analysis, mine))} on the GPU, by contiguous or reshape{line_of(analysis, int(ops[0]))}.",
        "A layout copy reads and writes the whole tensor and computes nothing.",
        "Produce the layout that the next op takes, or use an op that takes a strided input.",
        longest(analysis, mine),
        cost,
        mended.saving,
        change=change,
        confidence=0.7,
    )
