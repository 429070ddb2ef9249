"""What changed between two traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from tracekit.diff.result import Diff, LedgerRow, Quantity
from tracekit.render.document import Builder, Cell, Column, Document, Fit, Heading, Table, Text, Tone, cut_start
from tracekit.render.views._parts import IDLE_WORDS, US, change, kernels_text, name_column, number
from tracekit.units import count_text, plural, us_text

_ALL = "--limit 0 shows every row"
_TINY = 0.0005  # of the step time: a row that changes less than this on both sides is noise on the page


def view(result: Diff, *, limit: int = 15) -> Document:
    """Return the document: the sentences, the step, and the three ledgers."""
    page = Builder(title=f"{result.a.label} → {result.b.label}")
    page.add(Heading(f"{result.a.label} → {result.b.label}", 1))
    page.add(*(Text(text, Tone.STRONG if i == 0 else Tone.PLAIN) for i, text in enumerate(result.summary)))
    page.table(
        f"A step: {plural(result.a.steps, 'step')} of {result.a.label}, {plural(result.b.steps, 'step')} of {result.b.label}", _step(result)
    )
    page.table("GPU time per step", _gpu(result, limit))
    page.table("GPU idle time per step, by what the launching thread was doing", _idle(result, limit))
    page.table("CPU self time per step", _cpu(result, limit))
    return page.document(result.notices)


class _HasDelta(Protocol):
    @property
    def delta_ns(self) -> float: ...


_Row = TypeVar("_Row", bound=_HasDelta)


def _shown(rows: Sequence[_Row], limit: int, scale: float) -> tuple[Sequence[_Row], int, float]:
    """Return the rows to show, how many are hidden, and their part of the difference. A row of next to no difference is hidden unless all are shown."""
    if not limit:
        return rows, 0, 0.0
    shown = ([row for row in rows if abs(row.delta_ns) >= _TINY * scale] or rows[:3])[:limit]
    return shown, len(rows) - len(shown), sum(row.delta_ns for row in rows) - sum(row.delta_ns for row in shown)


def _scale(result: Diff) -> float:
    return max(result.step.wall_ns.a, result.step.wall_ns.b, 1.0)


def _step(result: Diff) -> Table:
    columns = (
        Column("mean of"),
        number("A", US, drop=False),
        number("B", US, drop=False),
        number("B - A", US, drop=False),
        number("B / A", "×", 7),
        number("95 % band of B - A", US, 5),
        Column("more than noise", fit=Fit.DROP, priority=6),
        number("median A", US, 2),
        number("median B", US, 2),
    )
    step = result.step
    names = (
        ("step time", step.wall_ns),
        ("= GPU busy", step.gpu_busy_ns),
        ("+ GPU idle", step.gpu_idle_ns),
        ("host time", step.host_ns),
        ("GPU sum", step.gpu_ns),
    )
    return Table(
        columns, tuple(_quantity(name, one, _scale(result)) for name, one in names), f"A is {result.a.label}, B is {result.b.label}"
    )


def _quantity(name: str, one: Quantity, scale: float) -> tuple[Cell, ...]:
    band = "" if one.low is None or one.high is None else f"{us_text(one.low, signed=True)} … {us_text(one.high, signed=True)}"
    tone = change(one.delta, scale) if one.significant is not False else Tone.PLAIN
    return (
        Cell(name),
        Cell(us_text(one.a)),
        Cell(us_text(one.b)),
        Cell(us_text(one.delta, signed=True), tone),
        Cell("" if one.ratio is None else f"{one.ratio:,.3g}"),
        Cell(band),
        Cell({True: "yes", False: "no", None: "can't tell"}[one.significant]),
        Cell(us_text(one.a_median)),
        Cell(us_text(one.b_median)),
    )


def _gpu(result: Diff, limit: int) -> Table:
    scale = _scale(result)
    columns = (
        Column("where", fit=Fit.SHRINK, least=18, shorten=cut_start),
        Column("stage", fit=Fit.DROP, priority=9),
        Column("class", fit=Fit.DROP, priority=4),
        number("A", US, 8),
        number("B", US, 8),
        number("B - A", US, drop=False),
        number("events A", priority=5),
        number("events B", priority=5),
        Column("cause", fit=Fit.SHRINK, least=20),
        Column("kernels A", fit=Fit.DROP, priority=2),
        Column("kernels B", fit=Fit.DROP, priority=2),
        number("match", "%", 1),
    )
    rows, hidden, left = _shown(result.rows, limit, scale)
    table = [_ledger(row, scale) for row in rows]
    if hidden:
        table.append(_other(plural(hidden, "more row"), left, 4, len(columns) - 6))
    table.append(_total(result.step.gpu_busy_ns, "GPU busy", 2, len(columns) - 6))
    return Table(columns, tuple(table), _ALL if hidden else "")


def _ledger(row: LedgerRow, scale: float) -> tuple[Cell, ...]:
    return (
        Cell(row.region),
        Cell(row.stage or ""),
        Cell("" if row.match == "overlap" else row.class_),
        Cell(us_text(row.a_ns) if row.a_ns else ""),
        Cell(us_text(row.b_ns) if row.b_ns else ""),
        Cell(us_text(row.delta_ns, signed=True), change(row.delta_ns, scale)),
        Cell(count_text(round(row.a_count, 2)) if row.a_count else ""),
        Cell(count_text(round(row.b_count, 2)) if row.b_count else ""),
        Cell(row.cause or {"only_a": "only in A", "only_b": "only in B"}.get(row.match, "")),
        Cell(kernels_text(row.a_kernels, 1)),
        Cell(kernels_text(row.b_kernels, 1)),
        Cell("" if row.match != "matched" else f"{100 * row.confidence:.0f}"),
    )


def _other(text: str, delta: float, before: int, after: int) -> tuple[Cell, ...]:
    """Return the row of what isn't shown, with so many empty fields before and after its difference."""
    return (Cell(text, Tone.MUTED), *_blank(before), Cell(us_text(delta, signed=True), Tone.MUTED), *_blank(after))


def _blank(count: int) -> tuple[Cell, ...]:
    return tuple(Cell("") for _ in range(count))


def _total(one: Quantity, name: str, before: int, after: int) -> tuple[Cell, ...]:
    """Return the row of the sum, with so many empty fields between its name and its first number, and after its last."""
    numbers = (us_text(one.a), us_text(one.b), us_text(one.delta, signed=True))
    return (Cell(name, Tone.STRONG), *_blank(before), *(Cell(text, Tone.STRONG) for text in numbers), *_blank(after))


def _idle(result: Diff, limit: int) -> Table:
    scale = _scale(result)
    columns = (
        Column("while", fit=Fit.SHRINK, least=16),
        name_column("named", least=16),
        number("A", US, 8),
        number("B", US, 8),
        number("B - A", US, drop=False),
    )
    rows, hidden, left = _shown(result.idle_rows, limit, scale)
    table: list[tuple[Cell, ...]] = [
        (
            Cell(IDLE_WORDS.get(row.kind, row.kind)),
            Cell(row.name),
            Cell(us_text(row.a_ns) if row.a_ns else ""),
            Cell(us_text(row.b_ns) if row.b_ns else ""),
            Cell(us_text(row.delta_ns, signed=True), change(row.delta_ns, scale)),
        )
        for row in rows
    ]
    if hidden:
        table.append(_other(plural(hidden, "more cause"), left, 3, 0))
    table.append(_total(result.step.gpu_idle_ns, "GPU idle", 1, 0))
    return Table(columns, tuple(table), _ALL if hidden else "")


def _cpu(result: Diff, limit: int) -> Table:
    scale = _scale(result)
    columns = (
        name_column("op or call", least=24),
        Column("kind", fit=Fit.DROP, priority=2),
        number("A", US, 8),
        number("B", US, 8),
        number("B - A", US, drop=False),
        number("calls A", priority=5),
        number("calls B", priority=5),
        number("opaque A", US, 3),
        number("opaque B", US, 3),
    )
    rows, hidden, left = _shown(result.cpu_rows, limit, scale)
    table: list[tuple[Cell, ...]] = [
        (
            Cell(row.name),
            Cell(row.kind),
            Cell(us_text(row.a_ns) if row.a_ns else ""),
            Cell(us_text(row.b_ns) if row.b_ns else ""),
            Cell(us_text(row.delta_ns, signed=True), change(row.delta_ns, scale)),
            Cell(count_text(round(row.a_count, 2)) if row.a_count else ""),
            Cell(count_text(round(row.b_count, 2)) if row.b_count else ""),
            Cell(us_text(row.a_opaque_ns) if row.a_opaque_ns else ""),
            Cell(us_text(row.b_opaque_ns) if row.b_opaque_ns else ""),
        )
        for row in rows
    ]
    if hidden:
        table.append(_other(plural(hidden, "more row"), left, 3, len(columns) - 5))
    return Table(columns, tuple(table), _ALL if hidden else "", "no op and no call was recorded")
