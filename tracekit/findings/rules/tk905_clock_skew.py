"""GPU work that starts before it was launched.

What it does
    Finds GPU events whose start lies before the start of their launch call.

Why it matters
    The clocks of host and GPU disagree: latencies and idle causes are off by as much.

Example
    kernels 40 µs before their launch

Instead
    Nothing in the program; newer drivers and profilers align the clocks.

When it stays silent
    No event starts more than 2 µs before its launch.

Evidence
    The worst ones.

Cost and saving
    None.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import finding
from tracekit.units import ns_text

RULE = Rule("TK905", "clock-skew", "0.1.0")

LEAST_NS = 2_000


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where the clocks disagree."""
    links, slices = analysis.links, analysis.trace.slices
    known = np.flatnonzero(links.launch >= 0)
    early = slices.ts_ns[links.launch[known]] - analysis.work.start_ns[known]
    wrong = known[early > LEAST_NS]
    if not len(wrong):
        return
    worst = wrong[np.argsort(analysis.work.start_ns[wrong] - slices.ts_ns[links.launch[wrong]], kind="stable")]
    yield finding(
        analysis,
        RULE,
        "GPU work starts before it was launched",
        f"{len(wrong):,} of {len(known):,} events, by {ns_text(float(early.max()))} at most.",
        "The clocks of host and GPU disagree in this recording, so latencies and idle causes are off by as much; durations aren't.",
        "Nothing in the program.",
        analysis.work.rows[worst].tolist(),
        0.0,
        cap="info",
    )
