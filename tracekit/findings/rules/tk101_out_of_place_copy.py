"""Copies that an out-of-place op makes before it works in place.

What it does
    Finds GPU copies launched by ``aten::clone`` inside an op that has an in-place form running beside the clone, as ``masked_fill`` has.

Why it matters
    The clone reads and writes the whole tensor, and shows as a Memcpy that nobody asked for.

Example
    scores = scores.masked_fill(mask, float('-inf'))

Instead
    scores.masked_fill_(mask, float('-inf'))

When it stays silent
    The op ran in place, or the clone belongs to something else (``contiguous``, ``reshape``).

Evidence
    The copies.

Cost and saving
    GPU time of the copies per step; the saving by replay without them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import finding, launched, line_of, longest, names_above, of_class, outermost, per_step_ns, remove, steps
from tracekit.units import ns_text, plural

RULE = Rule("TK101", "out-of-place-copy", "0.1.0")


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding for each op that copies."""
    trace, links = analysis.trace, analysis.links
    groups: dict[str, list[int]] = {}
    for g in np.flatnonzero(of_class(analysis, "memcpy.DtoD", "elementwise.copy") & launched(analysis) & (links.op >= 0)).tolist():
        names = names_above(analysis, int(links.op[g]))
        if "aten::clone" not in names:
            continue
        outer = names[names.index("aten::clone") + 1 :]
        if (
            outer
            and outer[0].startswith("aten::")
            and trace.strings.id(outer[0] + "_") >= 0
            and _in_place_beside(analysis, int(links.op[g]), outer[0])
        ):
            groups.setdefault(outer[0], []).append(g)
    for op, events in groups.items():
        mine = np.zeros(len(analysis.work), dtype=bool)
        mine[events] = True
        short = op.removeprefix("aten::")
        cost = per_step_ns(analysis, mine)
        where = line_of(analysis, int(links.op[events[0]]))
        yield finding(
            analysis,
            RULE,
            f"{short} out of place copies its input first",
            f"{plural(len(events) / steps(analysis), 'copy', 'copies')} a step, {ns_text(cost)}, come from aten::clone inside {op}{where}.",
            f"{op} clones its input and then runs {op}_ on the clone: the tensor is read and written once more than needed.",
            f"Use {short}_ where the input isn't needed again. Unsafe where autograd needs the value, as for a leaf or an op that saved it for backward.",
            longest(analysis, mine),
            cost,
            remove(analysis, mine, "without the copies and the ops that make them", hosts=outermost(analysis, mine, {"aten::clone"})),
        )


def _in_place_beside(analysis: Analysis, row: int, outer: str) -> bool:
    """Say whether the in-place form runs inside the same call."""
    trace, links = analysis.trace, analysis.links
    top = next((up for up in (row, *links.ancestors(row)) if trace.name(up) == outer), -1)
    if top < 0:
        return False
    inside = np.flatnonzero(links.parent[top : top + 64] == top) + top
    return any(trace.name(int(child)) == outer + "_" for child in inside)
