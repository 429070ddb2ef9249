"""Each rule fires on a trace that has the fault and is silent on one that hasn't."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.builder import Builder, build
from tests.support.paths import TRACES, needs_shared, shared_traces
from tracekit.analysis import analyze
from tracekit.findings import HEADINGS, Finding, all_rules, explain, find

H100 = {"computeMajor": 9, "computeMinor": 0, "numSms": 132}
DTOD, GEMM = "Memcpy DtoD (Device -> Device)", "nvjet_tst_128x256"
PAGEABLE = "Memcpy HtoD (Pageable -> Device)"
COPY = "void elementwise_kernel<direct_copy_kernel_cuda>"
STEP = 1000


def start() -> Builder:
    return build().device("NVIDIA H100 80GB HBM3", **H100)


def steady(body: Callable[[Builder, float], object], steps: int = 4, *, gpu_bound: bool = True) -> Builder:
    """Return steps of 1000 µs with a body each; the GPU is kept busy by a gemm of 900 µs unless it shouldn't be."""
    trace = start()
    for i in range(steps):
        at = STEP * i
        trace.step(i, at, STEP)
        body(trace, at)
        if gpu_bound:
            # On a stream of its own, so that what the body runs doesn't lie within it.
            trace.op("aten::mm", at + 2, 1).launch("cudaLaunchKernel", at + 2, 0.5).stream(9).kernel(GEMM, at + 3, STEP - 5).stream(7)
    return trace


def nested(
    trace: Builder, at: float, names: tuple[str, ...], kernel: str, us: float, *, call: str = "cudaLaunchKernel", call_us: float = 4
) -> Builder:
    """Write ops inside each other, 10 µs apart, the innermost with a launch; its kernel runs at once."""
    for i, name in enumerate(names):
        trace.op(name, at + i, 40 - 2 * i)
    trace.launch(call, at + len(names) + 1, call_us)
    return (trace.memcpy if kernel.startswith("Memcpy") else trace.kernel)(kernel, at + 60, us)


def codes(trace: Builder) -> dict[str, list[Finding]]:
    out: dict[str, list[Finding]] = {}
    for one in find(analyze(trace.trace())).findings:
        out.setdefault(one.code, []).append(one)
    return out


def masked_fill(trace: Builder, at: float) -> None:
    trace.op("aten::masked_fill", at, 60).op("aten::clone", at + 2, 30).op("aten::copy_", at + 4, 20).launch("cudaMemcpyAsync", at + 6, 4)
    trace.memcpy(DTOD, at + 50, 40).op("aten::masked_fill_", at + 35, 20).launch("cudaLaunchKernel", at + 37, 4).kernel(
        "masked_fill_kernel", at + 95, 40
    )


def masked_fill_inplace(trace: Builder, at: float) -> None:
    trace.op("aten::masked_fill_", at + 35, 20).launch("cudaLaunchKernel", at + 37, 4).kernel("masked_fill_kernel", at + 95, 40)


def plans(trace: Builder, at: float) -> None:
    """One op spends 800 µs on the CPU and launches 20 µs; three others dispatch as usual."""
    for i in range(3):
        trace.op(f"aten::op{i}", at + 10 * i, 8).launch("cudaLaunchKernel", at + 10 * i + 3, 3).kernel(f"k{i}", at + 10 * i + 8, 5)
    trace.op("aten::_cudnn_attention_forward", at + 50, 820).launch("cuLaunchKernelEx", at + 860, 5).kernel(
        "cudnn_sdpa_flash_fprop", at + 870, 20
    )


def dispatches(trace: Builder, at: float) -> None:
    for i in range(3):
        trace.op(f"aten::op{i}", at + 10 * i, 8).launch("cudaLaunchKernel", at + 10 * i + 3, 3).kernel(f"k{i}", at + 10 * i + 8, 5)


def item(trace: Builder, at: float) -> None:
    """The host waits in .item() and launches 200 µs later."""
    trace.op("aten::mm", at, 20).launch("cudaLaunchKernel", at + 5, 5).kernel(GEMM, at + 20, 300)
    trace.op("aten::item", at + 30, 320).op("aten::_local_scalar_dense", at + 32, 315).runtime("cudaStreamSynchronize", at + 40, 290)
    trace.op("aten::mm", at + 500, 30).launch("cudaLaunchKernel", at + 520, 5).kernel(GEMM, at + 530, 300)


def tiny(count: int, every: float, us: float) -> Callable[[Builder, float], None]:
    """Return a body of many launches."""

    def body(trace: Builder, at: float) -> None:
        for i in range(count):
            begin = at + every * i
            trace.op("aten::add", begin, every * 0.8).launch("cudaLaunchKernel", begin + every * 0.4, every * 0.2).kernel(
                "elementwise_kernel<add>", begin + every * 0.7, us
            )

    return body


def loader(trace: Builder, at: float) -> None:
    trace.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 10, 600)
    trace.op("aten::mm", at + 650, 20).launch("cudaLaunchKernel", at + 655, 5).kernel(GEMM, at + 680, 300)


def malloc(trace: Builder, at: float) -> None:
    trace.op("aten::empty", at + 10, 420).runtime("cudaMalloc", at + 20, 400)
    trace.op("aten::mm", at + 450, 20).launch("cudaLaunchKernel", at + 455, 5).kernel(GEMM, at + 480, 400)


def optimizer(trace: Builder, at: float) -> None:
    trace.annotation("Optimizer.step#AdamW.step", at, 700)
    for i in range(60):
        trace.op("aten::add_", at + 10 * i, 8).launch("cudaLaunchKernel", at + 10 * i + 3, 3).kernel(
            "elementwise_kernel<add>", at + 10 * i + 7, 2
        )


def foreach(trace: Builder, at: float) -> None:
    trace.annotation("Optimizer.step#AdamW.step", at, 700)
    trace.op("aten::_fused_adamw_", at, 20).launch("cudaLaunchKernel", at + 3, 3).kernel(
        "multi_tensor_apply_kernel<FusedAdamMathFunctor>", at + 20, 120
    )


def communication(trace: Builder, at: float) -> None:
    nested(trace, at, ("nccl:all_reduce",), "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 300)


def flash(trace: Builder, at: float) -> None:
    shape = {
        "grid": [4096, 1, 1],
        "block": [128, 1, 1],
        "registers per thread": 255,
        "shared memory": 49152,
        "est. achieved occupancy %": 13,
    }
    trace.op("aten::_flash_attention_forward", at, 30).launch("cudaLaunchKernel", at + 5, 5).kernel(
        "pytorch_flash::flash_fwd_kernel", at + 20, 50, **shape
    )


def unmeasured(trace: Builder, at: float) -> None:
    shape = {"grid": [4096, 1, 1], "block": [256, 1, 1], "registers per thread": 240, "shared memory": 0, "est. achieved occupancy %": 0}
    trace.op("aten::mm", at, 30).launch("cuLaunchKernelEx", at + 5, 5).kernel("nvjet_x", at + 20, 50, **shape)


def math(trace: Builder, at: float) -> None:
    dims = {"Input Dims": [[8, 16, 2048, 64]] * 3, "Input type": ["c10::BFloat16"] * 3, "Concrete Inputs": ["", "", "", "", "0.", "True"]}
    trace.op("aten::scaled_dot_product_attention", at, 90, **dims).op("aten::_scaled_dot_product_attention_math", at + 1, 88, **dims)
    trace.op("aten::tril", at + 2, 10).launch("cudaLaunchKernel", at + 4, 3).kernel("triu_tril_kernel", at + 100, 30)
    trace.op("aten::_to_copy", at + 15, 12).op("aten::copy_", at + 16, 10).launch("cudaLaunchKernel", at + 18, 3).kernel(COPY, at + 130, 60)
    trace.op("aten::bmm", at + 40, 10).launch("cudaLaunchKernel", at + 42, 3).kernel("ampere_sgemm_128x64_nn", at + 190, 200)
    trace.op("aten::_softmax", at + 60, 10).launch("cudaLaunchKernel", at + 62, 3).kernel("softmax_warp_forward", at + 390, 50)
    trace.op("aten::bmm", at + 75, 10).launch("cudaLaunchKernel", at + 77, 3).kernel("ampere_sgemm_128x64_nn", at + 440, 200)


def masked(mask: list[int], flag: str = "False") -> Callable[[Builder, float], None]:
    """Return fused attention of 16 heads of 2048 tokens that is given a mask."""
    dims = {
        "Input Dims": [[8, 16, 2048, 64]] * 3 + [mask],
        "Input type": ["c10::BFloat16"] * 3 + ["bool"],
        "Concrete Inputs": ["", "", "", "", "0.", flag],
    }

    def body(trace: Builder, at: float) -> None:
        trace.op("aten::scaled_dot_product_attention", at, 50, **dims).op("aten::_efficient_attention_forward", at + 2, 40, **dims)
        trace.launch("cudaLaunchKernel", at + 5, 5).kernel("fmha_cutlassF_bf16_aligned_64x64_rf_sm80", at + 20, 700)

    return body


def asked(body: Callable[[Builder, float], None], name: str) -> Callable[[Builder, float], None]:
    """Return a body inside an annotation."""

    def within(trace: Builder, at: float) -> None:
        trace.annotation(name, at, 200)
        body(trace, at + 5)

    return within


def by_hand(trace: Builder, at: float) -> None:
    for i, (op, kernel) in enumerate((("aten::bmm", GEMM), ("aten::_softmax", "softmax_warp_forward"), ("aten::bmm", GEMM))):
        trace.op(op, at + 30 * i, 20).launch("cudaLaunchKernel", at + 30 * i + 5, 5).kernel(kernel, at + 100 + 150 * i, 140)


def repeated(trace: Builder, at: float) -> None:
    nested(trace, at, ("aten::repeat_interleave", "aten::copy_"), COPY, 60)
    flash(trace, at + 200)


def slow_first(trace: Builder, at: float) -> None:
    """The very first launch loads its module: 700 µs where a usual one takes 6."""
    long = 0 if at else 700
    trace.op("aten::mm", at + 5, 20 + long).launch("cudaLaunchKernel", at + 8, 6 + long).kernel(GEMM, at + 30 + long, 50)
    for i in range(5):
        trace.op("aten::mm", at + 740 + 30 * i, 20).launch("cudaLaunchKernel", at + 742 + 30 * i, 6).kernel(GEMM, at + 810 + 30 * i, 20)


def period(lengths: tuple[float, ...]) -> Builder:
    """Return steps of the given lengths, the GPU busy all the time."""
    trace, at = start(), 0.0
    for i, length in enumerate(lengths):
        trace.step(i, at, length).op("aten::mm", at + 5, 20).launch("cudaLaunchKernel", at + 8, 5).kernel(GEMM, at + 20, length - 1)
        at += length
    return trace


def orphan() -> Builder:
    trace = steady(dispatches)
    return trace.kernel("lost", 3, 4, correlation=None)


def swallowed() -> Builder:
    trace = start().launch("hipLaunchKernel", 0, 5).kernel("late", 100, 300_000)
    return trace.launch("hipLaunchKernel", 10, 5).kernel("b", 140, 50).launch("hipLaunchKernel", 20, 5).kernel("c", 191, 50)


def early() -> Builder:
    return start().launch("cudaLaunchKernel", 100, 5).kernel("k", 50, 5)


FIRES: dict[str, Builder] = {
    "TK101": steady(masked_fill),
    "TK102": steady(lambda t, at: nested(t, at, ("aten::to", "aten::copy_"), PAGEABLE, 50, call="cudaMemcpyAsync", call_us=30)),
    "TK103": steady(lambda t, at: nested(t, at, ("aten::contiguous", "aten::clone", "aten::copy_"), COPY, 80)),
    "TK104": steady(lambda t, at: nested(t, at, ("aten::to", "aten::_to_copy", "aten::copy_"), COPY, 80)),
    "TK105": steady(lambda t, at: nested(t, at, ("aten::tril",), "triu_tril_kernel", 30)),
    "TK106": steady(repeated),
    "TK201": steady(math),
    "TK202": steady(by_hand, gpu_bound=False),
    "TK203": steady(masked([2048, 2048]), gpu_bound=False),
    "TK204": steady(asked(math, "flash attention")),
    "TK211": steady(flash),
    "TK212": steady(unmeasured),
    "TK213": steady(lambda t, at: nested(t, at, ("aten::mm",), "ampere_sgemm_128x64_nn", 200)),
    "TK301": steady(plans, gpu_bound=False),
    "TK302": steady(item, gpu_bound=False),
    "TK303": steady(tiny(40, 20, 3), gpu_bound=False),
    "TK304": steady(loader, gpu_bound=False),
    "TK305": steady(malloc, gpu_bound=False),
    "TK306": steady(slow_first, gpu_bound=False),
    "TK401": steady(tiny(150, 4, 3.5), gpu_bound=False),
    "TK402": steady(optimizer, gpu_bound=False),
    "TK403": steady(communication, gpu_bound=False),
    "TK501": period((1000, 1000, 1000, 2500, 1000, 1000)),
    "TK502": period((2500, 1000, 1000, 1000, 1000)),
    "TK902": orphan(),
    "TK903": start().op("aten::mm", 0, 50),
    "TK904": swallowed(),
    "TK905": early(),
    "TK906": steady(tiny(40, 20, 3), gpu_bound=False),
}

SILENT: dict[str, Builder] = {
    "TK101": steady(masked_fill_inplace),
    "TK102": steady(lambda t, at: nested(t, at, ("aten::to", "aten::copy_"), "Memcpy HtoD (Pinned -> Device)", 50, call="cudaMemcpyAsync")),
    "TK103": steady(lambda t, at: nested(t, at, ("aten::contiguous", "aten::clone", "aten::copy_"), COPY, 5)),
    "TK104": steady(lambda t, at: nested(t, at, ("aten::clone", "aten::copy_"), COPY, 80)),
    "TK105": steady(masked_fill_inplace),
    "TK106": steady(flash),
    "TK201": steady(flash),
    "TK202": steady(flash),
    "TK203": steady(masked([8, 16, 2048, 2048]), gpu_bound=False),
    "TK204": steady(asked(flash, "flash attention")),
    "TK211": steady(dispatches),
    "TK212": steady(flash),
    "TK213": steady(lambda t, at: nested(t, at, ("aten::mm",), GEMM, 200)),
    "TK301": steady(dispatches),
    "TK302": steady(dispatches),
    "TK303": steady(dispatches),
    "TK304": steady(dispatches),
    "TK305": steady(dispatches),
    "TK306": steady(dispatches),
    "TK401": steady(dispatches),
    "TK402": steady(foreach),
    "TK403": steady(dispatches),
    "TK501": period((1000, 1010, 1000, 990, 1000)),
    "TK502": period((1000, 1010, 1000, 990, 1000)),
    "TK902": steady(dispatches),
    "TK903": steady(dispatches),
    "TK904": steady(dispatches),
    "TK905": steady(dispatches),
    "TK906": steady(dispatches),
}
BY_FILE = {"TK901"}  # its tests write a damaged file


@pytest.mark.parametrize("code", FIRES)
def test_a_rule_fires_where_the_fault_is(code: str) -> None:
    """With evidence, a cost that is no more than the step, and a saving in order."""
    found = codes(FIRES[code])
    assert code in found, sorted(found)
    for one in found[code]:
        assert one.title
        assert one.what
        assert one.why
        assert one.fix
        assert one.cost_ns_per_step >= 0
        saving = one.saving_ns_per_step
        assert saving is None or 0 <= saving.low_ns <= saving.mid_ns <= saving.high_ns + 1


@pytest.mark.parametrize("code", SILENT)
def test_a_rule_is_silent_where_the_fault_is_not(code: str) -> None:
    """A rule that fires on a healthy trace is worse than one that stays silent."""
    assert code not in codes(SILENT[code])


def test_a_name_that_only_looks_like_a_wish_is_none() -> None:
    """Whole words count."""
    assert "TK204" not in codes(steady(asked(math, "FlashyNet.attention")))
    assert "TK204" not in codes(steady(asked(math, "attention")))


def test_a_mask_beside_the_flag_is_no_finding() -> None:
    """It is causal already."""
    assert "TK203" not in codes(steady(masked([2048, 2048], "True"), gpu_bound=False))


def test_every_rule_has_a_case_that_fires_and_one_that_is_silent() -> None:
    """So that none can be added without."""
    assert set(FIRES) == set(SILENT) == set(all_rules()) - BY_FILE


def test_a_damaged_file_is_a_finding(tmp_path: object) -> None:
    """What was lost is said first."""
    from pathlib import Path

    text = steady(dispatches).text()
    path = Path(str(tmp_path)) / "cut.json"
    path.write_text(text[: text.rindex("aten::op1")])
    assert "TK901" in {one.code for one in find(analyze(str(path))).findings}
    assert "TK901" not in codes(steady(dispatches))


@pytest.mark.parametrize("code", all_rules())
def test_every_rule_explains_itself_under_all_headings(code: str) -> None:
    """One text for the command line and the docs."""
    (rule,) = explain(code).rules
    assert [head for head, _ in rule.sections] == list(HEADINGS)
    assert all(text for _, text in rule.sections)
    module = all_rules()[code]
    assert module.__name__.rsplit(".", 1)[-1] == f"{code.lower()}_{rule.name.replace('-', '_')}"


def test_out_of_place_copies_name_their_op_their_cost_and_their_saving() -> None:
    """Forty microseconds a step, as long as nothing else hides them."""
    (one,) = codes(steady(masked_fill))["TK101"]
    assert "aten::masked_fill" in one.what
    assert one.cost_ns_per_step == pytest.approx(40_000)
    assert [slice_.name for slice_ in one.evidence] == [DTOD] * 4


WORST = {
    "naive": {"TK101", "TK202"},
    "naive_inplace": {"TK202"},
    "sdpa_math": {"TK201", "TK213", "TK104"},
    "sdpa_cudnn_new_shapes": {"TK301"},
    "sdpa_flash": set(),
    "sdpa_efficient": set(),
    "sdpa_cudnn": set(),
    "sdpa_default": set(),
    "flex": set(),
    "two_streams": set(),
    "train_cudnn": set(),
}


@pytest.mark.parametrize("name", WORST)
def test_warnings_and_errors_of_our_traces_are_these(name: str) -> None:
    """The lessons come out by themselves, and a healthy trace has none."""
    found = find(analyze(str(TRACES / f"{name}.json.gz"))).findings
    assert {one.code for one in found if one.severity != "info"} == WORST[name]


def test_the_predicted_saving_of_the_copy_is_what_was_measured() -> None:
    """Unprofiled: 4477.8 µs with it, 3971.5 µs without (the truth files)."""
    found = find(analyze(str(TRACES / "naive.json.gz"))).findings
    (one,) = [one for one in found if one.code == "TK101"]
    assert one.saving_ns_per_step is not None
    assert one.saving_ns_per_step.mid_ns == pytest.approx((4477.8 - 3971.5) * 1000, rel=0.02)


def test_flash_and_cudnn_are_noted_as_meant_and_as_not_measured() -> None:
    """Low occupancy by design; 0 % is a limit of the measurement, with the computed value."""
    notes = {one.code: one for one in find(analyze(str(TRACES / "sdpa_cudnn.json.gz"))).findings}
    assert "18.8 %" in notes["TK212"].what
    assert "cuLaunchKernelEx" in notes["TK212"].why
    assert "low occupancy by design" in notes["TK211"].title
    assert "TK211" in {one.code for one in find(analyze(str(TRACES / "sdpa_flash.json.gz"))).findings}


@needs_shared
@pytest.mark.parametrize("path", shared_traces() or [None], ids=lambda path: path.name if path else "none")
def test_every_public_trace_gives_findings_that_hang_together(path: object) -> None:
    """No crash; evidence points at slices of the trace; worst first."""
    analysis = analyze(str(path))
    found = find(analysis).findings
    order = [("error", "warning", "info").index(one.severity) for one in found]
    assert order == sorted(order)
    for one in found:
        assert all(analysis.trace.name(slice_.row) == slice_.name for slice_ in one.evidence)
        assert one.cost_ns_per_step <= max(float(analysis.windows.wall_ns.sum()), 1) * 1.5
