"""A trace without GPU work.

What it does
    Says that no kernel, copy or set was recorded.

Why it matters
    Nothing can be said of the GPU.

Example
    profile(activities=[ProfilerActivity.CPU])

Instead
    Record ProfilerActivity.CUDA as well.

When it stays silent
    There is GPU work.

Evidence
    None.

Cost and saving
    None.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import finding
from tracekit.trace import CALLS

RULE = Rule("TK903", "no-gpu-activity", "0.1.0")


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where there is no GPU work."""
    if len(analysis.work) or not len(analysis.trace):
        return
    calls = bool(analysis.trace.slices.is_any(CALLS).any())
    yield finding(
        analysis,
        RULE,
        "no GPU activity was recorded",
        f"{len(analysis.trace):,} slices, no kernel among them{', though the runtime was called' if calls else ''}.",
        "The program didn't use a GPU in the window, or its activity wasn't recorded.",
        "Record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]; in a container, check that the profiler may access the counters.",
        [],
        0.0,
        cap="info",
    )
