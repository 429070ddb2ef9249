"""GPU work without a launch.

What it does
    Says how many GPU events couldn't be linked, and why.

Why it matters
    They are charged to no op and no step.

Example
    a recording that starts in the middle of queued work

Instead
    Usually nothing: warm-up work that was still running.

When it stays silent
    Every event is linked.

Evidence
    The longest of them.

Cost and saving
    None: what they cost belongs to what launched them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import finding, step_ns
from tracekit.linking import Reason
from tracekit.units import ns_text, plural

RULE = Rule("TK902", "unlinked-gpu-work", "0.1.0")


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where events aren't linked."""
    links, work = analysis.links, analysis.work
    lost = links.launch < 0
    if not lost.any():
        return
    before = int((links.reason == Reason.LAUNCHED_BEFORE_TRACE).sum())
    other = int(lost.sum()) - before
    time = float(work.dur_ns[lost].sum())
    rows = work.rows[lost][np.argsort(-work.dur_ns[lost], kind="stable")]
    yield finding(
        analysis,
        RULE,
        f"{plural(int(lost.sum()), 'GPU event')} without a launch",
        f"{ns_text(time)} of GPU time: {before:,} launched before the recording started, {other:,} for other reasons.",
        "They belong to work that isn't in the recording, so no op or step is charged with them."
        if not other
        else "Their ops and steps can't be known.",
        "Nothing, if they are the tail of earlier steps."
        if not other
        else "Record with CPU and GPU activities; see tracekit links for each event's reason.",
        rows.tolist(),
        0.0 if not other else 0.03 * step_ns(analysis),
        cap="info" if other < 0.02 * len(work) else "warning",
    )
