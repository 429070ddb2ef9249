"""The table of kernels."""

from __future__ import annotations

from tracekit.analysis.kernels import KernelRow, Kernels
from tracekit.render.document import Builder, Cell, Column, Document, Fit, Heading, Table, Tone
from tracekit.render.views._parts import LIMIT, US, bar, kernel_column, limited, number
from tracekit.units import plural, us_text


def view(result: Kernels, *, limit: int = 30, more: str = LIMIT) -> Document:
    """Return the document: kernels by time."""
    page = Builder(title="kernels")
    page.add(Heading(f"GPU events by name, whole trace of {plural(result.steps, 'step')}", 1))
    columns = (
        kernel_column(),
        Column("class", fit=Fit.SHRINK, least=10),
        number("events", priority=7),
        number("time", US, drop=False),
        number("share", "%", 8),
        number("mean", US, 6),
        number("registers", priority=2),
        number("block", priority=1),
        number("occupancy", "%", 5),
        Column("dtype", fit=Fit.DROP, priority=4),
        Column("tensor cores", fit=Fit.DROP, priority=3),
        bar(),
    )
    count, note = limited(result.kernels, limit, "names", more)
    rows = tuple(_row(row, result.total_ns or 1) for row in result.kernels[:count])
    computed = any(row.occupancy_source == "computed" for row in result.kernels[:count])
    legend = "occupancy marked * is computed, as the profiler recorded none" if computed else ""
    page.add(Table(columns, rows, ". ".join(part for part in (note, legend) if part), "no GPU events were recorded"))
    return page.document(result.notices)


def _row(row: KernelRow, total: int) -> tuple[Cell, ...]:
    tensor = row.decoded.tensor_cores
    return (
        Cell(row.name),
        Cell(row.class_),
        Cell(f"{row.count:,}"),
        Cell(us_text(row.ns)),
        Cell(f"{100 * row.ns / total:.1f}"),
        Cell(us_text(row.mean_ns)),
        Cell("" if row.registers is None else str(row.registers)),
        Cell("" if row.block is None else "×".join(str(n) for n in row.block if n != 1) or "1"),
        Cell(_occupancy(row)),
        Cell(row.decoded.dtype or ""),
        Cell("" if tensor is None else "yes" if tensor else "no", Tone.BAD if tensor is False else Tone.PLAIN),
        Cell("", share=row.ns / total),
    )


def _occupancy(row: KernelRow) -> str:
    if row.occupancy_pct is None:
        return ""
    text = f"{row.occupancy_pct:.3g}" if row.occupancy_pct >= 1 else "< 1"
    return text + ("*" if row.occupancy_source == "computed" else "")
