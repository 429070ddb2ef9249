"""The report of a trace: what is wrong, worst first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracekit.findings import Finding, Findings, Reports
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


Summary = Callable[[], Document] | None


def with_summary(result: Findings, summary: Summary) -> Document:
    """Return the report of a trace, and behind it what its findings rest on, where that is given."""
    return joined(view(result), summary()) if summary else view(result)


def overview(result: Reports, summaries: Sequence[Summary]) -> Document:
    """Return the report of several traces: a row each, then each by itself.

    Args:
        result: The reports.
        summaries: What makes the summary of each trace, or None where it isn't to be shown.
    """
    page = Builder(title=f"{plural(len(result.reports), 'trace')}")
    counts = [[sum(one.severity == severity for one in report.findings) for severity in _TONES] for report in result.reports]
    errors, warnings = (sum(column) for column in list(zip(*counts, strict=True))[:2])
    page.add(Heading(f"{plural(len(result.reports), 'trace')}: {plural(errors, 'error')}, {plural(warnings, 'warning')}", 1))
    page.add(_all(result, counts))
    notices: dict[str, None] = {}
    for report, summary in zip(result.reports, summaries, strict=True):
        document = with_summary(report, summary)
        first, *rest = document.without_notices().blocks
        page.add(Heading(report.trace, 1) if isinstance(first, Heading) else first, *rest)
        notices.update(dict.fromkeys(f"{report.trace}: {text}" for text in document.notices))
    return page.document(tuple(notices))


def _all(result: Reports, counts: Sequence[Sequence[int]]) -> Table:
    columns = (
        Column("trace", fit=Fit.SHRINK, least=16),
        number("step", "µs", drop=False),
        number("errors", drop=False),
        number("warnings", drop=False),
        number("notes", "", 2),
        Column("worst finding", fit=Fit.SHRINK, least=20),
        Column("verdict", fit=Fit.DROP, priority=1),
    )
    rows = []
    for report, (errors, warnings, notes) in zip(result.reports, counts, strict=True):
        worst = next((one for one in report.findings if one.severity != "info"), None)
        rows.append((
            Cell(report.trace),
            Cell(us_text(report.step_ns)),
            Cell(str(errors), _TONES["error"] if errors else Tone.PLAIN),
            Cell(str(warnings)),
            Cell(str(notes)),
            Cell(f"{worst.code} {worst.title}" if worst else "none"),
            Cell(report.verdict),
        ))
    return Table(columns, tuple(rows))
