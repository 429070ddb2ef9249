"""Where a viewer looks first: at the worst finding, within its step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.analysis import Analysis
from tracekit.findings import Evidence, Findings

MOST_TIMES = 60
"""The window is at most so many times as long as what it is about: in a step of seconds a copy of a millisecond can't be seen."""

LEAST_NS = 200_000
MARGIN = 0.03
"""Share of the window left free on both sides."""


@dataclass(frozen=True)
class Focus:
    """What a viewer shows at first.

    Attributes:
        start_ns, end_ns: The visible window.
        ts_ns, dur_ns: The slice that is selected; None where none is.
    """

    start_ns: int
    end_ns: int
    ts_ns: int | None = None
    dur_ns: int | None = None

    def within(self, first_ns: int, last_ns: int) -> Focus:
        """Return the focus cut to the trace: a viewer ignores a window that reaches beyond it."""
        return Focus(max(self.start_ns, first_ns), min(self.end_ns, last_ns), self.ts_ns, self.dur_ns)


def mark_ns(evidence: Evidence) -> int:
    """Return the length of a finding's mark: a nanosecond longer than its evidence, as a viewer can be told which slice to select by time only."""
    return evidence.dur_ns + 1


def worst(findings: Findings) -> Evidence | None:
    """Return the first evidence of the worst finding that is a warning or an error, or None: then all is well and there is nothing to look at."""
    bad = (one for one in findings.findings if one.severity != "info" and one.evidence)
    found = next(bad, None)
    return found.evidence[0] if found else None


def focus_of(analysis: Analysis, findings: Findings) -> Focus | None:
    """Return where to look; None where the trace is empty."""
    slices = analysis.trace.slices
    if not len(slices):
        return None
    first, last = int(slices.ts_ns.min()), int(slices.end_ns.max())
    evidence = worst(findings)
    if evidence is None:
        return Focus(first, last)
    begin, end = evidence.ts_ns, evidence.ts_ns + evidence.dur_ns
    windows = analysis.windows
    inside = np.flatnonzero((windows.start_ns <= begin) & (windows.end_ns > begin))
    low, high = (int(windows.start_ns[inside[0]]), int(windows.end_ns[inside[0]])) if len(inside) else (first, last)
    reach = max(MOST_TIMES * evidence.dur_ns, LEAST_NS) // 2
    low, high = max(min(low, begin), begin - reach), min(max(high, end), end + reach)
    margin = int(MARGIN * (high - low))
    return Focus(low - margin, high + margin, evidence.ts_ns, mark_ns(evidence)).within(first, last)
