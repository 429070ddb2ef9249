"""A trace in one page."""

from __future__ import annotations

from tests.support.builder import Builder, build
from tracekit.analysis import analyze
from tracekit.analysis.summary import Summary


def page(trace: Builder) -> Summary:
    """Return the summary; what it says of the GPU's events must add up."""
    summary = analyze(trace.trace()).summary
    gpu = summary.gpu
    assert gpu.linked + gpu.unlinked == gpu.events == gpu.kernels + gpu.memcpys + gpu.memsets
    assert gpu.linked_ns + gpu.unlinked_ns == gpu.sum_ns == sum(row.ns for row in summary.classes)
    assert sum(gpu.unlinked_reasons.values()) == gpu.unlinked
    assert all(step.gpu_busy_ns + step.gpu_idle_ns == step.wall_ns for step in summary.steps)
    assert sum(row.ns for row in summary.idle) == sum(step.gpu_idle_ns for step in summary.steps)
    return summary


def two_steps() -> Builder:
    trace = build(record_shapes=1).device("NVIDIA H100")
    for i in range(2):
        at = 100 * i
        trace.step(i, at, 100).op("aten::copy_", at + 5, 10).launch("cudaMemcpyAsync", at + 6, 4).memcpy(
            "Memcpy DtoD (Device -> Device)", at + 12, 8
        )
        trace.op("aten::mm", at + 20, 20).launch("cudaLaunchKernel", at + 25, 5).kernel("ampere_sgemm_128x64_nn", at + 40, 50)
    return trace


def test_steps_count_what_was_launched_in_them() -> None:
    """One kernel and one copy each."""
    summary = page(two_steps())
    assert [(step.name, step.kernels, step.memcpys, step.memsets, step.gpu_ns) for step in summary.steps] == [
        ("ProfilerStep#0", 1, 1, 0, 58_000),
        ("ProfilerStep#1", 1, 1, 0, 58_000),
    ]


def test_classes_sum_the_gpu_time() -> None:
    """By kernel class, most time first."""
    assert [(row.class_, row.count, row.ns) for row in page(two_steps()).classes] == [("gemm.fp32", 2, 100_000), ("memcpy.DtoD", 2, 16_000)]


def test_busy_time_is_a_union_and_sum_is_a_sum() -> None:
    """Two kernels on two streams at once."""
    trace = build().launch("cudaLaunchKernel", 0, 5).kernel("a", 20, 40).stream(8).launch("cudaLaunchKernel", 6, 5).kernel("b", 30, 40)
    gpu = page(trace).gpu
    assert gpu.busy_ns_by_device == {"0": 50_000}
    assert gpu.sum_ns == 80_000


def test_work_launched_before_the_recording_is_in_no_step() -> None:
    """Named, counted, charged to nobody."""
    trace = two_steps().kernel("from_warm_up", 2, 5, correlation=0)
    summary = page(trace)
    assert summary.gpu.unlinked == 1
    assert summary.gpu.unlinked_ns == 5_000
    assert sum(step.gpu_events for step in summary.steps) == 4
    assert any("1 GPU event of 5 (5.00 µs)" in notice for notice in summary.notices)


def test_the_vendor_comes_from_the_calls_and_a_device_that_is_not_listed_stays_unknown() -> None:
    """In a container the list holds device 0 without a name, and the kernels run on device 9."""
    trace = build().device("", id=0).stream(0, device=9).launch("hipLaunchKernel", 0, 5).kernel("k", 20, 4)
    (device,) = page(trace).trace.devices
    assert (device.id, device.name, device.vendor, device.listed) == (9, "", "AMD", False)


def test_an_empty_trace_says_so() -> None:
    """No event, no step that is worth a number."""
    summary = page(build())
    assert summary.gpu.events == 0
    assert any("empty" in notice for notice in summary.notices)
    assert summary.verdict.bound.value == "unknown"
