"""The rules in words."""

from __future__ import annotations

from tracekit.findings import Rules
from tracekit.render.document import Builder, Cell, Column, Document, Facts, Fit, Heading, Table


def view(result: Rules) -> Document:
    """Return the document: a list, or one rule in full."""
    page = Builder(title="rules")
    if len(result.rules) == 1:
        (rule,) = result.rules
        page.add(Heading(f"{rule.code} {rule.name}: {rule.title}", 1), Facts(rule.sections))
        return page.document()
    page.add(Heading("Rules", 1))
    rows = tuple((Cell(rule.code), Cell(rule.name), Cell(rule.title)) for rule in result.rules)
    page.add(Table((Column("code"), Column("name"), Column("finds", fit=Fit.SHRINK, least=24)), rows, "tracekit rules CODE explains one"))
    return page.document()
