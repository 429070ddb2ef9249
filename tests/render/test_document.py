"""Documents."""

from __future__ import annotations

import pytest

from tracekit.render.document import Builder, Cell, Column, Heading, Table, cut_end, cut_start


def test_a_row_has_a_cell_a_column() -> None:
    """Else a number stands under the wrong title."""
    with pytest.raises(ValueError, match="a row of 1 cells in a table of 2 columns"):
        Table((Column("a"), Column("b")), ((Cell("1"),),))


def test_notices_come_last_and_can_be_taken_out() -> None:
    """A format for programs says them apart."""
    page = Builder()
    page.add(Heading("h"))
    document = page.document(["first", "second"])
    assert document.notices == ("first", "second")
    assert document.without_notices().blocks == (Heading("h"),)


def test_cutting_keeps_to_the_width() -> None:
    """At the end for names, at the start for paths."""
    assert cut_end(["abcdef", "abc"], 4) == {"abcdef": "abc…", "abc": "abc"}
    assert cut_start(["abcdef", "abc"], 4) == {"abcdef": "…def", "abc": "abc"}
