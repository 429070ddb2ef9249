"""A step that takes much longer than the others.

What it does
    Finds steps of more than 1.5 times the median, the first left out.

Why it matters
    A mean over the steps is no usual step then.

Example
    a checkpoint, an evaluation, a pause of the machine

Instead
    Look at that step on its own.

When it stays silent
    There are fewer than four steps.

Evidence
    The step's mark.

Cost and saving
    Its time beyond the median, spread over the steps.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import finding, steps
from tracekit.units import ns_text

RULE = Rule("TK501", "outlier-step", "0.1.0")

TIMES, FEWEST = 1.5, 4


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding for each outlier."""
    wall, marks = analysis.windows.wall_ns, analysis.links.steps
    if len(wall) < FEWEST:
        return
    usual = float(np.median(wall))
    for i in np.flatnonzero(wall[1:] > TIMES * usual).tolist():
        at = i + 1
        cost = float(wall[at] - usual) / steps(analysis)
        yield finding(
            analysis,
            RULE,
            f"{marks.names[at]} takes {wall[at] / usual:.2g}× as long as the others",
            f"{ns_text(float(wall[at]))} against a median of {ns_text(usual)}; busy {ns_text(float(analysis.windows.busy_ns[at]))}.",
            "A mean over the steps isn't a usual step then.",
            f"Look at it alone: tracekit summary shows its busy and idle time; {'the GPU had more to do' if analysis.windows.busy_ns[at] > TIMES * np.median(analysis.windows.busy_ns) else 'the GPU waited longer'}.",
            [int(marks.row[at])] if marks.row[at] >= 0 else [],
            cost,
            cap="warning",
        )
