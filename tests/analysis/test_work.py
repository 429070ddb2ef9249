"""The GPU's work and the durations that can be believed."""

from __future__ import annotations

from tests.support.builder import build
from tracekit.analysis import analyze


def test_a_record_that_covers_later_work_of_its_stream_is_cut_at_the_next_event() -> None:
    """A stream runs in order: 300 ms over two later kernels of other launches can't be true."""
    trace = build().op("aten::mm", 0, 50)
    trace.launch("hipLaunchKernel", 1, 5).kernel("late_stamp", 100, 300_000)
    trace.launch("hipLaunchKernel", 10, 5).kernel("b", 140, 50).launch("hipLaunchKernel", 20, 5).kernel("c", 191, 50)
    work = analyze(trace.trace()).work
    assert work.dur_ns.tolist() == [40_000, 50_000, 50_000]
    assert work.suspect.tolist() == [True, False, False]


def test_one_overlapping_kernel_is_believed() -> None:
    """Programmatic dependent launch lets the next kernel start early, even end within."""
    trace = (
        build().launch("cudaLaunchKernelExC", 0, 5).kernel("primary", 20, 40).launch("cudaLaunchKernelExC", 6, 5).kernel("secondary", 50, 5)
    )
    work = analyze(trace.trace()).work
    assert not work.suspect.any()
    assert work.dur_ns.tolist() == [40_000, 5_000]


def test_kernels_of_one_graph_may_run_side_by_side() -> None:
    """They share a launch, and the recorded stream is the launch's."""
    trace = build().launch("cudaGraphLaunch", 0, 5).kernel("wide", 20, 100).kernel("b", 30, 10).kernel("c", 45, 10)
    assert not analyze(trace.trace()).work.suspect.any()


def test_copy_kernels_of_amd_count_as_copies() -> None:
    """ROCm records its copies as kernels."""
    work = analyze(build().launch("hipMemcpyAsync", 0, 5).kernel("__amd_rocclr_copyBuffer", 20, 4).trace()).work
    assert work.kind.tolist() == [1]
    assert work.classes[work.class_id[0]].startswith("memcpy")


def test_the_main_device_is_the_one_with_most_gpu_time() -> None:
    """Steps are timed there."""
    trace = (
        build()
        .launch("cudaLaunchKernel", 0, 5)
        .kernel("small", 20, 4)
        .stream(7, device=1)
        .launch("cudaLaunchKernel", 10, 5)
        .kernel("large", 20, 40)
    )
    assert analyze(trace.trace()).work.main_device == 1
