"""The front doors, as a user calls them; mypy reads this file too."""

from __future__ import annotations

import pytest

import tracekit
from tests.support.paths import TRACES


def test_the_doors_open() -> None:
    """load, analyze, find, compare: from a path to an answer."""
    trace: tracekit.Trace = tracekit.load(TRACES / "naive.json.gz")
    analysis = tracekit.analyze(trace)
    assert analysis.summary.gpu.events == 68
    assert tracekit.find(analysis).trace.endswith("naive.json.gz")
    diff = tracekit.compare(str(TRACES / "naive.json.gz"), str(TRACES / "sdpa_math.json.gz"))
    assert diff.step.wall_ns.delta > 5e6


def test_errors_have_one_base() -> None:
    """A caller needs to catch one class."""
    with pytest.raises(tracekit.TracekitError):
        tracekit.load("there is no such file")


def test_what_is_no_door_is_an_attribute_error() -> None:
    """As in any module."""
    with pytest.raises(AttributeError, match="no attribute 'diffs'"):
        _ = tracekit.diffs
    assert {"load", "analyze", "find", "compare", "__version__"} <= set(dir(tracekit))


def test_a_trace_gives_a_frame_on_demand() -> None:
    """A copy, with names instead of numbers."""
    from tracekit.trace import to_pandas

    frame = to_pandas(tracekit.load(TRACES / "naive.json.gz"))
    assert (frame["category"] == "kernel").sum() == 43
