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
    GPU time of the copies; the saving by replay without them.
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
    steps,
)
from tracekit.units import ns_text, plural

RULE = Rule("TK106", "kv-expanded", "0.1.0")


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where k and v are repeated."""
    links = analysis.links
    if not analysis.attention.attention:
        return
    mine = np.zeros(len(analysis.work), dtype=bool)
    for g in np.flatnonzero(launched(analysis) & (links.op >= 0) & of_class(analysis, "elementwise.copy", "index", "memcpy.DtoD")).tolist():
        mine[g] = bool({"aten::repeat_interleave", "aten::repeat"} & set(names_above(analysis, int(links.op[g]))))
    mine &= ~links.backward[np.maximum(links.op, 0)]
    if not mine.any():
        return
    cost = per_step_ns(analysis, mine)
    ops = ops_of(analysis, mine)
    yield finding(
        analysis,
        RULE,
        "keys and values are repeated in memory",
        f"{plural(int(mine.sum()) / steps(analysis), 'copy', 'copies')} a step by repeat, {ns_text(cost)}{line_of(analysis, int(ops[0]))}.",
        "A fused backend can read each key once for a group of queries.",
        "Pass enable_gqa=True to F.scaled_dot_product_attention instead of repeating k and v.",
        longest(analysis, mine),
        cost,
        remove(analysis, mine, "without the copies", hosts=outermost(analysis, mine, {"aten::repeat_interleave", "aten::repeat"})),
        confidence=0.7,
    )
