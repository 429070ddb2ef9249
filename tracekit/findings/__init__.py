"""What is wrong with a trace's program, why, what it costs and what to change."""

from tracekit.findings.finding import Evidence, Finding, Findings, Saving
from tracekit.findings.registry import Rule, all_rules, find

__all__ = ["Evidence", "Finding", "Findings", "Rule", "Saving", "all_rules", "find"]
