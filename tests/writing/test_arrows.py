"""Flows that annotated traces gain."""

from __future__ import annotations

from tests.support.builder import build
from tests.support.paths import TRACES
from tracekit.analysis import analyze
from tracekit.writing.arrows import End, missing_arrows


def test_launches_without_a_flow_get_one() -> None:
    """From the call to the GPU event."""
    trace = build().op("aten::mm", 0, 10).launch("cudaLaunchKernel", 2, 3).kernel("gemm", 20, 5).trace()
    found = missing_arrows(analyze(trace), set())
    by_name = {trace.name(row): end for row, end in found.items()}
    assert set(by_name) == {"cudaLaunchKernel", "gemm"}
    assert by_name["cudaLaunchKernel"].outgoing
    assert by_name["gemm"] == End(by_name["cudaLaunchKernel"].flow, outgoing=False)


def test_flows_of_the_profiler_are_enough() -> None:
    """A trace that has them all gains none."""
    assert missing_arrows(analyze(str(TRACES / "naive.json.gz")), set()) == {}


def test_a_slice_has_one_end() -> None:
    """What points at a finding's evidence stays."""
    trace = build().op("aten::mm", 0, 10).launch("cudaLaunchKernel", 2, 3).kernel("gemm", 20, 5).trace()
    kernel = trace.gpu_rows.tolist()[0]
    assert missing_arrows(analyze(trace), {kernel}) == {}


def test_a_kernel_that_seems_to_start_before_its_launch_has_none() -> None:
    """A viewer drops what goes back in time."""
    trace = build().op("aten::mm", 10, 10).launch("cudaLaunchKernel", 12, 3).kernel("gemm", 5, 2).trace()
    assert missing_arrows(analyze(trace), set()) == {}
