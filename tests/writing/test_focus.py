"""Where a viewer looks first."""

from __future__ import annotations

from pathlib import Path

from tests.support.paths import TRACES
from tracekit.analysis import analyze
from tracekit.findings import find
from tracekit.writing.focus import Focus, focus_of, mark_ns, worst


def test_it_is_the_worst_finding_within_its_step() -> None:
    """Its mark is the one slice that begins and lasts so."""
    analysis = analyze(str(TRACES / "naive.json.gz"))
    findings = find(analysis)
    evidence, focus = worst(findings), focus_of(analysis, findings)
    assert evidence is not None
    assert focus is not None
    assert (focus.ts_ns, focus.dur_ns) == (evidence.ts_ns, mark_ns(evidence))
    assert focus.start_ns < evidence.ts_ns
    assert evidence.ts_ns + evidence.dur_ns < focus.end_ns
    first, last = analysis.trace.span_ns
    assert first <= focus.start_ns < focus.end_ns <= last
    slices = analysis.trace.slices
    assert not ((slices.ts_ns == focus.ts_ns) & (slices.dur_ns == focus.dur_ns)).any()


def test_a_short_finding_in_a_long_step_is_still_seen() -> None:
    """The window isn't the step then, but so many times as long as the finding."""
    analysis = analyze(str(TRACES / "sdpa_cudnn_new_shapes.json.gz"))
    findings = find(analysis)
    evidence, focus = worst(findings), focus_of(analysis, findings)
    assert evidence is not None
    assert focus is not None
    assert focus.end_ns - focus.start_ns <= max(61 * evidence.dur_ns, 200_000) * 1.1


def test_a_healthy_trace_is_shown_as_a_whole() -> None:
    """There is nothing to select."""
    analysis = analyze(str(TRACES / "sdpa_flash.json.gz"))
    findings = find(analysis)
    assert worst(findings) is None
    assert focus_of(analysis, findings) == Focus(*analysis.trace.span_ns)


def test_an_empty_trace_has_no_place_to_look_at(tmp_path: Path) -> None:
    """Where no event is, none is chosen."""
    trace = tmp_path / "empty.json"
    trace.write_text('{"traceEvents":[]}')
    analysis = analyze(str(trace))
    assert focus_of(analysis, find(analysis)) is None
