"""What a query found."""

from __future__ import annotations

from tracekit.query import Query
from tracekit.render.document import Builder, Cell, Column, Document, Fit, Table
from tracekit.render.views._parts import limited

_NUMBERS = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
    "DOUBLE",
    "FLOAT",
)


def view(result: Query, *, limit: int = 100) -> Document:
    """Return the document: one table."""
    page = Builder(title="query")
    right = [kind.startswith((*_NUMBERS, "DECIMAL")) for kind in result.types]
    columns = tuple(
        Column(name, right=is_number, fit=Fit.FIXED if is_number else Fit.SHRINK, least=8)
        for name, is_number in zip(result.columns, right, strict=True)
    )
    count, note = limited(result.rows, limit, "rows")
    rows = tuple(tuple(Cell(_text(value)) for value in row) for row in result.rows[:count])
    page.add(Table(columns, rows, note, "no rows"))
    return page.document(())


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
