"""GPU records whose duration can't be true.

What it does
    Finds events that cover two later events of their own stream, launched by other calls.

Why it matters
    A stream runs in order: such a record has a wrong end, and would dominate every sum.

Example
    one kernel of 300 ms over four others

Instead
    Nothing: the credible part is counted.

When it stays silent
    Overlaps are of one event only, or within one graph.

Evidence
    The events.

Cost and saving
    None.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import finding, step_ns
from tracekit.units import ns_text, plural

RULE = Rule("TK904", "corrupt-durations", "0.1.0")


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where durations are wrong."""
    work = analysis.work
    if not work.suspect.any():
        return
    recorded = float(analysis.trace.slices.dur_ns[work.rows[work.suspect]].sum())
    yield finding(
        analysis,
        RULE,
        f"{plural(int(work.suspect.sum()), 'GPU event')} with a duration that can't be true",
        f"Recorded are {ns_text(recorded)}; {ns_text(float(work.dur_ns[work.suspect].sum()))} of it are credible and counted, up to where the next event of the stream starts.",
        "A stream runs its work in order, so a record that covers later events of its own stream has a wrong end.",
        "Nothing, but don't trust other tools' sums of this trace.",
        work.rows[work.suspect].tolist(),
        0.03 * step_ns(analysis),
        cap="warning",
    )
