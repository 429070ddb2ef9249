"""Attention calls, however they were written."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.builder import Builder, build
from tests.support.paths import SHARED, TRACES, needs_shared
from tracekit.analysis import analyze
from tracekit.attention import Region

Q, S = [2, 4, 128, 64], [2, 4, 128, 128]
FLAT_Q, FLAT_S = [8, 128, 64], [8, 128, 128]
FLAT_K = [8, 64, 128]
BF16 = "c10::BFloat16"


def found(trace: Builder) -> tuple[Region, ...]:
    """Return the regions; no GPU event may be in two."""
    analysis = analyze(trace.trace())
    regions = analysis.attention.attention
    rows = [row for region in regions for row in region.gpu_rows]
    assert len(rows) == len(set(rows))
    for region in regions:
        assert sum(stage.ns for stage in region.stages) == region.gpu_ns
        assert sum(stage.count for stage in region.stages) == region.gpu_events == len(region.gpu_stages)
    return regions


class Program:
    """Writes ops one after another, each with a launch and a kernel."""

    def __init__(self) -> None:
        self.trace = build()
        self.at = 0

    def op(
        self, name: str, kernel: str, dims: object = None, *, memcpy: bool = False, inside: tuple[str, ...] = (), us: int = 10
    ) -> Program:
        args = {"Input Dims": dims, "Input type": [BF16, BF16]} if dims else {}
        for i, outer in enumerate(inside):
            self.trace.op(outer, self.at + i, 30 - 2 * i)
        self.trace.op(name, self.at + 8, 14, **args).launch("cudaMemcpyAsync" if memcpy else "cudaLaunchKernel", self.at + 12, 5)
        (self.trace.memcpy if memcpy else self.trace.kernel)(kernel, 10_000 + 10 * self.at, us)
        self.at += 40
        return self


def by_hand(program: Program, *, mask: bool = True) -> Program:
    program.op("aten::bmm", "nvjet_tst_128x256", [FLAT_Q, FLAT_K]).op("aten::mul", "void elementwise_kernel<MulFunctor>", [S, []])
    if mask:
        program.op("aten::copy_", "Memcpy DtoD (Device -> Device)", [S, S], memcpy=True, inside=("aten::masked_fill", "aten::clone"))
        program.op("aten::masked_fill_", "void masked_fill_kernel", [S, [128, 128]])
    program.op("aten::_softmax", "softmax_warp_forward", [S, [], []])
    return program.op("aten::bmm", "nvjet_tst_64x512", [FLAT_S, FLAT_Q])


def test_attention_by_hand_is_one_region_with_its_stages() -> None:
    """Two products with a softmax between, and what stands between them."""
    (region,) = found(by_hand(Program()).trace)
    assert region.backend == "eager"
    assert [(stage.name, stage.count) for stage in region.stages] == [
        ("qk", 1),
        ("scale", 1),
        ("copy", 1),
        ("mask", 1),
        ("softmax", 1),
        ("pv", 1),
    ]
    assert (region.shapes, region.dtype) == ("qkv[8,128,64]", "bfloat16")


def test_a_softmax_between_products_of_other_shapes_is_no_attention() -> None:
    """A classifier's softmax between two layers: the scores don't go into the second product."""
    program = Program().op("aten::mm", "nvjet_a", [[128, 64], [64, 10]]).op("aten::_softmax", "softmax_warp_forward", [[128, 10], [], []])
    assert found(program.op("aten::mm", "nvjet_b", [[128, 64], [64, 64]]).trace) == ()


def test_without_shapes_it_is_less_sure() -> None:
    """Nothing confirms that the scores are scores."""
    program = Program().op("aten::bmm", "nvjet_a").op("aten::_softmax", "softmax_warp_forward").op("aten::bmm", "nvjet_b")
    (region,) = found(program.trace)
    assert region.confidence < 0.7


def test_a_layer_between_ends_the_search() -> None:
    """A product before a norm belongs to something else."""
    program = Program().op("aten::bmm", "nvjet_a", [FLAT_Q, FLAT_K]).op("aten::native_layer_norm", "vectorized_layer_norm_kernel")
    assert found(program.op("aten::_softmax", "softmax_warp_forward", [S, [], []]).op("aten::bmm", "nvjet_b", [FLAT_S, FLAT_Q]).trace) == ()


def test_two_calls_are_two_regions() -> None:
    """One after the other."""
    assert len(found(by_hand(by_hand(Program())).trace)) == 2


def test_a_graphs_replay_is_known_by_its_kernels_and_says_so() -> None:
    """No op was recorded: product, softmax, product under one launch."""
    trace = build().launch("cudaGraphLaunch", 0, 5)
    for i, name in enumerate(("nvjet_a", "void elementwise_kernel<MulFunctor>", "softmax_warp_forward", "nvjet_b")):
        trace.kernel(name, 20 + 10 * i, 8)
    (region,) = found(trace)
    assert (region.backend, region.cpu_ns, region.confidence) == ("eager", 0, 0.5)
    assert "no op was recorded" in region.notes[0]


EXPECTED = {
    "naive": {("eager", "forward", 5, 1): 6},
    "naive_inplace": {("eager_inplace", "forward", 5, 0): 6},
    "sdpa_math": {("math", "forward", 20, 0): 6},
    "sdpa_efficient": {("efficient", "forward", 1, 0): 6},
    "sdpa_flash": {("flash", "forward", 1, 0): 6},
    "sdpa_cudnn": {("cudnn", "forward", 1, 0): 6},
    "sdpa_cudnn_new_shapes": {("cudnn", "forward", 1, 0): 6},
    "flex": {("flex", "forward", 1, 0): 6},
    "compiled_naive": {("compiled", "forward", 3, 0): 6},
    "cuda_graph": {("eager", "forward", 5, 0): 6},
    "two_streams": {("flash", "forward", 1, 0): 12},
    "train_flash": {("flash", "forward", 1, 0): 6, ("flash", "backward", 5, 0): 6},
    "train_efficient": {("efficient", "forward", 1, 0): 6, ("efficient", "backward", 3, 0): 6},
    "train_cudnn": {("cudnn", "forward", 1, 0): 6, ("cudnn", "backward", 3, 0): 6},
    "train_math": {("math", "forward", 20, 0): 6, ("math", "backward", 12, 0): 6},
    "gpt": {("cudnn", "forward", 1, 0): 16, ("cudnn", "backward", 3, 0): 16},
}


def kinds(path: Path) -> Counter[tuple[str, str, int, int]]:
    regions = analyze(str(path)).attention.attention
    return Counter((one.backend, one.direction.value, one.kernels, one.memcpys) for one in regions)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_call_of_our_traces_is_found_with_its_backend(name: str) -> None:
    """As often as the program calls it, with as many kernels."""
    assert kinds(TRACES / f"{name}.json.gz") == EXPECTED[name]


def test_math_says_what_it_does_too_much() -> None:
    """Upcast, fp32 products, a mask built anew, safe softmax."""
    region = analyze(str(TRACES / "sdpa_math.json.gz")).attention.attention[0]
    text = " ".join(region.notes)
    for words in ("without tensor cores", "upcast to float32", "built anew", "_safe_softmax"):
        assert words in text
    assert {stage.name: stage.count for stage in region.stages} == {"cast": 5, "scale": 2, "mask": 6, "qk": 1, "softmax": 5, "pv": 1}


def test_useful_work_is_the_same_for_every_backend_that_says_it_is_causal() -> None:
    """The same inputs: 4·B·H·D·Σmin(i+1, S) operations, and q, k, v, out once each."""
    regions = [analyze(str(TRACES / f"sdpa_{name}.json.gz")).attention.attention[0] for name in ("math", "efficient", "flash", "cudnn")]
    assert {region.useful_flops for region in regions} == {4 * 8 * 16 * 64 * (2048 * 2049 // 2)}
    assert {region.least_bytes for region in regions} == {4 * 8 * 16 * 2048 * 64 * 2}


@needs_shared
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tracelens/h100_Qwen_Qwen1.5-0.5B-Chat.json.gz", {("flash", "forward"): 24}),
        ("tracelens/mi300_Qwen_Qwen1.5-0.5B-Chat.json.gz", {("flash", "forward"): 24}),
        ("tracelens/h100_gaunernst_bert-small-uncased.json.gz", {("flash", "forward"): 4}),
        ("tracelens/h100_google_owlv2-large-patch14-ensemble.json.gz", {("eager", "forward"): 180}),
        ("tracelens/vllm_prefilldecode_piecewise_graph_execution.json.gz", {("other", "forward"): 24}),
        ("tracelens/sglang_decode_sglang_Qwen3-8B_decode.json.gz", {("other", "forward"): 36}),
        ("hta/alexnet.json.gz", {}),
        ("tracelens/mi300_resnet_act_checkpoint.json.gz", {}),
    ],
)
def test_calls_of_public_traces_are_layers_times_passes(name: str, expected: dict[tuple[str, str], int]) -> None:
    """A layer each, none in a network without attention."""
    regions = analyze(str(SHARED / "traces" / name)).attention.attention
    assert Counter((one.backend, one.direction.value) for one in regions) == expected
