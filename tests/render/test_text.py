"""The one escape."""

from __future__ import annotations

from tracekit.render.text import LONGEST, shown


def test_control_characters_are_escaped() -> None:
    """Of terminals, of lines, of direction."""
    assert shown("a\x1b[31m\nb\u202ec") == "a\\x1b[31m\\nb\\u202ec"


def test_a_huge_name_loses_its_middle_and_says_how_much() -> None:
    """Two megabytes help nobody."""
    text = shown("x" * 2_000_000)
    assert len(text) < LONGEST + 100
    assert f"{2_000_000 - LONGEST:,} characters" in text
