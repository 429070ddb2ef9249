"""Idle GPU time and what it is charged to."""

from __future__ import annotations

from tests.support.builder import Builder, build
from tracekit.analysis import analyze
from tracekit.analysis.idle import Cause


def causes(trace: Builder) -> dict[tuple[str, str], int]:
    """Return the idle ns by cause and name; they must add up to the windows' idle time."""
    analysis = analyze(trace.trace())
    idle = analysis.idle
    assert int(idle.dur_ns.sum()) == int(analysis.windows.idle_ns.sum())
    out: dict[tuple[str, str], int] = {}
    for cause, row, ns in zip(idle.cause.tolist(), idle.row.tolist(), idle.dur_ns.tolist(), strict=True):
        key = (Cause(cause).name, analysis.trace.name(row) if row >= 0 else "")
        out[key] = out.get(key, 0) + ns
    return out


def test_a_gap_is_charged_to_the_op_that_launches_late_and_the_rest_to_the_queue() -> None:
    """Idle from 30 to 100: the op's own time until its call at 80, the call until 90, and 10 µs of latency."""
    trace = build().op("aten::fast", 0, 15).launch("cudaLaunchKernel", 5, 5).kernel("a", 20, 10)
    trace.op("aten::slow", 25, 70).launch("cudaLaunchKernel", 80, 10).kernel("b", 100, 10)
    assert causes(trace) == {("OP", "aten::slow"): 50_000, ("RUNTIME", "cudaLaunchKernel"): 10_000, ("QUEUE", ""): 10_000}


def test_waiting_for_the_gpu_is_called_sync() -> None:
    """The host waits for the first kernel; the tail of the wait holds up the second."""
    trace = build().op("aten::item", 0, 60).launch("cudaLaunchKernel", 2, 3).kernel("a", 10, 20).runtime("cudaStreamSynchronize", 10, 40)
    trace.op("aten::next", 60, 20).launch("cudaLaunchKernel", 62, 8).kernel("b", 70, 10)
    found = causes(trace)
    assert found["SYNC", "cudaStreamSynchronize"] == 20_000
    assert found["OP", "aten::item"] == 10_000


def test_time_with_nothing_recorded_is_said_to_be_so() -> None:
    """Between two ops, without python frames, the trace can't tell."""
    trace = build().op("aten::a", 0, 10).launch("cudaLaunchKernel", 2, 3).kernel("a", 10, 10)
    trace.op("aten::b", 50, 10).launch("cudaLaunchKernel", 50, 5).kernel("b", 60, 10)
    assert causes(trace)["NO_HOST_EVENT", ""] == 30_000


def test_python_frames_and_annotations_name_what_happens_between_ops() -> None:
    """A frame is the best name; the user's own annotation comes before it."""
    trace = build().frame("train.py(3): step", 0, 100).op("aten::a", 0, 10).launch("cudaLaunchKernel", 2, 3).kernel("a", 10, 10)
    trace.annotation("load batch", 30, 10)
    trace.op("aten::b", 50, 10).launch("cudaLaunchKernel", 50, 5).kernel("b", 60, 10)
    found = causes(trace)
    assert found["PYTHON", "train.py(3): step"] == 20_000
    assert found["ANNOTATION", "load batch"] == 10_000


def test_work_that_was_queued_in_time_is_the_queues_own_latency() -> None:
    """Launched long before the GPU was free, yet it starts late: that isn't the host's doing."""
    trace = (
        build()
        .op("aten::a", 0, 20)
        .launch("cudaLaunchKernel", 2, 3)
        .kernel("a", 10, 100)
        .launch("cudaLaunchKernel", 6, 3)
        .kernel("b", 115, 10)
    )
    assert causes(trace) == {("QUEUE", ""): 5_000}


def test_a_gap_before_work_without_a_launch_is_unlinked() -> None:
    """Nothing can be said about the host."""
    trace = build().launch("cudaLaunchKernel", 2, 3).kernel("a", 10, 10).kernel("lost", 40, 10, correlation=None)
    assert causes(trace) == {("UNLINKED", ""): 20_000}
