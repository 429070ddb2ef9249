"""The table of links."""

from __future__ import annotations

from tracekit.analysis.launches import LinkRow, LinkTable
from tracekit.render.document import Builder, Cell, Column, Document, Fit, Heading, Table, Tone
from tracekit.render.views._parts import US, kernel_column, limited, name_column, number
from tracekit.units import plural, us_text


def view(result: LinkTable, *, limit: int = 50) -> Document:
    """Return the document: GPU events in order of time, then launches without one."""
    page = Builder(title="links")
    linked = sum(row.launch is not None for row in result.links)
    page.add(Heading(f"{plural(len(result.links), 'GPU event')}, {linked:,} linked to a launch", 1))
    columns = (
        number("start", US, 4),
        number("time", US, drop=False),
        kernel_column("GPU event"),
        Column("class", fit=Fit.DROP, priority=5),
        number("stream", priority=1),
        name_column("op", least=12),
        Column("launch", fit=Fit.DROP, priority=3),
        Column("step", fit=Fit.DROP, priority=2),
        Column("linked by", fit=Fit.DROP, priority=6),
    )
    count, note = limited(result.links, limit, "events")
    start = result.links[0].ts_ns if result.links else 0
    page.add(Table(columns, tuple(_row(row, start) for row in result.links[:count]), note, "no GPU events were recorded"))
    if result.launches_without_gpu:
        page.add(Heading(f"{plural(len(result.launches_without_gpu), 'launch call')} without a GPU event"))
        count, note = limited(result.launches_without_gpu, limit, "calls")
        lost = tuple(
            (Cell(row.name), Cell("" if row.correlation is None else str(row.correlation)), Cell(row.reason.replace("_", " ")))
            for row in result.launches_without_gpu[:count]
        )
        page.add(Table((name_column("call"), number("correlation"), Column("reason")), lost, note))
    return page.document(result.notices)


def _row(row: LinkRow, start: int) -> tuple[Cell, ...]:
    how = row.method if row.reason is None else f"not: {row.reason.replace('_', ' ')}"
    return (
        Cell(us_text(row.ts_ns - start)),
        Cell(us_text(row.dur_ns)),
        Cell(row.name),
        Cell(row.class_),
        Cell("" if row.stream is None else str(row.stream)),
        Cell(row.op or ""),
        Cell(row.launch.name if row.launch else ""),
        Cell((row.step or "").removeprefix("ProfilerStep")),
        Cell(how, Tone.PLAIN if row.reason is None else Tone.BAD),
    )
