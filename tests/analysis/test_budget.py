"""Where a step's time goes."""

from __future__ import annotations

import pytest

from tests.support.builder import build
from tests.support.paths import own_traces
from tracekit.analysis import analyze
from tracekit.analysis.budget import budget


@pytest.mark.parametrize("path", own_traces(), ids=lambda path: path.name.split(".")[0])
def test_the_parts_add_up_to_the_mean_step(path: object) -> None:
    """Busy parts to the busy time, all of them to the step."""
    analysis = analyze(str(path))
    found = budget(analysis)
    assert found is not None
    windows = analysis.windows
    usable = windows.on_device & (windows.wall_ns > 0)
    assert found.step_ns == pytest.approx(windows.wall_ns[usable].mean())
    assert sum(part.ns for part in found.parts) == pytest.approx(found.step_ns)
    assert sum(part.ns for part in found.parts if part.busy) == pytest.approx(windows.busy_ns[usable].mean())


def test_time_of_two_streams_is_spent_once() -> None:
    """What started first has it: a gemm of 100 µs, of which a copy on another stream overlaps 60, and goes on for 40 more."""
    trace = build()
    for i in range(3):
        at = 1000 * i
        trace.step(i, at, 1000)
        trace.stream(7).launch("cudaLaunchKernel", at + 1, 1).kernel("ampere_sgemm_128x64_nn", at + 10, 100)
        trace.stream(8).launch("cudaMemcpyAsync", at + 5, 1).memcpy("Memcpy DtoD (Device -> Device)", at + 50, 100)
    found = budget(analyze(trace.trace()))
    assert found is not None
    parts = {part.name: part.ns for part in found.parts if part.busy}
    assert parts == {"gemm.fp32": pytest.approx(100_000), "memcpy.DtoD": pytest.approx(40_000)}


def test_a_trace_without_gpu_work_has_none() -> None:
    """There is nothing to part."""
    assert budget(analyze(build().op("aten::mm", 0, 10).trace())) is None
