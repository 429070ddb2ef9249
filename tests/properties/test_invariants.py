"""What holds for any trace, on random ones."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.builder import Builder, build
from tracekit.analysis import Analysis, analyze
from tracekit.diff import Diff, compare

OPS = ("aten::mm", "aten::add", "aten::_softmax", "aten::copy_", "aten::bmm")
KERNELS = (
    "ampere_sgemm_128x64_nn",
    "elementwise_kernel<add>",
    "softmax_warp_forward",
    "flash_fwd_kernel",
    "Memcpy DtoD (Device -> Device)",
    "odd",
)


@st.composite
def events(draw: st.DrawFn) -> list[dict[str, object]]:
    """Random steps of ops with launches, kernels on two streams that may overlap, some orphans, some launches without a kernel."""
    trace = build()
    at, gpu = 0, 50
    for number in range(draw(st.integers(1, 4))):
        begin = at
        for _ in range(draw(st.integers(0, 5))):
            length = draw(st.integers(4, 40))
            trace.op(draw(st.sampled_from(OPS)), at, length).launch("cudaLaunchKernel", at + 1, draw(st.integers(0, 2)))
            gpu = max(gpu, at) + draw(st.integers(-10, 20))
            if draw(st.integers(0, 9)):
                trace.stream(draw(st.sampled_from([7, 8]))).kernel(draw(st.sampled_from(KERNELS)), max(gpu, 0), draw(st.integers(0, 60)))
            at += length + draw(st.integers(0, 15))
        if draw(st.booleans()):
            trace.kernel("orphan", draw(st.integers(0, 100)), 5, correlation=draw(st.sampled_from([None, 0, 99_999])))
        at += 5
        trace.step(number, begin, at - begin)
    return trace.events


def made(found: list[dict[str, object]]) -> Builder:
    trace = build()
    trace.events = list(found)
    return trace


def analysed(found: list[dict[str, object]]) -> Analysis:
    """Return the analysis; conservation is checked on the way."""
    trace = made(found).trace()
    analysis = analyze(trace)
    analysis.links.check(trace)
    return analysis


def facts(diff: Diff) -> list[tuple[object, ...]]:
    rows = [(row.region, row.stage, row.class_, round(row.a_ns, 6), round(row.b_ns, 6), row.a_count, row.b_count) for row in diff.rows]
    return [*sorted(rows, key=str), (diff.step.wall_ns.a, diff.step.wall_ns.b)]


@settings(max_examples=80, deadline=None)
@given(events())
def test_everything_adds_up(found: list[dict[str, object]]) -> None:
    """Kept + dropped = in the file; linked + unlinked = all; busy ≤ sum; busy + idle = step; idle stretches = idle time."""
    analysis = analysed(found)
    log, summary = analysis.trace.log, analysis.summary
    assert log.kept + sum(log.dropped.values()) == log.in_file == len(found)
    gpu = summary.gpu
    assert gpu.linked + gpu.unlinked == gpu.events
    assert all(0 <= busy <= gpu.sum_ns for busy in gpu.busy_ns_by_device.values())
    for step in summary.steps:
        assert step.gpu_busy_ns + step.gpu_idle_ns == step.wall_ns
        assert step.gpu_busy_ns >= 0
        assert step.gpu_idle_ns >= 0
    assert sum(row.ns for row in summary.idle) == sum(step.gpu_idle_ns for step in summary.steps)
    assert sum(row.ns for row in summary.classes) == gpu.sum_ns


@settings(max_examples=60, deadline=None)
@given(events())
def test_a_trace_against_itself_is_all_zeros(found: list[dict[str, object]]) -> None:
    """No row, no cause, no call differs."""
    one, two = analysed(found), analysed(found)
    diff = compare(one, two)
    assert {row.delta_ns for row in (*diff.rows, *diff.idle_rows, *diff.cpu_rows)} <= {0.0}
    assert diff.step.wall_ns.delta == 0
    assert diff.shifted_to_cpu == ()


@settings(max_examples=60, deadline=None)
@given(events(), events())
def test_a_diff_balances_and_turns_its_signs_the_other_way_round(a: list[dict[str, object]], b: list[dict[str, object]]) -> None:
    """Δ step = Σ GPU rows + Σ idle rows, to 1 ns; and diff(b, a) = -diff(a, b)."""
    one, two = analysed(a), analysed(b)
    there, back = compare(one, two), compare(two, one)
    assert abs(there.residue_ns) <= 1
    assert abs(there.step.wall_ns.delta + back.step.wall_ns.delta) < 1e-6
    forth = sorted((row.region, row.stage or "", round(row.delta_ns, 3) + 0.0) for row in there.rows)
    assert forth == sorted((row.region, row.stage or "", round(-row.delta_ns, 3) + 0.0) for row in back.rows)


@settings(max_examples=40, deadline=None)
@given(events(), st.integers(0, 2**32))
def test_the_order_of_the_file_changes_nothing(found: list[dict[str, object]], seed: int) -> None:
    """A writer may put events in any order, equal times included."""
    mixed = list(found)
    random.Random(seed).shuffle(mixed)
    one, two = analysed(found), analysed(mixed)
    assert facts(compare(one, one)) == facts(compare(two, two))
    assert [(row.name, row.wall_ns, row.gpu_ns, row.gpu_events) for row in one.summary.steps] == [
        (row.name, row.wall_ns, row.gpu_ns, row.gpu_events) for row in two.summary.steps
    ]
