"""What changed between two traces."""

from __future__ import annotations

import re

import pytest

from tests.support.builder import Builder, build
from tests.support.paths import SHARED, TRACES, needs_shared
from tracekit.analysis import analyze
from tracekit.diff import Diff, compare


def of(a: str, b: str) -> Diff:
    """Compare two of our traces."""
    return balanced(compare(TRACES / f"{a}.json.gz", TRACES / f"{b}.json.gz"))


def balanced(diff: Diff) -> Diff:
    """Return the diff; its ledgers must add up to the step's difference, to 1 ns."""
    step = diff.step
    assert abs(diff.residue_ns) <= 1
    assert sum(row.delta_ns for row in diff.rows) == pytest.approx(step.gpu_busy_ns.delta, abs=1)
    assert sum(row.delta_ns for row in diff.idle_rows) == pytest.approx(step.gpu_idle_ns.delta, abs=1)
    assert step.gpu_busy_ns.delta + step.gpu_idle_ns.delta == pytest.approx(step.wall_ns.delta, abs=1)
    return diff


def both(a: Builder, b: Builder) -> Diff:
    return balanced(compare(analyze(a.trace()), analyze(b.trace())))


def listed(sentence: str) -> float:
    """Return the sum in µs of the times that a sentence lists before the word "together"."""
    units = {"ns": 1e-3, "µs": 1, "ms": 1e3}
    found = re.findall(r"([+-][\d.,]+) (ns|µs|ms)", sentence.split("; together")[0])
    return sum(float(number.replace(",", "")) * units[unit] for number, unit in found)


def test_math_is_slower_than_naive_and_why() -> None:
    """How much slower, 20 kernels against 5 and a Memcpy, fp32 products, casts, mask, safe softmax; the parts add up."""
    diff = of("naive", "sdpa_math")
    first, counts, attention, gpu, *_ = diff.summary
    assert re.match(r"sdpa_math is 2\.\d\d× as slow as naive: 10\.0 ms a step against 4\.53 ms", first)
    assert counts == "20 kernels a step against 5; 1 Memcpy DtoD a step gone."
    assert "eager (5 kernels a call) became math (20 kernels a call)" in attention
    for words in ("fp32 without tensor cores", "casts", "built anew", "safe softmax", "Memcpy DtoD"):
        assert words in gpu
    assert listed(gpu) == pytest.approx(diff.step.gpu_busy_ns.delta / 1000, rel=0.005)


def test_in_place_saves_the_copy_and_nothing_else_to_speak_of() -> None:
    """One Memcpy DtoD gone, about 504 µs."""
    diff = of("naive", "naive_inplace")
    (copy,) = [row for row in diff.rows if row.class_ == "memcpy.DtoD"]
    assert (copy.match, copy.a_count, copy.b_count) == ("only_a", 1, 0)
    assert copy.delta_ns == pytest.approx(diff.step.wall_ns.delta, rel=0.01)
    assert all(abs(row.delta_ns) < 2_000 for row in diff.rows if row is not copy)
    assert "1 Memcpy DtoD a step gone." in diff.summary


def test_time_that_moved_onto_the_cpu_is_said() -> None:
    """cuDNN plans anew for each new shape: the GPU gets less to do and waits for tens of milliseconds."""
    diff = of("sdpa_flash", "sdpa_cudnn_new_shapes")
    (moved,) = diff.shifted_to_cpu
    assert (moved.region, moved.op) == ("attention forward", "aten::_cudnn_attention_forward")
    assert moved.gpu_delta_ns < 0
    assert moved.cpu_delta_ns > 30e6
    assert moved.exposed_delta_ns == pytest.approx(moved.cpu_delta_ns, rel=0.1)
    assert any(text.startswith("Time moved onto the CPU: attention forward") for text in diff.summary)


def test_nothing_moves_the_other_way() -> None:
    """From planning to not planning, no time moved onto the CPU."""
    assert of("sdpa_cudnn_new_shapes", "sdpa_flash").shifted_to_cpu == ()


@pytest.mark.parametrize("name", ["naive", "gpt", "train_math", "two_streams", "sdpa_cudnn_new_shapes"])
def test_a_trace_against_itself_is_all_zeros(name: str) -> None:
    """And says that there is no difference."""
    diff = of(name, name)
    assert {row.delta_ns for row in (*diff.rows, *diff.idle_rows, *diff.cpu_rows)} <= {0.0}
    assert all(row.match in {"matched", "overlap"} for row in diff.rows)
    assert diff.step.wall_ns.delta == 0
    assert diff.summary[0].startswith("No difference that these traces can show")


@pytest.mark.parametrize(("a", "b"), [("naive", "sdpa_math"), ("train_flash", "train_cudnn"), ("naive", "cuda_graph"), ("gpt", "naive")])
def test_the_other_way_round_every_sign_turns(a: str, b: str) -> None:
    """Row by row."""
    there, back = of(a, b), of(b, a)

    def rows(diff: Diff, sign: int) -> list[tuple[str, str | None, float]]:
        return sorted((row.region, row.stage, round(sign * row.delta_ns, 3) + 0.0) for row in diff.rows)

    assert rows(there, 1) == rows(back, -1)
    assert there.step.wall_ns.delta == -back.step.wall_ns.delta
    assert sorted((row.kind, row.name, row.delta_ns) for row in there.cpu_rows) == sorted(
        (row.kind, row.name, -row.delta_ns) for row in back.cpu_rows
    )


def test_a_graph_is_matched_with_the_eager_run_it_replays() -> None:
    """Though no op was recorded in it: by the stages of attention."""
    diff = of("naive_inplace", "cuda_graph")
    matched = {row.stage for row in diff.rows if row.match == "matched"}
    assert {"qk", "scale", "mask", "softmax", "pv"} <= matched
    assert diff.summary[0].startswith("No difference")


def test_repeats_of_one_program_show_no_difference() -> None:
    """Six runs of two programs, each pair: one run's steps can't show what another process does, and the band knows it."""
    wrong = []
    for name in ("sdpa_flash", "gpt"):
        runs = [analyze(str(TRACES / f"{name}.json.gz")), *(analyze(str(TRACES / "repeats" / f"{name}_{i}.json.gz")) for i in range(1, 6))]
        for i, a in enumerate(runs):
            wrong += [(name, i, j) for j, b in enumerate(runs[i + 1 :], i + 1) if balanced(compare(a, b)).step.wall_ns.significant]
    assert wrong == []


def step(trace: Builder, number: int, at: float, ops: list[tuple[str, str, float]], period: float = 1000) -> None:
    """Write a step of ops, each (name, kernel, µs), back to back on the GPU."""
    trace.step(number, at, period)
    gpu = at + 100
    for i, (op, kernel, us) in enumerate(ops):
        trace.op(op, at + 5 + 20 * i, 15).launch("cudaLaunchKernel", at + 8 + 20 * i, 5).kernel(kernel, gpu, us)
        gpu += us


def program(ops: list[tuple[str, str, float]], steps: int = 4) -> Builder:
    trace = build()
    for i in range(steps):
        step(trace, i, 1000 * i, ops)
    return trace


PLAIN = [("aten::mm", "gemm_a", 100.0), ("aten::gelu", "elementwise_gelu", 20.0), ("aten::mm", "gemm_b", 80.0)]


def test_another_order_is_no_change() -> None:
    """Matched by what it is, not by its position."""
    diff = both(program(PLAIN), program([PLAIN[1], PLAIN[2], PLAIN[0]]))
    assert all(row.delta_ns == 0 for row in diff.rows if row.match == "matched")
    assert {row.match for row in diff.rows} <= {"matched", "overlap"}


def test_another_number_of_steps_is_no_change() -> None:
    """Everything is per step."""
    diff = both(program(PLAIN, steps=3), program(PLAIN, steps=6))
    assert diff.step.gpu_ns.delta == 0
    assert all(row.a_count == row.b_count for row in diff.rows)


def test_an_added_op_is_the_only_row_that_changes() -> None:
    """It pairs with nothing."""
    diff = both(program(PLAIN), program([*PLAIN, ("aten::tanh", "elementwise_tanh", 30.0)]))
    changed = [row for row in diff.rows if row.delta_ns]
    assert [(row.region, row.match, row.delta_ns) for row in changed] == [("aten::tanh", "only_b", 30_000)]


def test_a_slower_kernel_is_told_as_slower_at_equal_work() -> None:
    """The same name, as often."""
    diff = both(program(PLAIN), program([PLAIN[0], ("aten::gelu", "elementwise_gelu", 60.0), PLAIN[2]]))
    (row,) = [row for row in diff.rows if row.delta_ns]
    assert (row.delta_ns, row.cause) == (40_000, "the same kernels, each 3.00× as long")


@needs_shared
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("hta/diff_control_a100.json.gz", "hta/diff_test_v100_graphs.json.gz"),
        ("tracelens/h100_Qwen_Qwen1.5-0.5B-Chat.json.gz", "tracelens/mi300_Qwen_Qwen1.5-0.5B-Chat.json.gz"),
        ("hta/sampled_rank0_of_128.json.gz", "hta/sampled_rank1_of_128.json.gz"),
        ("hta/old_schema_inference.json.gz", "hta/alexnet.json.gz"),
    ],
)
def test_ledgers_of_public_pairs_balance(a: str, b: str) -> None:
    """Other devices, other vendors, other versions, no steps at all."""
    balanced(compare(SHARED / "traces" / a, SHARED / "traces" / b))


@needs_shared
def test_the_shared_pair_of_other_step_counts_is_per_step() -> None:
    """3 steps against 6 with a gemm 4 % faster and one extra kernel once: not 103 % slower."""
    diff = balanced(compare(SHARED / "cases" / "59-diff-step-count-a.json", SHARED / "cases" / "59-diff-step-count-b.json"))
    (gemm,) = [row for row in diff.rows if row.a_kernels == ("larch_gemm",)]
    assert (gemm.a_ns, gemm.b_ns) == (100_000, 96_000)
    assert diff.step.gpu_ns.significant is False
