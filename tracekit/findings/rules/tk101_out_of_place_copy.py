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
    GPU time of the copies per step, or what the GPU waits for the ops that make them; the saving by replay, with the in-place op alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.replay import Change
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import cut, finding, launched, line_of, longest, mend, names_above, of_class, per_step_ns, scaled, steps
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
            and _in_place(analysis, _call(analysis, int(links.op[g]), outer[0]), outer[0])
        ):
            groups.setdefault(outer[0], []).append(g)
    for op, events in groups.items():
        mine = np.zeros(len(analysis.work), dtype=bool)
        mine[events] = True
        short = op.removeprefix("aten::")
        calls = sorted({_call(analysis, int(links.op[g]), op) for g in events})
        kept = [row for call in calls for row in _in_place(analysis, call, op)]
        change = Change(scaled(analysis, mine), cut(analysis, calls, kept=kept, python_ns=0))
        mended = mend(analysis, change, f"without the copies, {short}_ in the place of {short}")
        cost = max(per_step_ns(analysis, mine), mended.won_ns)
        where = line_of(analysis, int(links.op[events[0]]))
        yield finding(
            analysis,
            RULE,
            f"{short} out of place copies its input first",
            f"{plural(len(events) / steps(analysis), 'copy', 'copies')} a step, {ns_text(per_step_ns(analysis, mine))} on the GPU, come from aten::clone inside {op}{where}.",
            f"{op} clones its input and then runs {op}_ on the clone: the tensor is read and written once more than needed.",
            f"Use {short}_ where the input isn't needed again. Unsafe where autograd needs the value, as for a leaf or an op that saved it for backward.",
            longest(analysis, mine),
            cost,
            mended.saving,
            change=change,
        )


def _call(analysis: Analysis, row: int, outer: str) -> int:
    """Return the row of the call of ``outer`` around a slice."""
    return next(up for up in (row, *analysis.links.ancestors(row)) if analysis.trace.name(up) == outer)


def _in_place(analysis: Analysis, call: int, outer: str) -> list[int]:
    """Return the in-place ops that run inside a call."""
    trace, links = analysis.trace, analysis.links
    inside = np.flatnonzero(links.parent[call : call + 64] == call) + call
    return [int(row) for row in inside if trace.name(int(row)) == outer + "_"]
