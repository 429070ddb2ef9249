"""The table of what a query found."""

from __future__ import annotations

from tests.render.support import written
from tracekit.query import Query
from tracekit.render.views.query import view

FOUND = Query(("name", "n", "share"), ("VARCHAR", "BIGINT", "DOUBLE"), (("a\x1b[31m", 1234567, 0.25), ("b", None, 1e-9)))


def test_numbers_stand_right_and_nothing_is_blank() -> None:
    """With separators, and no escape of the trace's."""
    text = written(view(FOUND), "table", 80)
    assert "1,234,567" in text
    assert "1e-09" in text
    assert "\x1b" not in text


def test_rows_left_out_are_counted() -> None:
    """A limit of 0 shows all."""
    assert "1 more rows" in written(view(FOUND, limit=1), "table", 80)
    assert "more" not in written(view(FOUND, limit=0), "table", 80)


def test_nothing_found_is_said() -> None:
    """An empty table alone would look like a fault."""
    assert "no rows" in written(view(Query(("a",), ("BIGINT",), ())), "table", 80)
