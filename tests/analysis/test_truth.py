"""Our traces against what torch said of the same recording: ``key_averages`` and the CUDA events of an unprofiled run."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import own_traces
from tracekit.analysis import Analysis, analyze
from tracekit.analysis.ops import OpRow, op_table

# A row of key_averages is rounded to 1 ns, and so is each of its events.
SHARE = 0.001
ROUNDING_US = 0.005

# In a GPU-bound trace the step time is the device's period, which CUDA events measure too; between runs clocks differ.
BETWEEN_RUNS = 0.03
GPU_BOUND = ("naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn", "sdpa_default", "flex", "compiled_naive")


def truth_of(path: Path) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads(path.with_name(path.name.replace(".json.gz", ".truth.json")).read_text())
    return truth


def by_key(truth: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return torch's rows by key: GPU rows repeat the keys of annotations with no CPU time, so times are summed."""
    out: dict[str, dict[str, float]] = defaultdict(lambda: {"self_cpu_us": 0.0, "self_device_us": 0.0, "count": 0})
    for row in truth["key_averages"]:
        if row["cpu_us"] > 0 or row["self_cpu_us"] > 0:
            for name in ("self_cpu_us", "self_device_us", "count"):
                out[row["key"]][name] += row[name]
    return out


def recursive(analysis: Analysis) -> set[str]:
    """Return the ops that call themselves: torch counts such a call and those inside it as one."""
    trace, links = analysis.trace, analysis.links
    return {trace.name(row) for row in range(len(trace)) if trace.name(row) in {trace.name(up) for up in links.ancestors(row)}}


def near(ours_ns: int, theirs_us: float) -> bool:
    return abs(ours_ns / 1000 - theirs_us) <= SHARE * theirs_us + ROUNDING_US


@pytest.mark.parametrize("path", own_traces(), ids=lambda path: path.name)
def test_every_op_agrees_with_key_averages(path: Path) -> None:
    """Self CPU and self device time, of every op, to 0.1 %; and the calls."""
    truth = by_key(truth_of(path))
    analysis = analyze(str(path))
    rows: dict[str, OpRow] = {row.name: row for row in op_table(analysis).ops}
    merged = recursive(analysis)
    wrong = {}
    for name, row in rows.items():
        theirs = truth.get(name)
        if theirs is None:
            wrong[name] = "torch has no such row"
        elif not near(row.self_cpu_ns, theirs["self_cpu_us"]) or not near(row.self_gpu_ns, theirs["self_device_us"]):
            wrong[name] = f"{row.self_cpu_ns} {row.self_gpu_ns} {theirs}"
        elif row.calls != theirs["count"] and name not in merged:
            wrong[name] = f"{row.calls} calls, torch has {theirs['count']}"
    assert wrong == {}
    assert rows or path.name == "cuda_graph.json.gz"


@pytest.mark.parametrize("name", GPU_BOUND)
def test_step_times_are_those_of_cuda_events_without_the_profiler(name: str) -> None:
    """Though the host's marks are many times shorter: it runs ahead."""
    (path,) = [path for path in own_traces() if path.name == f"{name}.json.gz"]
    wall = sorted(step.wall_ns for step in analyze(str(path)).summary.steps)
    measured = truth_of(path)["unprofiled"]["cuda_event_us_median"]
    assert abs(wall[len(wall) // 2] / 1000 - measured) <= BETWEEN_RUNS * measured


def test_naive_has_five_kernels_a_copy_and_its_memsets_in_each_step() -> None:
    """What earlier steps left on the GPU is named, counted, and charged to none."""
    (path,) = [path for path in own_traces() if path.name == "naive.json.gz"]
    summary = analyze(str(path)).summary
    assert [(step.kernels, step.memcpys, step.memsets) for step in summary.steps] == [(5, 1, 2)] * 6
    assert summary.gpu.unlinked_reasons == {"launched_before_trace": 20}
    assert sum(step.gpu_events for step in summary.steps) + summary.gpu.unlinked == summary.gpu.events
