"""What a report's findings rest on."""

from __future__ import annotations

import pytest

from tests.support.paths import TRACES, shared_traces
from tracekit.analysis import analyze
from tracekit.findings import details, find


@pytest.mark.parametrize("path", [*sorted(TRACES.glob("*.json.gz")), *shared_traces()[:12]], ids=lambda path: path.name.split(".")[0])
def test_a_finding_with_evidence_has_a_picture_that_shows_it(path: object) -> None:
    """The evidence is in it, within its bounds."""
    analysis = analyze(str(path))
    findings = find(analysis)
    behind = details(analysis, findings)
    assert len(behind.pictures) == len(findings.findings)
    for one, picture in zip(findings.findings, behind.pictures, strict=True):
        assert (picture is None) == (not one.evidence)
        if picture is None:
            continue
        label, bars = picture.lanes[0]
        assert label == "evidence"
        assert bars
        for _, lane in picture.lanes:
            assert all(bar.start_ns >= 0 and bar.start_ns + bar.length_ns <= picture.length_ns for bar in lane)
