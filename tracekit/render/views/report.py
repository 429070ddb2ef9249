"""The report of a trace: what is wrong, worst first."""

from __future__ import annotations

from tracekit.findings import Finding, Findings
from tracekit.render.document import Builder, Cell, Column, Document, Facts, Fit, Heading, Notice, Table, Text, Tone
from tracekit.render.views._parts import number
from tracekit.units import ns_text, pct_text, plural, us_text

_TONES = {"error": Tone.BAD, "warning": Tone.STRONG, "info": Tone.MUTED}


def view(result: Findings) -> Document:
    """Return the document: verdict, an overview, then each finding with its cause and mend; notes last and short."""
    page = Builder(title=result.trace)
    page.add(Heading(result.trace, 1), Text(result.verdict, Tone.STRONG))
    bad = [one for one in result.findings if one.severity != "info"]
    notes = [one for one in result.findings if one.severity == "info"]
    if not bad:
        page.add(Text("No warning and no error.", Tone.GOOD))
    else:
        page.table(f"{plural(len(bad), 'finding')}", _overview(bad, result.step_ns))
    for one in bad:
        page.add(Heading(f"{one.code} {one.severity}: {one.title}"), Text(one.what), Facts(tuple(_facts(one, result.start_ns))))
    if notes:
        page.add(Heading(plural(len(notes), "note")), Facts(tuple((one.code, f"{one.title}. {one.what}") for one in notes)))
    return page.document(result.notices)


def _overview(findings: list[Finding], step_ns: float) -> Table:
    columns = (
        Column("code"),
        Column("severity", fit=Fit.DROP, priority=6),
        Column("finding", fit=Fit.SHRINK, least=24),
        number("cost a step", "µs", drop=False),
        number("of the step", "%", 5),
        number("saving, low", "µs", 2),
        number("saving", "µs", 7),
        number("saving, high", "µs", 2),
    )
    rows = []
    for one in findings:
        saving = one.saving_ns_per_step
        savings = (saving.low_ns, saving.mid_ns, saving.high_ns) if saving else (None, None, None)
        share = f"{100 * one.cost_ns_per_step / step_ns:.1f}" if step_ns else ""
        texts = ("" if ns is None else us_text(ns) for ns in savings)
        rows.append((
            Cell(one.code, _TONES[one.severity]),
            Cell(one.severity),
            Cell(one.title),
            Cell(us_text(one.cost_ns_per_step)),
            Cell(share),
            *map(Cell, texts),
        ))
    return Table(columns, tuple(rows), "findings may share their cost: their savings don't add up")


def _facts(one: Finding, start_ns: int) -> list[tuple[str, str]]:
    facts = [("why", one.why), ("change", one.fix)]
    saving = one.saving_ns_per_step
    if saving is not None:
        facts.append(("saves", f"{ns_text(saving.mid_ns)} a step ({ns_text(saving.low_ns)} to {ns_text(saving.high_ns)}): {saving.how}"))
    if one.evidence:
        seen = "; ".join(
            f"{slice_.name[:60]}, {ns_text(slice_.dur_ns)} at {ns_text(slice_.ts_ns - start_ns)}" for slice_ in one.evidence[:2]
        )
        facts.append(("seen in", seen))
    if one.confidence < 0.85:
        facts.append(("confidence", pct_text(one.confidence)))
    return facts


def joined(first: Document, second: Document) -> Document:
    """Return two documents as one: the second without its title and verdict, which the first has said; notices last, each once."""
    rest = second.without_notices().blocks[2:]
    notices = [Notice(text) for text in dict.fromkeys((*first.notices, *second.notices))]
    return Document((*first.without_notices().blocks, *rest, *notices), first.title)
