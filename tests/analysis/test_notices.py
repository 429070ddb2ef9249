"""What a user should know before believing a number."""

from __future__ import annotations

from pathlib import Path

import tracekit
from tests.support.builder import build
from tracekit.analysis import analyze
from tracekit.analysis.notices import notices


def test_a_truncated_file_is_never_taken_for_a_whole_one(tmp_path: Path) -> None:
    """The first notice says so."""
    text = build().op("aten::a", 0, 5).op("aten::b", 10, 5).text()
    path = tmp_path / "cut.json"
    path.write_text(text[: text.rindex("aten::b")], encoding="utf-8")
    assert "truncated" in notices(analyze(tracekit.load(path)))[0]


def test_a_duration_that_cannot_be_true_is_named() -> None:
    """With what is credible of it."""
    trace = build().launch("hipLaunchKernel", 0, 5).kernel("late", 100, 300_000)
    trace.launch("hipLaunchKernel", 10, 5).kernel("b", 140, 50).launch("hipLaunchKernel", 20, 5).kernel("c", 191, 50)
    assert any("late" in text and "40.0 µs of the recorded 300 ms" in text for text in notices(analyze(trace.trace())))


def test_a_healthy_trace_has_no_notices() -> None:
    """Silence is worth something."""
    trace = build().step(1, 0, 100).op("aten::mm", 0, 50).launch("cudaLaunchKernel", 10, 5).kernel("k", 20, 10)
    assert notices(analyze(trace.trace())) == ()
