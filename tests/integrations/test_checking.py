"""A trace held against what was expected, as an assertion."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracekit
from tests.support.builder import build
from tests.support.paths import TRACES
from tracekit.errors import InputError
from tracekit.integrations.checking import record_of

NAIVE = TRACES / "naive.json.gz"
RIGHT = "[step]\nkernels = 5\nmemcpys = 1\n"
WRONG = "[step]\nkernels = 1\nmemcpys = 0\n"


def test_a_trace_as_expected_passes() -> None:
    """By path, analysis or recording; expectations as text or as a file."""
    for trace in (NAIVE, str(NAIVE), tracekit.analyze(str(NAIVE)), record_of(NAIVE)):
        tracekit.assert_trace(trace, RIGHT)


def test_expectations_may_be_a_file(tmp_path: Path) -> None:
    """Text is told from a path by its ``=``."""
    path = tmp_path / "expect.toml"
    path.write_text(WRONG)
    with pytest.raises(AssertionError, match=r"in 2 points"):
        tracekit.assert_trace(NAIVE, path)
    with pytest.raises(AssertionError, match=r"kernels"):
        tracekit.assert_trace(NAIVE, str(path))


def test_every_miss_has_a_line() -> None:
    """With what was expected and what was seen."""
    with pytest.raises(AssertionError) as caught:
        tracekit.assert_trace(NAIVE, WRONG)
    head, *lines = str(caught.value).split("\n")
    assert head.endswith("naive.json.gz isn't as expected, in 2 points:")
    assert len(lines) == 2
    assert any("kernels: expected" in line and "5" in line for line in lines)


def test_a_bad_expectation_is_an_input_error(tmp_path: Path) -> None:
    """Neither an assertion nor a traceback from inside."""
    with pytest.raises(InputError):
        tracekit.assert_trace(NAIVE, "kernels = = 1")
    with pytest.raises(InputError):
        tracekit.assert_trace(NAIVE, tmp_path / "missing.toml")


def test_a_name_with_an_escape_is_told_escaped(tmp_path: Path) -> None:
    """Untrusted names end in a terminal."""
    path = build().step(0, 0, 100).launch("cudaLaunchKernel", 10, 5).kernel("\x1b[31mevil", 20, 5).write(tmp_path / "evil\x1b[2J.json")
    with pytest.raises(AssertionError) as caught:
        tracekit.assert_trace(path, "[step]\nkernels = 9\n")
    assert "\x1b" not in str(caught.value)


def test_a_recording_without_expectations_misses_nothing() -> None:
    """There was nothing to miss."""
    recorded = record_of(NAIVE)
    assert recorded.check is None
    assert recorded.missed == ()
    assert recorded.findings.findings
