"""Markdown."""

from __future__ import annotations

import pytest

from tests.render.support import written
from tracekit.render.document import Bar, Cell, Column, Document, Facts, Heading, Notice, Strip, Table, Text, Tone

HOSTILE = "a|b\n# c <script>x</script> `d` [e](f) *g* \x1b[31m"


def test_a_hostile_text_is_text_everywhere() -> None:
    """No tag, no row, no link, no emphasis, no escape."""
    table = Table((Column(HOSTILE, unit=HOSTILE),), ((Cell(HOSTILE),),), HOSTILE)
    strip = Strip(((HOSTILE, (Bar(HOSTILE, 0, 90, HOSTILE),)),), 0, 100, HOSTILE, HOSTILE)
    page = Document((
        Heading(HOSTILE),
        Text(HOSTILE),
        Text(HOSTILE, Tone.STRONG),
        Facts(((HOSTILE, HOSTILE),)),
        table,
        Notice(HOSTILE),
        strip,
    ))
    text = written(page, "md")
    outside, inside = text.split("```text")
    assert "<script>" not in outside
    assert "\x1b" not in text
    assert "[e](f)" not in outside
    assert inside.count("```") == 1
    rows = [line for line in outside.splitlines() if line.startswith("|")]
    assert len(rows) == 3
    assert all(line.replace("\\|", "").count("|") == 2 for line in rows)


@pytest.mark.parametrize("text", ["- a", "+ a", "> a", "1. a", "1) a"])
def test_a_paragraph_starts_no_list_and_no_quote(text: str) -> None:
    """Its first characters are text."""
    assert written(Document((Text(text),)), "md").startswith(("\\", "1\\", "&gt;"))


def test_a_bar_of_next_to_nothing_is_thin() -> None:
    """Not a tenth of the whole."""
    page = Document((Table((Column("", bar=True),), ((Cell("", share=0.001),), (Cell("", share=0.5),), (Cell("", share=0.0),))),))
    assert written(page, "md").splitlines()[2:] == ["| ▏ |", "| █████ |", "|  |"]


def test_levels_of_a_tree_are_set_off() -> None:
    """Blanks alone would be lost."""
    assert "&emsp;&emsp;child" in written(Document((Table((Column("op"),), ((Cell("child", indent=2),),)),)), "md")
