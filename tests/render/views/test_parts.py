"""What views share."""

from __future__ import annotations

from tracekit.render.document import Tone
from tracekit.render.views._parts import change, kernels_text, limited


def test_what_is_left_out_is_counted() -> None:
    """With how to see it; 0 is no limit."""
    assert limited(range(1500), 30, "ops") == (30, "1,470 more ops; --limit 0 shows all")
    assert limited(range(30), 30, "ops") == (30, "")
    assert limited(range(1500), 0, "ops") == (1500, "")


def test_more_time_is_bad_and_next_to_nothing_is_neither() -> None:
    """A colour for noise would mislead."""
    assert [change(delta, 10_000.0) for delta in (500.0, -500.0, 5.0)] == [Tone.BAD, Tone.GOOD, Tone.PLAIN]


def test_kernels_are_named_once_and_the_rest_is_counted() -> None:
    """In a field there is room for two."""
    assert kernels_text(["a", "a", "b", "c", "d"]) == "a, b + 2"
    assert kernels_text([]) == ""
    assert len(kernels_text(["x" * 2_000_000])) == 100
