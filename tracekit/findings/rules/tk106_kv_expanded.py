"""Keys and values that are repeated in memory for grouped queries.

What it does
    Finds copies launched by ``repeat_interleave`` or ``repeat`` whose output goes into attention as k or v.

Why it matters
    Grouped-query attention needs each key once; repeated they are read as often as there are queries in a group.

Example
    k = k.repeat_interleave(groups, dim=1)

Instead
    F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

When it stays silent
    No such op runs within the steps before attention.

Evidence
    The copies.

Cost and saving
    GPU time of the copies, or what the GPU waits for their ops; the saving by replay without them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.analysis.replay import Change
from tracekit.attention import Direction
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
    steps,
)
from tracekit.units import ns_text, plural

RULE = Rule("TK106", "kv-expanded", "0.1.0")

_REPEATS = {"aten::repeat_interleave", "aten::repeat"}
_AHEAD = 8
"""GPU events between a repeat and the attention that it is for, at most: k and v, each with its index or copy, and what turns them."""


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where k and v are repeated."""
    links = analysis.links
    if not analysis.attention.attention:
        return
    mine = expanded_heads(analysis)
    for g in np.flatnonzero(launched(analysis) & (links.op >= 0) & of_class(analysis, "elementwise.copy", "index", "memcpy.DtoD")).tolist():
        mine[g] |= bool(_REPEATS & set(names_above(analysis, int(links.op[g]))))
    mine &= ~links.backward[np.maximum(links.op, 0)] & _before_attention(analysis)
    if not mine.any():
        return
    change = Change(
        scaled(analysis, mine), cut(analysis, outermost(analysis, mine, _REPEATS | {"aten::reshape", "aten::contiguous", "aten::clone"}))
    )
    mended = mend(analysis, change, "without the copies and their ops")
    ops = ops_of(analysis, mine)
    yield finding(
        analysis,
        RULE,
        "keys and values are repeated in memory",
        f"{plural(int(mine.sum()) / steps(analysis), 'copy', 'copies')} a step right before attention, {ns_text(per_step_ns(analysis, mine))} on the GPU{line_of(analysis, int(ops[0]))}.",
        "A fused backend can read each key once for a group of queries.",
        "Pass enable_gqa=True to F.scaled_dot_product_attention instead of repeating k and v.",
        longest(analysis, mine),
        max(per_step_ns(analysis, mine), mended.won_ns),
        mended.saving,
        change=change,
        confidence=0.7,
    )


def _before_attention(analysis: Analysis) -> NDArray[np.bool_]:
    """Return which GPU events are launched shortly before an attention call of the forward pass (bool[g])."""
    links, slices = analysis.links, analysis.trace.slices
    known = np.flatnonzero(links.launch >= 0)
    order = known[np.argsort(slices.ts_ns[links.launch[known]], kind="stable")]
    place = np.full(len(analysis.work), -1)
    place[order] = np.arange(len(order))
    near = np.zeros(len(order) + 1, dtype=bool)
    for region in analysis.attention.attention:
        if region.direction is Direction.FORWARD and region.gpu_rows:
            first = min(int(place[g]) for g in np.searchsorted(analysis.work.rows, region.gpu_rows).tolist())
            near[max(first - _AHEAD, 0) : max(first, 0)] = True
    found: NDArray[np.bool_] = near[place]
    return found
