"""Timelines of characters."""

from __future__ import annotations

from tracekit.render.document import Bar, Strip
from tracekit.render.strip import IDLE, drawn, legend, packed


def strip(*bars: tuple[str, int, int]) -> Strip:
    return Strip((("stream 7", tuple(Bar(kind, start, length, kind) for kind, start, length in bars)),), 0, 100)


def line(one: Strip, space: int = 10) -> str:
    ((_, cells),) = drawn(one, space)
    return cells


def test_a_cell_is_what_fills_most_of_it() -> None:
    """The kind with the most cells has the darkest character."""
    assert line(strip(("gemm", 0, 66), ("softmax", 66, 34))) == "███████▓▓▓"


def test_thin_work_shows() -> None:
    """A GPU that works for a fifth of the step isn't a blank line."""
    one = strip(*((f"k{i}", 10 * i, 2) for i in range(10)))
    assert line(one) == "▁" * 10
    assert legend(one, 10) == ["▁ less than half busy"]


def test_idle_time_of_less_than_half_a_cell_does_not() -> None:
    """It would fill the lane with what is no gap."""
    assert line(strip((IDLE, 0, 3), (IDLE, 50, 30))) == "     ···  "


def test_the_legend_names_what_is_drawn_only() -> None:
    """Ten kinds that nobody sees explain nothing."""
    assert legend(strip(("gemm", 0, 90), ("rare", 95, 1)), 10) == ["█ gemm", "▁ less than half busy"]


def test_kinds_beyond_the_characters_share_one() -> None:
    """And are all named."""
    one = strip(*((f"k{i}", 10 * i, 10) for i in range(10)))
    assert legend(one, 10)[-1] == "# k8, k9"


def test_bars_outside_the_span_are_cut() -> None:
    """Whatever their times."""
    assert line(strip(("k", -50, 100), ("k", 90, 500))) == "█████    █"


def test_entries_of_a_legend_are_not_broken() -> None:
    """A character and its name stay on one line."""
    assert packed(["█ gemm", "▓ elementwise.mask", "▒ softmax"], 30) == ["█ gemm   ▓ elementwise.mask", "▒ softmax"]
    assert all(len(part) <= 30 for part in packed(["x" * 100], 30))
