"""Expectations, met or not."""

from __future__ import annotations

from tracekit.expectations import Check
from tracekit.render.document import Builder, Cell, Column, Document, Facts, Fit, Heading, Table, Text, Tone, cut_start
from tracekit.render.views._parts import name_column
from tracekit.units import plural


def view(result: Check) -> Document:
    """Return the document: mismatches first."""
    page = Builder(title="check")
    page.add(Heading(f"{result.trace} against {result.expectations}", 1))
    if result.missed:
        page.add(Text(f"{plural(result.missed, 'expectation')} of {result.missed + result.met} not met.", Tone.BAD))
    else:
        page.add(Text(f"All {plural(result.met, 'expectation')} met.", Tone.GOOD))
    columns = (
        Column("met"),
        Column("expectation", fit=Fit.SHRINK, least=29, shorten=cut_start),
        name_column("expected", least=12),
        name_column("seen", least=18),
    )
    rows = tuple(
        (Cell("yes", Tone.GOOD) if one.met else Cell("NO", Tone.BAD), Cell(one.key), Cell(one.expected), Cell(one.seen))
        for one in result.outcomes
    )
    page.add(Table(columns, rows))
    places = tuple((one.key, one.where) for one in result.outcomes if one.where)
    if places:
        page.add(Heading("Where"), Facts(places))
    return page.document(result.notices)
