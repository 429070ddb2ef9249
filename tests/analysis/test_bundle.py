"""The lazy bundle."""

from __future__ import annotations

import pytest

import tracekit
from tests.support.builder import build
from tests.support.paths import needs_shared, shared_traces
from tracekit.analysis import analyze
from tracekit.errors import OptionError


def test_the_same_question_gets_the_same_object() -> None:
    """Each answer is reckoned once."""
    analysis = analyze(build().op("aten::mm", 0, 50).launch("cudaLaunchKernel", 10, 5).kernel("k", 20, 10).trace())
    assert analysis.links is analysis.links
    assert analysis.summary is analysis.summary


def test_steps_can_be_the_users_own_marks() -> None:
    """By the annotation's name."""
    trace = build()
    for i in range(3):
        trace.annotation("iteration", 100 * i, 90).op("aten::mm", 100 * i, 50).launch("cudaLaunchKernel", 100 * i + 10, 5).kernel(
            "k", 100 * i + 20, 10
        )
    analysis = analyze(trace.trace(), step_name="iteration")
    assert len(analysis.links.steps) == 3
    assert [step.kernels for step in analysis.summary.steps] == [1, 1, 1]


def test_a_mark_that_is_not_there_is_refused() -> None:
    """Rather than taking the whole trace."""
    analysis = analyze(build().op("aten::mm", 0, 50).trace(), step_name="no such mark")
    with pytest.raises(OptionError, match="no such mark"):
        _ = analysis.links


@needs_shared
@pytest.mark.parametrize("path", shared_traces() or [None], ids=lambda path: path.name if path else "none")
def test_every_public_trace_adds_up(path: object) -> None:
    """Read, linked, timed: nothing is lost, busy and idle make the step, idle stretches make the idle time."""
    trace = tracekit.load(path)  # type: ignore[arg-type]
    trace.check()
    analysis = analyze(trace)
    analysis.links.check(trace)
    summary = analysis.summary
    gpu = summary.gpu
    assert gpu.linked + gpu.unlinked == gpu.events
    assert sum(row.ns for row in summary.classes) == gpu.sum_ns
    assert all(busy <= gpu.sum_ns for busy in gpu.busy_ns_by_device.values())
    assert sum(row.ns for row in summary.idle) == sum(step.gpu_idle_ns for step in summary.steps)
