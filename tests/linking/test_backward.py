"""The backward pass and its forward ops."""

from __future__ import annotations

import pytest

from tests.linking.support import linked, name, row
from tests.support.builder import Builder, build

ENGINE = "autograd::engine::evaluate_function: MmBackward0"


def training(*, flows: bool, numbers: bool, backward_thread: int = 77, forward_thread: int = 1) -> Builder:
    """One forward op on the main thread and its node on the autograd thread."""

    def args(forward: int) -> dict[str, int]:
        return {"Sequence number": 9, "Fwd thread id": forward} if numbers else {}

    builder = build().op("aten::mm", 100, 40, **args(0)).launch("cudaLaunchKernel", 110, 6).kernel("fwd", 160, 30)
    builder.thread(backward_thread).op(ENGINE, 300, 80, **args(forward_thread)).op("MmBackward0", 305, 70, **args(forward_thread))
    builder.op("aten::bmm", 310, 30).launch("cudaLaunchKernel", 315, 6).kernel("bwd", 350, 33)
    if flows:
        builder.thread(1).flow("fwdbwd", 2, 100, 305, to_tid=backward_thread)
    return builder


@pytest.mark.parametrize(("flows", "numbers"), [(True, False), (False, True), (True, True)])
def test_backward_op_leads_to_its_forward_op(flows: bool, numbers: bool) -> None:
    """By fwdbwd flow or by sequence number (HTA 263, case 42); ops inside the node go with it, and so does the engine's op around it."""
    trace, links = linked(training(flows=flows, numbers=numbers))
    for op in (ENGINE, "MmBackward0", "aten::bmm"):
        assert name(trace, links.forward[row(trace, op)]) == "aten::mm"
    assert links.forward[row(trace, "aten::mm")] == -1


def test_backward_slices_are_flagged_with_all_that_lies_inside() -> None:
    """Ops and calls; the forward isn't, and GPU rows aren't host slices."""
    trace, links = linked(training(flows=True, numbers=False))
    assert {trace.name(i) for i in range(len(trace)) if links.backward[i]} == {ENGINE, "MmBackward0", "aten::bmm", "cudaLaunchKernel"}
    assert [bool(links.backward[launch]) for launch in links.launch] == [False, True]


def test_without_flow_and_number_the_forward_is_unknown() -> None:
    """Backward all the same."""
    trace, links = linked(training(flows=False, numbers=False))
    assert links.backward[row(trace, "aten::bmm")]
    assert (links.forward == -1).all()


def test_backward_on_the_forward_s_own_thread_is_found() -> None:
    """On the CPU the engine runs in the calling thread."""
    trace, links = linked(training(flows=False, numbers=True, backward_thread=1))
    assert not links.backward[row(trace, "aten::mm")]
    assert name(trace, links.forward[row(trace, "aten::bmm")]) == "aten::mm"


def test_innermost_op_with_the_number_is_the_forward() -> None:
    """Wrappers carry the number of what they are about to record: linear, then addmm."""
    number = {"Sequence number": 4, "Fwd thread id": 0}
    builder = build().op("aten::linear", 0, 50, **number).op("aten::addmm", 10, 30, **number)
    trace, links = linked(builder.thread(2).op("AddmmBackward0", 100, 20, **{"Sequence number": 4, "Fwd thread id": 1}))
    assert name(trace, links.forward[row(trace, "AddmmBackward0")]) == "aten::addmm"


def test_same_number_on_two_threads_goes_by_the_forward_thread() -> None:
    """Numbers count per thread; the node names its forward thread by torch's own number, which is learnt from the rest."""
    builder = build()
    for i in range(3):
        builder.op(f"main{i}", 10 * i, 5, **{"Sequence number": i, "Fwd thread id": 0})
    builder.thread(2).op("worker0", 0, 5, **{"Sequence number": 0, "Fwd thread id": 0})
    builder.thread(3)
    for i in range(3):
        builder.op(f"N{i}Backward0", 100 + 10 * i, 5, **{"Sequence number": i, "Fwd thread id": 1})
    trace, links = linked(builder)
    assert [name(trace, links.forward[row(trace, f"N{i}Backward0")]) for i in range(3)] == ["main0", "main1", "main2"]


def test_recomputed_forward_inside_the_backward_is_backward() -> None:
    """Checkpointing runs forward ops inside a node: they are the backward pass's time, and no forward of anything."""
    builder = build().op("aten::mm", 0, 10, **{"Sequence number": 1, "Fwd thread id": 0})
    builder.op("CheckpointFunctionBackward", 100, 100, **{"Sequence number": 1, "Fwd thread id": 1})
    builder.op("aten::relu", 110, 10, **{"Sequence number": 5, "Fwd thread id": 0})
    trace, links = linked(builder)
    assert links.backward[row(trace, "aten::relu")]
    assert not links.backward[row(trace, "aten::mm")]


def test_slices_of_an_autograd_thread_are_backward() -> None:
    """Compiled code runs there outside any node."""
    builder = (
        build().op("aten::mm", 0, 10).thread(9, name="pt_autograd_0").annotation("Torch-Compiled Region", 50, 20).op("triton_0", 55, 5)
    )
    trace, links = linked(builder)
    assert {trace.name(i) for i in range(len(trace)) if links.backward[i]} == {"Torch-Compiled Region", "triton_0"}


@pytest.mark.parametrize("op", ["aten::convolution_backward", "aten::mm", "loss.backward"])
def test_names_that_only_look_alike_are_no_nodes(op: str) -> None:
    """A node is called XBackward, with or without a number."""
    _, links = linked(build().op(op, 0, 10))
    assert not links.backward.any()


def test_flow_into_the_past_is_ignored() -> None:
    """A forward comes before its backward."""
    builder = build().op("aten::mm", 500, 40).thread(77).op("MmBackward0", 305, 70)
    trace, links = linked(builder.thread(1).flow("fwdbwd", 2, 500, 305, to_tid=77))
    assert links.forward[row(trace, "MmBackward0")] == -1
