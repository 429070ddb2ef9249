"""Step windows: the period on the device, however far the host runs ahead."""

from __future__ import annotations

from tests.support.builder import Builder, build
from tracekit.analysis import analyze


def ahead(steps: int = 3, first_number: int = 5) -> Builder:
    """The host launches a step each 100 µs; the GPU needs 300 µs for each and lags more and more."""
    trace = build()
    for i in range(steps):
        at = 100 * i
        trace.step(first_number + i, at, 100).op("aten::mm", at + 10, 40).launch("cudaLaunchKernel", at + 20, 10)
        trace.kernel("gemm", 50 + 300 * i, 290)
    return trace


def test_step_time_is_the_period_on_the_device() -> None:
    """From the first kernel of a step to the first of the next, though the host's marks are 100 µs apart."""
    windows = analyze(ahead().trace()).windows
    assert windows.wall_ns.tolist()[:2] == [300_000, 300_000]
    assert windows.host_ns.tolist() == [100_000, 100_000, 100_000]


def test_the_last_step_ends_with_its_last_gpu_event() -> None:
    """Nothing follows that could end it."""
    windows = analyze(ahead().trace()).windows
    assert windows.wall_ns.tolist()[-1] == 290_000


def test_busy_and_idle_add_up_to_the_step_time() -> None:
    """10 of 300 µs are idle."""
    windows = analyze(ahead().trace()).windows
    assert windows.busy_ns.tolist() == [290_000, 290_000, 290_000]
    assert windows.idle_ns.tolist() == [10_000, 10_000, 0]


def test_a_step_without_gpu_work_has_host_time() -> None:
    """It launches nothing, so there is no period to see."""
    trace = ahead(2).step(7, 200, 80).trace()
    windows = analyze(trace).windows
    assert windows.on_device.tolist() == [True, True, False]
    assert windows.wall_ns.tolist()[-1] == 80_000


def test_a_missing_step_ends_the_one_before_at_its_own_end() -> None:
    """Between step 5 and step 9 something else ran: neither step is charged with it."""
    trace = build()
    for number, at in ((5, 0), (9, 5000)):
        trace.step(number, at, 100).op("aten::mm", at + 10, 40).launch("cudaLaunchKernel", at + 20, 10).kernel("gemm", at + 40, 30)
    windows = analyze(trace.trace()).windows
    assert windows.wall_ns.tolist() == [60_000, 60_000]
    assert windows.host_ns.tolist() == [100_000, 100_000]


def test_without_marks_the_trace_is_one_step() -> None:
    """From the first GPU event to the last one's end."""
    trace = (
        build()
        .op("aten::mm", 0, 50)
        .launch("cudaLaunchKernel", 10, 5)
        .kernel("a", 20, 10)
        .launch("cudaLaunchKernel", 30, 5)
        .kernel("b", 50, 10)
    )
    windows = analyze(trace.trace()).windows
    assert windows.wall_ns.tolist() == [40_000]
    assert windows.busy_ns.tolist() == [20_000]
