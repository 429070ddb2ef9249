"""What is wrong with a trace's program, why, what it costs and what to change."""

from tracekit.findings.finding import Evidence, Finding, Findings, Rule, Saving
from tracekit.findings.registry import all_rules, find

__all__ = ["Evidence", "Finding", "Findings", "Rule", "Saving", "all_rules", "find"]
