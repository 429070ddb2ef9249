"""Joining GPU events to the calls that launched them."""

from __future__ import annotations

import pytest

from tests.linking.support import launches, linked, lost, methods, reasons
from tests.support.builder import build
from tracekit.linking import Method, NoGpu, Reason


def test_kernel_is_joined_by_correlation_and_gets_the_innermost_op() -> None:
    """The plain case."""
    trace, links = linked(
        build().op("aten::linear", 0, 50).op("aten::addmm", 5, 30).launch("cudaLaunchKernel", 10, 5).kernel("gemm", 60, 20)
    )
    assert launches(trace, links) == [("gemm", "cudaLaunchKernel", "aten::addmm")]
    assert methods(links) == [Method.CORRELATION]
    assert reasons(links) == [Reason.NONE]


@pytest.mark.parametrize("call", ["cudaLaunchKernelExC", "cuLaunchKernelEx_ptsz", "hipExtLaunchKernel", "INVALID", "launchByNobodyKnown"])
def test_call_is_joined_whatever_its_name(call: str) -> None:
    """No list of names decides what can launch (kineto 788, case 29)."""
    trace, links = linked(build().op("lab::op", 0, 50).launch(call, 10, 5).kernel("k", 60, 20))
    assert launches(trace, links) == [("k", call, "lab::op")]


def test_driver_call_launches_too() -> None:
    """Triton and cuDNN launch through the driver (pytorch 99571)."""
    trace, links = linked(build().op("triton_0", 0, 50).driver("cuLaunchKernel", 10, 5).kernel("k", 60, 20))
    assert launches(trace, links) == [("k", "cuLaunchKernel", "triton_0")]


def test_host_op_with_a_stream_is_no_gpu_work() -> None:
    """Compiled code records host ops with args.stream (case 43)."""
    trace, links = linked(build().op("triton_0", 0, 50, stream=0, correlation=1).driver("cuLaunchKernel", 10, 5).kernel("triton_0", 60, 20))
    assert launches(trace, links) == [("triton_0", "cuLaunchKernel", "triton_0")]


def test_one_graph_launch_has_all_its_kernels() -> None:
    """Each replay keeps its own (case 27)."""
    builder = build().op("run", 0, 100)
    for at in (10, 50):
        builder.launch("cudaGraphLaunch", at, 5).kernel("a", at + 100, 5).stream(9).kernel("b", at + 101, 5).stream(7).memcpy(
            "Memcpy DtoD", at + 110, 2
        )
    trace, links = linked(builder)
    assert launches(trace, links) == [(n, "cudaGraphLaunch", "run") for n in ("a", "b", "Memcpy DtoD") * 2]
    assert links.launch.tolist() == sorted(links.launch.tolist())
    assert set(methods(links)) == {Method.GRAPH}


def test_call_is_preferred_that_fits_the_event() -> None:
    """A synchronising call or a query with the same id launches nothing."""
    builder = build().op("aten::to", 0, 90).launch("cudaMemcpyAsync", 10, 5).runtime("cudaStreamSynchronize", 16, 60, correlation=1)
    trace, links = linked(builder.memcpy("Memcpy DtoH", 20, 30))
    assert launches(trace, links) == [("Memcpy DtoH", "cudaMemcpyAsync", "aten::to")]


def test_runtime_call_is_preferred_to_the_driver_call_inside_it() -> None:
    """One launch seen in two APIs is the outer one, and the inner isn't lost."""
    builder = build().op("aten::mm", 0, 50).launch("cudaLaunchKernelExC", 10, 20).driver("cuLaunchKernelEx", 12, 10, correlation=1)
    trace, links = linked(builder.kernel("gemm", 60, 20))
    assert launches(trace, links) == [("gemm", "cudaLaunchKernelExC", "aten::mm")]
    assert lost(trace, links) == []


def test_driver_call_with_an_id_of_its_own_isn_t_lost_inside_a_joined_runtime_call() -> None:
    """CUPTI gives the inner call the next id; the kernel carries the outer's."""
    builder = build().launch("cudaLaunchKernel", 10, 20).runtime("cuLaunchKernel", 12, 10, category="cuda_driver", correlation=2)
    trace, links = linked(builder.kernel("gemm", 60, 20))
    assert lost(trace, links) == []


def test_of_two_uses_of_an_id_the_last_before_the_event_counts() -> None:
    """Ids start anew with each session of a long process."""
    builder = build().op("first", 0, 20).launch("cudaLaunchKernel", 1, 5).kernel("a", 10, 5)
    builder.op("second", 100, 20).launch("cudaLaunchKernel", 101, 5, correlation=1).kernel("b", 110, 5)
    trace, links = linked(builder)
    assert launches(trace, links) == [("a", "cudaLaunchKernel", "first"), ("b", "cudaLaunchKernel", "second")]


def test_equal_calls_on_two_threads_are_ambiguous() -> None:
    """Nothing tells which it was: no guess."""
    builder = build().launch("cudaLaunchKernel", 10, 5).thread(2).launch("cudaLaunchKernel", 11, 5, correlation=1).kernel("k", 60, 20)
    trace, links = linked(builder)
    assert launches(trace, links) == [("k", None, None)]
    assert reasons(links) == [Reason.AMBIGUOUS]


@pytest.mark.parametrize("unknown", [0, -1, 4294967295])
def test_sentinels_are_no_ids(unknown: int) -> None:
    """Correlation 0, -1 and 2**32-1 mean unknown, on calls and events alike (roctracer 100, case 31)."""
    builder = build().runtime("cudaStreamIsCapturing", 5, 1, correlation=unknown).op("aten::mm", 10, 50).launch("cudaLaunchKernel", 20, 5)
    trace, links = linked(builder.kernel("lost", 70, 5, correlation=unknown).kernel("gemm", 80, 5))
    assert launches(trace, links) == [("lost", None, None), ("gemm", "cudaLaunchKernel", "aten::mm")]
    assert reasons(links) == [Reason.NO_CORRELATION, Reason.NONE]


def test_correlation_and_external_id_are_two_number_spaces() -> None:
    """Correlation 52 is also the External id of another op (pytorch 124388, case 34)."""
    builder = build().op("aten::mm", 0, 40, **{"External id": 51}).launch("cudaLaunchKernel", 10, 5, correlation=52)
    builder.kernel("gemm", 60, 5, **{"External id": 51})
    builder.op("aten::sigmoid", 100, 40, **{"External id": 52}).launch("cudaLaunchKernel", 110, 5, correlation=51, **{"External id": 0})
    builder.kernel("sigmoid", 160, 5, **{"External id": 52})
    trace, links = linked(builder)
    assert [op for _, _, op in launches(trace, links)] == ["aten::mm", "aten::sigmoid"]


def test_event_of_before_the_recording_says_so() -> None:
    """Its id is below that of every recorded call (case 26); it belongs to no op and no step."""
    builder = (
        build()
        .step(1, 0, 100)
        .kernel("elder", 1, 9, correlation=7)
        .op("aten::mm", 10, 40)
        .launch("cudaLaunchKernel", 20, 5, correlation=100)
    )
    trace, links = linked(builder.kernel("gemm", 60, 5))
    assert launches(trace, links) == [("elder", None, None), ("gemm", "cudaLaunchKernel", "aten::mm")]
    assert reasons(links) == [Reason.LAUNCHED_BEFORE_TRACE, Reason.NONE]
    assert links.step.tolist() == [-1, 0]


def test_event_with_a_known_but_unrecorded_id_says_so() -> None:
    """An id among those of the recorded calls whose call is missing."""
    builder = build().launch("cudaLaunchKernel", 0, 5, correlation=10).kernel("a", 10, 5).kernel("b", 20, 5, correlation=15)
    _, links = linked(builder)
    assert reasons(links) == [Reason.NONE, Reason.LAUNCH_NOT_RECORDED]


def test_flows_serve_where_there_is_no_correlation() -> None:
    """Old exporters join by ac2g flows only (case 36)."""
    builder = build().op("aten::mm", 0, 40).runtime("hipExtModuleLaunchKernel", 10, 6, **{"External id": 901})
    builder.kernel("gemm", 60, 30, correlation=None, **{"External id": 901}).flow("ac2g", 901, 10, 60)
    builder.op("aten::add", 50, 20).runtime("hipLaunchKernel", 55, 5).kernel("add", 91, 5, correlation=None).flow("ac2g", 902, 55, 91)
    trace, links = linked(builder)
    assert launches(trace, links) == [("gemm", "hipExtModuleLaunchKernel", "aten::mm"), ("add", "hipLaunchKernel", "aten::add")]
    assert set(methods(links)) == {Method.FLOW}


def test_forward_backward_flow_is_no_launch() -> None:
    """Only launch flows join a call to a GPU event (case 42)."""
    builder = (
        build().op("aten::mm", 0, 40).runtime("hipLaunchKernel", 10, 6).kernel("gemm", 60, 30, correlation=None).flow("fwdbwd", 9, 10, 60)
    )
    _, links = linked(builder)
    assert reasons(links) == [Reason.NO_CORRELATION]


def test_external_id_serves_last_and_only_if_one_call_has_it() -> None:
    """An op with two launches puts its id on both: then nothing tells which."""
    builder = (
        build()
        .op("one", 0, 40)
        .runtime("hipLaunchKernel", 10, 5, **{"External id": 7})
        .kernel("a", 60, 5, correlation=None, **{"External id": 7})
    )
    builder.op("two", 50, 40).runtime("hipLaunchKernel", 55, 5, **{"External id": 8}).runtime(
        "hipLaunchKernel", 65, 5, **{"External id": 8}
    )
    builder.kernel("b", 90, 5, correlation=None, **{"External id": 8})
    trace, links = linked(builder)
    assert launches(trace, links) == [("a", "hipLaunchKernel", "one"), ("b", None, None)]
    assert methods(links) == [Method.EXTERNAL_ID, Method.NONE]
    assert reasons(links) == [Reason.NONE, Reason.AMBIGUOUS]


def test_op_around_an_annotation_that_outlives_it_is_found() -> None:
    """The op is asked for by itself: a crossing annotation in between doesn't hide it."""
    builder = build().op("aten::mm", 0, 50).annotation("region", 5, 100).launch("cudaLaunchKernel", 10, 5).kernel("gemm", 60, 20)
    trace, links = linked(builder)
    assert launches(trace, links) == [("gemm", "cudaLaunchKernel", "aten::mm")]


def test_launch_without_an_op_is_linked_all_the_same() -> None:
    """GPU activity only: the op is unknown, and that is said (case 39)."""
    trace, links = linked(build().launch("hipLaunchKernel", 0, 5).kernel("k", 10, 5))
    assert launches(trace, links) == [("k", "hipLaunchKernel", None)]
    assert any("no CPU ops were recorded" in notice for notice in links.notices)


def test_launches_that_nothing_came_of_are_named_with_a_reason() -> None:
    """A memset of no bytes, and a launch after the last record; setting an attribute launches nothing (case 26)."""
    builder = build().runtime("cudaMemsetAsync", 0, 2, correlation=90).runtime("cudaFuncSetAttribute", 3, 1, correlation=91)
    builder.launch("cudaLaunchKernel", 5, 5, correlation=92).kernel("k", 20, 10).launch("cudaLaunchKernel", 40, 5)
    trace, links = linked(builder)
    assert lost(trace, links) == [("cudaMemsetAsync", NoGpu.NO_RECORD), ("cudaLaunchKernel", NoGpu.AFTER_LAST_RECORD)]


def test_launches_of_a_file_without_gpu_records_say_so() -> None:
    """All kernels gone (kineto 996)."""
    trace, links = linked(build().op("aten::mm", 0, 50).launch("cudaLaunchKernel", 10, 5))
    assert lost(trace, links) == [("cudaLaunchKernel", NoGpu.NO_GPU_RECORDS)]
    assert any("no GPU activity" in notice for notice in links.notices)


def test_captured_launches_are_no_loss() -> None:
    """What is called while a graph is captured runs only at replay; other threads aren't capturing."""
    builder = build().runtime("cudaStreamBeginCapture", 0, 1).launch("cudaLaunchKernel", 5, 2).launch("cudaLaunchKernel", 9, 2)
    builder.runtime("cudaStreamEndCapture_v10000", 15, 1).thread(2).launch("cudaLaunchKernel", 7, 2)
    builder.thread(1).launch("cudaGraphLaunch", 20, 5).kernel("a", 40, 5)
    trace, links = linked(builder)
    assert lost(trace, links) == [
        ("cudaLaunchKernel", NoGpu.GRAPH_CAPTURE),
        ("cudaLaunchKernel", NoGpu.NO_RECORD),
        ("cudaLaunchKernel", NoGpu.GRAPH_CAPTURE),
    ]


def test_work_launched_on_another_thread_goes_by_that_thread() -> None:
    """Equal times on the main thread mean nothing."""
    builder = build().op("main op", 0, 100).thread(2).op("worker op", 10, 50).launch("cudaLaunchKernel", 20, 5).kernel("k", 40, 5)
    trace, links = linked(builder)
    assert launches(trace, links) == [("k", "cudaLaunchKernel", "worker op")]


def test_one_id_on_everything_tells_nothing() -> None:
    """An exporter that writes the same correlation everywhere: no guess, and no million pairs."""
    builder = build()
    for i in range(100):
        builder.launch("cudaLaunchKernel", 10 * i, 5, correlation=1).kernel("k", 10 * i + 5000, 5)
    _, links = linked(builder)
    assert set(reasons(links)) == {Reason.AMBIGUOUS}
