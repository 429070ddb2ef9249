"""What a report's findings rest on: shown where there is room for it, on a page."""

from __future__ import annotations

from dataclasses import dataclass

from tracekit.analysis import Analysis
from tracekit.analysis.budget import Budget, budget
from tracekit.analysis.closeup import closeup
from tracekit.analysis.kernels import Kernels, kernel_table
from tracekit.analysis.ops import Ops, op_table
from tracekit.analysis.picture import Picture
from tracekit.analysis.summary import Summary
from tracekit.attention import Regions
from tracekit.findings.finding import Findings


@dataclass(frozen=True)
class Details:
    """The whole picture behind a report.

    Attributes:
        summary: The trace in one page.
        budget: Where the mean step's time goes, or None where no step has GPU work.
        pictures: Of each finding, in the report's order: its first evidence and what is around it, or None where it has none.
        kernels: GPU events by name.
        ops: CPU ops by name.
        attention: Attention calls.
    """

    summary: Summary
    budget: Budget | None
    pictures: tuple[Picture | None, ...]
    kernels: Kernels
    ops: Ops
    attention: Regions


def details(analysis: Analysis, findings: Findings) -> Details:
    """Return what the findings of a trace rest on."""
    return Details(
        summary=analysis.summary,
        budget=budget(analysis),
        pictures=tuple(closeup(analysis, [one.row for one in finding.evidence]) for finding in findings.findings),
        kernels=kernel_table(analysis),
        ops=op_table(analysis),
        attention=analysis.attention,
    )
