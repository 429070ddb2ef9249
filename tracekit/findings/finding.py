"""What a rule finds, with its evidence, cost and what mending it would save."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tracekit.analysis.replay import Change


@dataclass(frozen=True)
class Rule:
    """A rule.

    Attributes:
        code: ``TK101``; never used again for another.
        name: Short name, ``out-of-place-copy``.
        since: Version that brought it.
        status: ``stable``, or ``preview`` while it is tried out.
        cap: The worst that its findings can be, whatever they cost.
    """

    code: str
    name: str
    since: str
    status: str = "stable"
    cap: str = "error"


@dataclass(frozen=True)
class Evidence:
    """A slice that a finding is about; ``row`` is its row in the trace."""

    row: int
    name: str
    ts_ns: int
    dur_ns: int
    pid: int | str
    tid: int | str


@dataclass(frozen=True)
class Saving:
    """What a step would be shorter by, with its range and how it was reckoned."""

    low_ns: float
    mid_ns: float
    high_ns: float
    how: str


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        code: ``TK101``.
        severity: ``info``, ``warning`` or ``error``.
        title: In a line.
        what: What was seen.
        why: Why it costs, or why it matters.
        fix: What to do.
        evidence: Slices that show it, the first few.
        cost_ns_per_step: What it takes of a step.
        saving_ns_per_step: What mending it would win, or None where that can't be said.
        confidence: 0 to 1.
        change: What mending it changes in the replay, or None where that can't be replayed; not in the JSON.
    """

    code: str
    severity: str
    title: str
    what: str
    why: str
    fix: str
    evidence: tuple[Evidence, ...]
    cost_ns_per_step: float
    saving_ns_per_step: Saving | None
    confidence: float
    change: Change | None = field(default=None, repr=False, compare=False, metadata={"json": False})


@dataclass(frozen=True)
class Findings:
    """The findings of a trace, worst first.

    Attributes:
        trace: The file's name as given.
        verdict: What the steps wait for.
        step_ns: Mean step time.
        start_ns: Start of the trace's first event: what people count times from.
        findings: The findings.
        notices: What a user should know.
    """

    SCHEMA: ClassVar[str] = "tracekit.report/1"

    trace: str
    verdict: str
    step_ns: float
    start_ns: int
    findings: tuple[Finding, ...]
    notices: tuple[str, ...] = ()
