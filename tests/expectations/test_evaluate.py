"""A trace against what was expected of it."""

from __future__ import annotations

import numpy as np

from tests.support.builder import Builder, build
from tracekit.analysis import analyze
from tracekit.expectations import Check, Outcome, draft, evaluate, parse_expectations
from tracekit.expectations.evaluate import median_band


def four_steps() -> Builder:
    """One gemm of 50 µs and one copy of 8 µs in each 100 µs; the last step copies twice."""
    trace = build().device("NVIDIA H100")
    for i in range(4):
        at = 100 * i
        trace.step(i, at, 100).op("aten::copy_", at + 5, 10).launch("cudaMemcpyAsync", at + 6, 4).memcpy(
            "Memcpy DtoD (Device -> Device)", at + 12, 8
        )
        trace.op("aten::mm", at + 20, 20).launch("cudaLaunchKernel", at + 25, 5).kernel("ampere_sgemm_128x64_nn", at + 40, 50)
    return trace.op("aten::copy_", 360, 10).launch("cudaMemcpyAsync", 361, 4).memcpy("Memcpy DtoD (Device -> Device)", 392, 2)


def check(text: str, trace: Builder | None = None) -> Check:
    return evaluate(analyze((trace or four_steps()).trace()), parse_expectations(text, "e.toml"))


def one(text: str) -> Outcome:
    (outcome,) = check(text).outcomes
    return outcome


def test_every_step_must_hold_and_those_that_do_not_are_named() -> None:
    """Three steps copy once, the fourth twice."""
    outcome = one("[step]\nmemcpys = 1")
    assert not outcome.met
    assert outcome.seen == "1 to 2 in each of 4"
    assert outcome.where == "ProfilerStep#3"


def test_classes_count_those_below_them() -> None:
    """Class gemm counts gemm.fp32."""
    assert one("[step.classes]\ngemm = 1").met
    assert not one("[step.classes]\nsoftmax = 1").met


def test_names_are_patterns() -> None:
    """A search, not a whole match."""
    assert one('[step.names]\n"sgemm_\\\\d+x" = 1').met
    assert not one("[step.names]\nDtoD = 0").met


def test_launches_and_syncs_are_counted_by_their_role() -> None:
    """Copies are launches too; waiting is a sync."""
    trace = four_steps().runtime("cudaStreamSynchronize", 50, 5)
    found = {outcome.key: outcome.seen for outcome in check("[step]\nlaunches = 2\nsyncs = 0", trace).outcomes}
    assert found == {"step.launches": "2 to 3 in each of 4", "step.syncs": "0 to 1 in each of 4"}


def test_a_budget_is_missed_only_beyond_the_noise() -> None:
    """A median just over the budget is met while the band of the steps holds it, and that is said."""
    assert one('[step]\nwall_us = "<= 200"').met
    assert not one('[step]\nwall_us = "<= 50"').met
    trace = build()
    at = 0.0
    for i, period in enumerate((90, 100, 112, 95, 108, 103)):
        trace.step(i, at, period).op("aten::mm", at, 20).launch("cudaLaunchKernel", at + 1, 5).kernel("k", at + 10, period - 1)
        at += period
    outcome = check('[step]\nwall_us = "<= 99"', trace).outcomes[0]
    assert outcome.met
    assert "not by more than the steps differ" in outcome.where


def test_mismatches_come_first() -> None:
    """One reads from the top."""
    found = check("[step]\nkernels = 1\nmemcpys = 0\n")
    assert [outcome.met for outcome in found.outcomes] == [False, True]
    assert (found.met, found.missed) == (1, 1)


def test_attention_that_is_not_there_is_a_mismatch() -> None:
    """Not a silent pass."""
    outcome = one('[attention]\nbackend = "flash"')
    assert (outcome.met, outcome.seen) == (False, "no attention call")


def test_unmarked_steps_are_said_to_be_unmarked() -> None:
    """The whole trace as one step isn't "1 step"."""
    trace = build().op("aten::mm", 0, 50).launch("cudaLaunchKernel", 10, 5).kernel("k", 20, 10)
    assert check("[trace]\nsteps = 1", trace).outcomes[0].seen == "no marked steps"


def test_a_draft_is_met_by_its_own_trace() -> None:
    """And parses."""
    analysis = analyze(four_steps().trace())
    found = evaluate(analysis, parse_expectations(draft(analysis), "draft.toml"))
    assert found.missed == 0
    assert found.met > 8


def test_the_band_is_the_same_each_time_and_holds_the_median() -> None:
    """Seeded, so that CI doesn't flicker."""
    samples = np.array([90.0, 100, 112, 95, 108, 103])
    low, high = median_band(samples)
    assert (low, high) == median_band(samples)
    assert low <= np.median(samples) <= high
    assert median_band(samples[:1]) == (90.0, 90.0)
