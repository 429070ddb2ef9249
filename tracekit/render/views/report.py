"""The report of a trace: what is wrong, worst first."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.budget import Budget
from tracekit.analysis.picture import Picture
from tracekit.analysis.summary import ReadInfo
from tracekit.findings import Details, Finding, Findings, Reports
from tracekit.render.document import (
    Bar,
    Block,
    Builder,
    Cell,
    Column,
    Document,
    Facts,
    Fit,
    Heading,
    Notice,
    Strip,
    Table,
    Text,
    Tone,
)
from tracekit.render.views._parts import IDLE_WORDS, number, strip
from tracekit.render.views.attention import view as attention_view
from tracekit.render.views.kernels import view as kernels_view
from tracekit.render.views.ops import view as ops_view
from tracekit.render.views.summary import facts
from tracekit.render.views.summary import view as summary_view
from tracekit.units import ns_text, pct_text, plural, us_text

_TONES = {"error": Tone.BAD, "warning": Tone.STRONG, "info": Tone.MUTED}


def view(result: Findings, pictures: Sequence[Picture | None] = ()) -> Document:
    """Return the document: verdict, an overview, then each finding with its cause and mend, and its picture where one is given; notes last and short."""
    whole = Builder(title=result.trace)
    whole.add(Heading(result.trace, 1), Text(result.verdict, Tone.STRONG))
    bad = [one for one in result.findings if one.severity != "info"]
    notes = [one for one in result.findings if one.severity == "info"]
    if not bad:
        whole.add(Text("No warning and no error.", Tone.GOOD))
    else:
        whole.table(f"{plural(len(bad), 'finding')}", _overview(bad, result.step_ns))
    drawn = dict(zip(map(id, result.findings), pictures, strict=False))
    for one in bad:
        whole.add(Heading(f"{one.code} {one.severity}: {one.title}"), Text(one.what), Facts(tuple(_facts(one, result.start_ns))))
        if picture := drawn.get(id(one)):
            whole.add(strip(picture))
    if notes:
        whole.add(Heading(plural(len(notes), "note")), Facts(tuple((one.code, f"{one.title}. {one.what}") for one in notes)))
    return whole.document(result.notices)


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


_ROWS = 20  # of the tables behind the findings


def page(result: Findings, behind: Details | None) -> Document:
    """Return the report of a trace and, where given, what its findings rest on: for a medium that has the room."""
    if behind is None:
        return view(result)
    title, verdict, *body = view(result, behind.pictures).without_notices().blocks
    rest = summary_view(behind.summary)
    # The report has said the summary's title and verdict.
    summary = [block for block in rest.without_notices().blocks[2:] if not isinstance(block, Facts)]
    blocks: list[Block] = [title, verdict]
    if behind.budget:
        blocks += [Heading(f"A step, {ns_text(behind.budget.step_ns)}: mean of {plural(behind.budget.steps, 'step')}"), _bar(behind.budget)]
    blocks += [Facts(tuple(facts(behind.summary))), *body, *summary]
    if behind.attention.attention:
        blocks += _below("Attention by stage", attention_view(behind.attention, limit=_ROWS, more="tracekit attention lists all"))
    blocks += _below("GPU events by name", kernels_view(behind.kernels, limit=_ROWS, more="tracekit kernels lists all"))
    blocks += _below("Ops by name", ops_view(behind.ops, limit=_ROWS, more="tracekit ops lists all"))
    blocks += [Heading("How the file was read"), Facts(tuple(_read(behind.summary.read)))]
    notices = [Notice(text) for text in dict.fromkeys((*result.notices, *rest.notices))]
    return Document((*blocks, *notices), result.trace)


def _bar(whole: Budget) -> Strip:
    """Return the parts of a step one after the other, busy ones first."""
    bars, at = [], 0.0
    for part in whole.parts:
        name = part.name if part.busy else f"idle: {IDLE_WORDS.get(part.name, part.name)}"
        label = f"{name}, {ns_text(part.ns)}, {pct_text(part.ns / whole.step_ns)}"
        kind = part.name if part.busy else name
        bars.append(Bar(label, round(at), round(at + part.ns) - round(at), kind, f"{name} {pct_text(part.ns / whole.step_ns)}"))
        at += part.ns
    return Strip((("step", tuple(bars)),), 0, max(round(whole.step_ns), 1), "0", ns_text(whole.step_ns))


def _below(title: str, document: Document) -> list[Block]:
    """Return a document as a part of another: with another title, its headings a level lower, its notices left to the whole."""
    inner = [
        Heading(block.text, block.level + 1) if isinstance(block, Heading) else block for block in document.without_notices().blocks[1:]
    ]
    return [Heading(title), *inner]


def _read(read: ReadInfo) -> list[tuple[str, str]]:
    found = [("events", f"{read.events_in_file:,} in the file, {read.events_kept:,} kept")]
    found.append(("dropped", ", ".join(f"{reason} {count:,}" for reason, count in read.dropped.items()) or "none"))
    found.append(("mended", ", ".join(f"{kind} {count:,}" for kind, count in read.repaired.items()) or "nothing"))
    if read.places:
        found.append(("first seen", "; ".join(read.places[:_ROWS])))
    return found


def overview(result: Reports, behind: Sequence[Details | None]) -> Document:
    """Return the report of several traces: a row each, then each by itself, with what it rests on where that is given."""
    whole = Builder(title=f"{plural(len(result.reports), 'trace')}")
    counts = [[sum(one.severity == severity for one in report.findings) for severity in _TONES] for report in result.reports]
    errors, warnings = (sum(column) for column in list(zip(*counts, strict=True))[:2])
    whole.add(Heading(f"{plural(len(result.reports), 'trace')}: {plural(errors, 'error')}, {plural(warnings, 'warning')}", 1))
    whole.add(_all(result, counts))
    notices: dict[str, None] = {}
    for report, one in zip(result.reports, behind, strict=True):
        document = page(report, one)
        first, *rest = document.without_notices().blocks
        whole.add(Heading(report.trace, 1) if isinstance(first, Heading) else first, *rest)
        notices.update(dict.fromkeys(f"{report.trace}: {text}" for text in document.notices))
    return whole.document(tuple(notices))


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
