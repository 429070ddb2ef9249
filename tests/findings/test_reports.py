"""Findings of several traces."""

from __future__ import annotations

from tests.support.paths import TRACES
from tracekit.analysis import analyze
from tracekit.findings import find, together


def test_evidence_has_the_line_that_launched_it() -> None:
    """Of a GPU event that of its launch; without stacks there is none."""
    analyses = [analyze(str(TRACES / f"{name}.json.gz")) for name in ("gpt_stacks", "naive")]
    result = together(analyses, [find(one) for one in analyses])
    with_stacks, without = result.lines
    assert any("generators/training.py(" in line for line in with_stacks.values())
    assert without == {}
    assert [report.trace for report in result.reports] == [one.trace.path for one in analyses]
