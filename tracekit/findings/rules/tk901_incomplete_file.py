"""A file that is cut, or had to be mended.

What it does
    Says what the reader dropped and repaired.

Why it matters
    What is missing is missing from every figure.

Example
    a job killed while it wrote

Instead
    Record again, or read the figures as those of a part.

When it stays silent
    The file was whole and sound.

Evidence
    None: the events aren't in the trace.

Cost and saving
    None.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import finding, step_ns
from tracekit.trace import Repair

RULE = Rule("TK901", "incomplete-file", "0.1.0")


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where the read log isn't clean."""
    log = analysis.trace.log
    mended = {reason: n for reason, n in log.repaired.items() if reason not in {Repair.UNCLOSED, Repair.TRAILING_COMMA}}
    if not log.dropped and not mended:
        return
    parts = [f"{n} {reason.value.replace('_', ' ')} (dropped)" for reason, n in log.dropped.items()]
    parts += [f"{n} {reason.value.replace('_', ' ')} (mended)" for reason, n in mended.items()]
    place = f"; first at byte {log.places[0].offset_bytes:,}" if log.places else ""
    yield finding(
        analysis,
        RULE,
        "the file isn't whole" if not log.complete else "the file had to be mended",
        f"{log.kept:,} of {log.in_file:,} events are in the trace: {', '.join(parts)}{place}.",
        "What was lost is missing from every figure." if log.dropped else "Nothing was lost.",
        "Record again if the figures matter.",
        [],
        0.0 if log.complete else 0.03 * step_ns(analysis),
        cap="warning",
    )
