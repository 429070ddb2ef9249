"""Text for a terminal."""

from __future__ import annotations

import re

from tests.render.support import written
from tracekit.render.document import Cell, Column, Document, Facts, Fit, Heading, Notice, Table, Text, Tone

PAGE = Document(
    (
        Heading("title " * 20, 1),
        Text("a sentence " * 20, Tone.BAD),
        Facts((("device", "GPU " * 30), ("file", "x"))),
        Table((Column("name", fit=Fit.SHRINK), Column("time", "µs", right=True)), ((Cell("n" * 90), Cell("1.5", Tone.BAD)),), "note " * 30),
        Notice("mind " * 30),
    ),
)


def test_no_line_is_longer_than_the_page() -> None:
    """At any width from 40."""
    for width in (40, 60, 80, 200):
        assert max(map(len, written(PAGE, "table", width).splitlines())) <= width


def test_no_line_ends_in_blanks() -> None:
    """They would show in a diff."""
    assert not re.search(r" +$", written(PAGE, "table"), re.MULTILINE)


def test_colour_changes_no_character() -> None:
    """No meaning hangs on it."""
    coloured = written(PAGE, "table", colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == written(PAGE, "table")


def test_a_unit_stands_once_under_its_title() -> None:
    """Not behind every number."""
    assert written(PAGE, "table").count("µs") == 1


def test_an_empty_table_says_so() -> None:
    """No header over nothing."""
    assert written(Document((Table((Column("a"),), (), empty="no ops were recorded"),)), "table") == "no ops were recorded\n"
