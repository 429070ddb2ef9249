"""What is wrong with a trace's program, why, what it costs and what to change."""

from tracekit.findings.details import Details, details
from tracekit.findings.explain import HEADINGS, Rules, explain
from tracekit.findings.finding import Evidence, Finding, Findings, Rule, Saving
from tracekit.findings.registry import all_rules, find
from tracekit.findings.reports import Reports, together
from tracekit.findings.whatif import Part, WhatIf, what_if

__all__ = [
    "HEADINGS",
    "Details",
    "Evidence",
    "Finding",
    "Findings",
    "Part",
    "Reports",
    "Rule",
    "Rules",
    "Saving",
    "WhatIf",
    "all_rules",
    "details",
    "explain",
    "find",
    "together",
    "what_if",
]
