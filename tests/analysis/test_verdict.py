"""What the steps wait for."""

from __future__ import annotations

from tests.support.builder import Builder, build
from tracekit.analysis import analyze
from tracekit.analysis.verdict import Verdict


def verdict(trace: Builder) -> Verdict:
    return analyze(trace.trace()).summary.verdict


def steps(kernel_us: float, every_us: float, name: str = "gemm", count: int = 4) -> Builder:
    """A kernel of so many µs every so many µs, launched just before it runs."""
    trace = build()
    for i in range(count):
        at = every_us * i
        trace.step(i, at, every_us).op("aten::mm", at, every_us - 5).launch("cudaLaunchKernel", at + every_us - 15, 5)
        trace.kernel(name, at + every_us - 8, kernel_us)
    return trace


def test_a_gpu_that_hardly_idles_is_the_limit() -> None:
    """98 of 100 µs are busy."""
    assert verdict(steps(98, 100)).bound.value == "gpu"


def test_a_gpu_that_waits_for_an_op_is_bound_by_the_host() -> None:
    """And the op is named."""
    found = verdict(steps(20, 100))
    assert found.bound.value == "host"
    assert "aten::mm" in found.text


def test_waiting_for_the_data_loader_is_waiting_for_input() -> None:
    """Most of the idle time lies in the loader's annotation."""
    trace = build()
    for i in range(4):
        at = 100 * i
        trace.step(i, at, 100).annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 1, 70)
        trace.op("aten::mm", at + 75, 10).launch("cudaLaunchKernel", at + 76, 5).kernel("gemm", at + 82, 15)
    assert verdict(trace).bound.value == "input"


def test_communication_that_nothing_hides_is_the_limit() -> None:
    """Half of the time NCCL runs alone."""
    trace = build()
    for i in range(4):
        at = 100 * i
        trace.step(i, at, 100).op("aten::mm", at, 10).launch("cudaLaunchKernel", at + 1, 2).kernel("gemm", at + 4, 45)
        trace.op("nccl:all_reduce", at + 12, 5).launch("cudaLaunchKernel", at + 13, 2)
        trace.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at + 50, 50)
    assert verdict(trace).bound.value == "communication"


def test_without_gpu_records_nothing_is_claimed() -> None:
    """The trace can't tell."""
    assert verdict(build().op("aten::mm", 0, 10)).bound.value == "unknown"
