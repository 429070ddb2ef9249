"""Findings of several traces, and where in the user's code each was launched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tracekit.analysis import Analysis
from tracekit.analysis.paths import python_line
from tracekit.findings.finding import Findings


@dataclass(frozen=True)
class Reports:
    """The findings of some traces, in the order given.

    Attributes:
        reports: One each.
        lines: For each of them the user's innermost python frame (``train.py(12): step``) by row of an evidence, where stacks were recorded.
        notices: What a user should know of all.
    """

    SCHEMA: ClassVar[str] = "tracekit.reports/1"

    reports: tuple[Findings, ...]
    lines: tuple[dict[int, str], ...] = field(default=(), metadata={"json": False})
    notices: tuple[str, ...] = ()


def together(analyses: Sequence[Analysis], found: Sequence[Findings]) -> Reports:
    """Return the findings of several traces as one result."""
    return Reports(tuple(found), tuple(_lines(one, findings) for one, findings in zip(analyses, found, strict=True)))


def _lines(analysis: Analysis, findings: Findings) -> dict[int, str]:
    links = analysis.links
    launch = dict(zip(links.gpu.tolist(), links.launch.tolist(), strict=True))
    out = {}
    for finding in findings.findings:
        for evidence in finding.evidence:
            # A GPU event has no frame of its own: what counts is where it was launched.
            row = launch.get(evidence.row, evidence.row)
            line = python_line(analysis.trace, links, row) if row >= 0 else ""
            if line:
                out[evidence.row] = line
    return out
