"""Communication that no computation hides.

What it does
    Finds the time in which the device communicates and computes nothing.

Why it matters
    It is added to the step.

Example
    an all-reduce after the whole backward pass

Instead
    Overlap it: buckets, prefetching, another stream.

When it stays silent
    It is less than 2 % of the step.

Evidence
    The longest communication kernels.

Cost and saving
    Exposed time per step; the saving is at most that.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.analysis import Analysis
from tracekit.analysis.verdict import exposed_communication_ns
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import finding, longest, of_class, per_step_ns, step_ns, steps
from tracekit.units import ns_text

RULE = Rule("TK403", "exposed-communication", "0.1.0")

LEAST_SHARE = 0.02


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where communication is exposed."""
    cost = exposed_communication_ns(analysis) / steps(analysis)
    if cost < LEAST_SHARE * step_ns(analysis):
        return
    mine = of_class(analysis, "communication")
    yield finding(
        analysis,
        RULE,
        "communication isn't hidden",
        f"{ns_text(cost)} a step in which the GPU communicates and computes nothing, of {ns_text(per_step_ns(analysis, mine))} of communication. A part of it may be waiting for slower ranks, which this trace alone can't tell.",
        "Exposed communication is added to the step.",
        "Overlap it with computation (gradient buckets, FSDP prefetch, a stream of its own), or balance the ranks.",
        longest(analysis, mine),
        cost,
        Saving(0.0, 0.5 * cost, cost, "what overlap can hide at most"),
        confidence=0.8,
    )
