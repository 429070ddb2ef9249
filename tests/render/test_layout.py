"""Fitting tables to a width."""

from __future__ import annotations

import pytest

from tracekit.render.document import Cell, Column, Fit, Table
from tracekit.render.layout import bar_text, fit, text_width


def table(columns: tuple[Column, ...], *rows: tuple[str, ...]) -> Table:
    return Table(columns, tuple(tuple(Cell(text) for text in row) for row in rows))


def column_of(fitted_table: Table, width: int, column: int) -> list[str]:
    return [row[column][0] for row in fit(fitted_table, width).rows]


def test_a_column_that_may_leave_does_so_by_priority() -> None:
    """The lowest first, and it is named."""
    columns = (Column("name"), Column("first", fit=Fit.DROP, priority=1), Column("second", fit=Fit.DROP, priority=2))
    fitted = fit(table(columns, ("n" * 10, "a" * 10, "b" * 10)), 25)
    assert [column.title for column in fitted.columns] == ["name", "second"]
    assert fitted.left_out == ("first",)


def test_columns_of_one_priority_leave_together() -> None:
    """The A of a pair says nothing without its B."""
    columns = (Column("name"), Column("A", fit=Fit.DROP, priority=1), Column("B", fit=Fit.DROP, priority=1))
    assert fit(table(columns, ("n" * 10, "a" * 10, "b" * 10)), 25).left_out == ("A", "B")


def test_names_that_shrink_give_way_before_anything_fixed() -> None:
    """Numbers are never cut."""
    columns = (Column("name", fit=Fit.SHRINK, least=5), Column("n", right=True))
    fitted = fit(table(columns, ("a" * 40, "123,456.7")), 20)
    assert fitted.rows[0][0][0] == "a" * 8 + "…"
    assert fitted.rows[0][1][0] == "123,456.7"
    assert fitted.width == 20


def test_numbers_wider_than_the_page_stay_whole() -> None:
    """A longer line rather than a wrong number."""
    assert column_of(table((Column("n", right=True),), ("1" * 50,)), 40, 0) == ["1" * 50]


def test_points_stand_below_points() -> None:
    """So that a column of figures can be read by eye."""
    rows = [("4,528.0",), ("12.93",), ("",), ("7",)]
    assert column_of(table((Column("n", right=True),), *rows), 40, 0) == ["4,528.0 ", "12.93", "", "7   "]


def test_a_mark_after_a_number_keeps_its_place() -> None:
    """An occupancy that is computed has an asterisk."""
    assert column_of(table((Column("n", right=True),), ("18.2*",), ("26.2",), ("6",)), 40, 0) == ["18.2*", "26.2 ", "6   "]


def test_texts_among_numbers_are_left_as_they_are() -> None:
    """A range has two points."""
    assert column_of(table((Column("n", right=True),), ("1.5 … 2.25",), ("3.125",)), 40, 0) == ["1.5 … 2.25", "3.125"]


def test_ragged_points_rather_than_a_column_less() -> None:
    """Alignment costs a character, a column costs an answer."""
    columns = (Column("a", right=True), Column("b", right=True, fit=Fit.DROP))
    one = table(columns, ("4,528.0", "1"), ("12.93", "2"))
    assert len(fit(one, 10).columns) == 2
    assert [row[0][0] for row in fit(one, 10).rows] == ["4,528.0", "12.93"]


def test_a_title_stands_on_one_line_where_there_is_room() -> None:
    """Else it is wrapped between words."""
    one = table((Column("kernels a call"),), ("5",))
    assert fit(one, 40).titles == (("kernels a call",),)
    assert fit(one, 10).titles == (("kernels", "a call"),)


def test_wide_characters_count_for_two() -> None:
    """As a terminal shows them."""
    assert text_width("注意力") == 6
    fitted = fit(table((Column("name", fit=Fit.SHRINK, least=8),), ("注意力" * 20,)), 20)
    assert text_width(fitted.rows[0][0][0]) <= 20


def test_control_characters_are_escaped_before_they_are_measured() -> None:
    """An escape takes the place of four characters."""
    assert column_of(table((Column("name"),), ("\x1b[31m",)), 40, 0) == ["\\x1b[31m"]


@pytest.mark.parametrize(("share", "text"), [(0.0, ""), (0.5, "█████"), (1.0, "█" * 10), (7.0, "█" * 10), (0.0001, "▏"), (0.0625, "▋")])
def test_a_bar_is_its_share_in_eighths(share: float, text: str) -> None:
    """Anything above nothing shows, and nothing is longer than all."""
    assert bar_text(share, 10) == text
