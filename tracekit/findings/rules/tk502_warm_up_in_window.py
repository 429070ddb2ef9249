"""A first step that still warms up.

What it does
    Finds a first step of more than 1.3 times the median of the others.

Why it matters
    It is no usual step, and a mean takes it for one.

Example
    schedule(warmup=0)

Instead
    More warm-up steps before the recording.

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

RULE = Rule("TK502", "warm-up-in-window", "0.1.0")

TIMES, FEWEST = 1.3, 4


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where the first step is longer."""
    wall, marks = analysis.windows.wall_ns, analysis.links.steps
    if len(wall) < FEWEST or wall[0] <= TIMES * np.median(wall[1:]):
        return
    usual = float(np.median(wall[1:]))
    yield finding(
        analysis,
        RULE,
        f"{marks.names[0]} still warms up",
        f"{ns_text(float(wall[0]))} against a median of {ns_text(usual)} of the others.",
        "Lazy loading, autotuning and the allocator's first blocks happen once.",
        "Give the profiler's schedule more warm-up steps, or leave the step out of what you compare (tracekit diff does).",
        [int(marks.row[0])] if marks.row[0] >= 0 else [],
        float(wall[0] - usual) / steps(analysis),
        cap="info",
    )
