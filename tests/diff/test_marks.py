"""Where in time a difference stands."""

from __future__ import annotations

import pytest

from tests.support.paths import TRACES
from tracekit.analysis import analyze
from tracekit.diff.marks import difference_marks
from tracekit.diff.sides import SideData, side


def of(name: str) -> SideData:
    """Return one side."""
    return side(analyze(str(TRACES / f"{name}.json.gz")), name)


def test_the_copy_that_goes_is_marked_where_it_was() -> None:
    """On the side that has it, with its cost."""
    a, b = of("naive"), of("naive_inplace")
    before, after = difference_marks(a, b)
    (copy,) = [mark for mark in before if mark.args["class"] == "memcpy.DtoD"]
    assert copy.args["match"] == "only here"
    assert copy.args["delta_us_per_step"] == pytest.approx(-504, abs=5)
    assert copy.end_ns - copy.start_ns == pytest.approx(504_000, rel=0.02)
    assert not [mark for mark in after if mark.args["class"] == "memcpy.DtoD"]


def test_marks_lie_in_the_first_step_compared() -> None:
    """And say why, where a rule knows."""
    a, b = of("naive"), of("sdpa_math")
    for data, marks in zip((a, b), difference_marks(a, b), strict=True):
        low, high = int(data.analysis.windows.start_ns[data.steps[0]]), int(data.analysis.windows.end_ns[data.steps[0]])
        assert marks
        assert all(low <= mark.start_ns < mark.end_ns <= high for mark in marks)
    assert any("fp32 without tensor cores" in mark.name for mark in difference_marks(a, b)[1])


def test_the_same_trace_has_none() -> None:
    """Nothing changed."""
    assert difference_marks(of("gpt"), of("gpt")) == ([], [])
