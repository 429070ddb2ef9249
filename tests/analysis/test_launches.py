"""Every GPU event with its launch."""

from __future__ import annotations

from tests.support.builder import build
from tracekit.analysis import analyze
from tracekit.analysis.launches import link_table


def test_a_row_names_launch_op_stack_module_line_and_step() -> None:
    """Everything that one asks of a kernel."""
    trace = build(with_stack=1).thread(11, pid=10).step(3, 0, 100).frame("train.py(12): step", 0, 100).frame("nn.Module: Linear_0", 5, 80)
    trace.op("aten::linear", 10, 60).op("aten::addmm", 20, 40).launch("cudaLaunchKernel", 30, 5).kernel("ampere_sgemm_128x64_nn", 50, 20)
    (row,) = link_table(analyze(trace.trace())).links
    assert (row.kind, row.class_, row.device, row.stream, row.ts_ns, row.dur_ns) == ("kernel", "gemm.fp32", 0, 7, 50_000, 20_000)
    assert row.launch is not None
    assert (row.launch.name, row.launch.pid, row.launch.tid, row.launch.correlation) == ("cudaLaunchKernel", 10, 11, 1)
    assert (row.op, row.stack) == ("aten::addmm", ("aten::linear", "aten::addmm"))
    assert (row.module, row.python, row.step) == ("Linear_0", "train.py(12): step", "ProfilerStep#3")
    assert (row.method, row.reason) == ("correlation", None)


def test_an_event_without_a_launch_says_why() -> None:
    """No guess stands in its row."""
    trace = build().op("aten::mm", 0, 50).launch("cudaLaunchKernel", 10, 5).kernel("a", 20, 4).kernel("lost", 60, 4, correlation=None)
    lost = link_table(analyze(trace.trace())).links[1]
    assert (lost.launch, lost.op, lost.stack, lost.reason) == (None, None, (), "no_correlation")


def test_a_launch_that_left_no_gpu_event_is_listed() -> None:
    """With its reason."""
    trace = build().launch("cudaLaunchKernel", 0, 5).kernel("a", 20, 4).launch("cudaMemsetAsync", 8, 2)
    (lost,) = link_table(analyze(trace.trace())).launches_without_gpu
    assert (lost.name, lost.correlation, lost.ts_ns) == ("cudaMemsetAsync", 2, 8_000)
    assert lost.reason
