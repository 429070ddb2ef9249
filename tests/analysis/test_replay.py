"""The replay of the launch queue."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.builder import Builder, build
from tests.support.paths import TRACES, needs_shared, shared_traces
from tracekit.analysis import Analysis, analyze
from tracekit.analysis.cuts import cut_slices
from tracekit.analysis.overhead import unprofiled_step_ns
from tracekit.analysis.replay import Change

OURS = sorted(path.name for path in TRACES.glob("*.json.gz"))


def shorter(analysis: Analysis, name: str, factor: float = 0.0) -> np.ndarray:
    """Return factors that shorten every GPU event of a name."""
    scale = np.ones(len(analysis.work))
    rows = analysis.work.rows
    scale[[analysis.trace.name(int(row)) == name for row in rows]] = factor
    return scale


def host_bound() -> Analysis:
    """Return two steps: the host launches a kernel of 10 µs every 50 µs."""
    trace: Builder = build()
    for i in range(2):
        trace.step(i, 200 * i, 200)
        for k in range(4):
            at = 200 * i + 50 * k
            trace.op("aten::a", at + 1, 40).launch("cudaLaunchKernel", at + 5, 10).kernel("k", at + 18, 10)
    return analyze(trace.trace())


def gpu_bound(sync: bool = False) -> Analysis:
    """Return a step: a copy and a kernel of 300 µs each, launched at once; the host may wait at the end and launch another kernel."""
    trace = build().step(0, 0, 1000)
    trace.op("aten::a", 1, 10).launch("cudaMemcpyAsync", 2, 5).memcpy("copy", 10, 300)
    trace.op("aten::b", 12, 10).launch("cudaLaunchKernel", 14, 5).kernel("k", 311, 300)
    if sync:
        trace.runtime("cudaStreamSynchronize", 30, 590).op("aten::c", 630, 10).launch("cudaLaunchKernel", 632, 5).kernel("last", 640, 100)
    return analyze(trace.trace())


@pytest.mark.parametrize("name", OURS)
def test_with_nothing_changed_everything_runs_as_it_did(name: str) -> None:
    """To the nanosecond: the model explains each start."""
    analysis = analyze(str(TRACES / name))
    replay = analysis.replay
    run = replay.run()
    assert run.start_ns.tolist() == (analysis.work.start_ns[replay.order] - replay.origin_ns).tolist()
    assert replay.saving_ns(Change()) == 0


@needs_shared
@pytest.mark.parametrize("path", shared_traces()[:8], ids=lambda path: path.name)
def test_public_traces_run_as_they_did_too(path: Path) -> None:
    """Of any vendor and version."""
    analysis = analyze(str(path))
    replay = analysis.replay
    assert np.array_equal(replay.run().start_ns, analysis.work.start_ns[replay.order] - replay.origin_ns)


def test_a_removed_copy_wins_its_time_where_the_gpu_is_the_limit() -> None:
    """With its latency."""
    analysis = gpu_bound()
    # The kernel then starts after its own launch, with a usual latency.
    assert 280_000 <= analysis.replay.saving_ns(Change(shorter(analysis, "copy"))) <= 301_000
    half = analysis.replay.saving_ns(Change(shorter(analysis, "copy", 0.5)))
    assert half == 150_000


def test_work_hidden_behind_the_host_wins_nothing() -> None:
    """The next launch comes no earlier."""
    analysis = host_bound()
    assert analysis.replay.saving_ns(Change(shorter(analysis, "k", 0.1))) == pytest.approx(9_000 / 2)


def test_host_time_that_goes_wins_where_the_host_is_the_limit() -> None:
    """And nothing where the GPU is."""
    bound = host_bound()
    rows = [row for row in range(len(bound.trace)) if bound.trace.name(row) == "aten::a"]
    cuts = cut_slices(bound.trace, bound.replay.recorded, rows, share=0.5)
    # The last launch comes after seven ops, and in the middle of the eighth.
    saved = bound.replay.saving_ns(Change(cuts=cuts)) * 2
    assert 7 * 20_000 <= saved <= 8 * 20_000
    busy = gpu_bound()
    rows = [row for row in range(len(busy.trace)) if busy.trace.name(row) == "aten::b"]
    assert busy.replay.saving_ns(Change(cuts=cut_slices(busy.trace, busy.replay.recorded, rows))) == 0


def test_the_host_goes_on_when_what_it_waits_for_is_done() -> None:
    """Later work moves by what was won before the wait."""
    analysis = gpu_bound(sync=True)
    assert analysis.replay.saving_ns(Change(shorter(analysis, "copy", 0.5))) == 150_000


def test_a_wait_that_goes_lets_the_host_run_ahead() -> None:
    """The last kernel then follows the one before it."""
    analysis = gpu_bound(sync=True)
    (wait,) = [row for row in range(len(analysis.trace)) if analysis.trace.name(row) == "cudaStreamSynchronize"]
    saved = analysis.replay.saving_ns(Change(cuts=cut_slices(analysis.trace, analysis.replay.recorded, [wait])))
    # It started 29 µs after the kernel before it.
    assert 20_000 <= saved <= 29_000


def test_a_program_that_isnt_profiled_is_faster_only_where_the_host_is_the_limit() -> None:
    """Recording costs the host."""
    slow, busy = unprofiled_step_ns(host_bound()), unprofiled_step_ns(gpu_bound())
    assert slow.low_ns <= slow.mid_ns < slow.high_ns < 200_000
    assert busy.low_ns == busy.mid_ns == busy.high_ns


def test_a_trace_without_gpu_work_saves_nothing() -> None:
    """Nothing to replay."""
    analysis = analyze(build().op("aten::mm", 0, 50).trace())
    assert analysis.replay.saving_ns(Change()) == 0
    assert analysis.replay.run().last_ns == 0
