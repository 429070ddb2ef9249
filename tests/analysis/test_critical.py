"""The critical path of a step."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from tests.support.builder import Builder, build
from tests.support.paths import needs_shared, own_traces, shared_traces
from tracekit.analysis import Analysis, analyze
from tracekit.analysis.critical import Critical, critical_path, step_graph
from tracekit.errors import OptionError


def times(result: Critical) -> dict[tuple[str, str], int]:
    """Return the time of each row in µs."""
    return {(row.kind, row.name): row.ns // 1000 for row in result.rows}


def holds(analysis: Analysis) -> None:
    """Check what is true of every path: it is as long as the step, and no path of the graph is longer."""
    for step in range(len(analysis.links.steps)):
        if not analysis.windows.on_device[step] or not analysis.windows.wall_ns[step]:
            continue
        result = critical_path(analysis, step)
        assert sum(row.ns for row in result.rows) == result.wall_ns == analysis.windows.wall_ns[step]
        assert result.gpu_ns + result.host_ns + result.queue_ns + result.outside_ns == result.wall_ns
        assert min(result.gpu_ns, result.host_ns, result.queue_ns, result.outside_ns, result.hidden_gpu_ns) >= 0
        graph, _ = step_graph(analysis, step)
        assert nx.is_directed_acyclic_graph(graph)
        assert nx.dag_longest_path_length(graph, weight="ns") <= result.wall_ns


@pytest.mark.parametrize("path", own_traces(), ids=lambda path: path.name)
def test_the_path_is_the_step(path: Path) -> None:
    """To the nanosecond, in every step of our traces."""
    holds(analyze(str(path)))


@needs_shared
@pytest.mark.parametrize("path", shared_traces()[:16], ids=lambda path: path.name)
def test_the_path_is_the_step_in_public_traces(path: Path) -> None:
    """Of any vendor."""
    holds(analyze(str(path)))


def test_a_busy_gpu_is_the_path() -> None:
    """The host runs ahead: its time isn't on it."""
    trace: Builder = build().step(0, 0, 100).op("aten::a", 1, 20).launch("cudaLaunchKernel", 2, 5)
    trace.kernel("first", 10, 300).op("aten::b", 22, 20).launch("cudaLaunchKernel", 24, 5).kernel("second", 312, 100)
    assert times(critical_path(analyze(trace.trace()))) == {("gpu", "first"): 300, ("gpu", "second"): 100, ("gap", ""): 2}


def test_a_late_launch_is_on_the_path_with_what_the_host_did() -> None:
    """The op, the call, and the latency after it."""
    trace: Builder = build().step(0, 0, 300).op("aten::a", 1, 20).launch("cudaLaunchKernel", 2, 5).kernel("first", 10, 5)
    trace.op("aten::slow", 22, 200).launch("cudaLaunchKernel", 200, 10).kernel("second", 214, 100)
    result = critical_path(analyze(trace.trace()))
    # The path begins where the step does on the device: 10 µs after its mark.
    assert times(result) == {
        ("op", "aten::a"): 11,
        ("no_host_event", ""): 1,
        ("op", "aten::slow"): 178,
        ("runtime", "cudaLaunchKernel"): 10,
        ("latency", ""): 4,
        ("gpu", "second"): 100,
    }
    assert result.hidden_gpu_ns == 5_000


def test_a_wait_puts_the_gpu_before_it_on_the_path() -> None:
    """Only the wait's tail is the host's."""
    trace: Builder = build().step(0, 0, 700).op("aten::a", 1, 20).launch("cudaLaunchKernel", 2, 5).kernel("long", 10, 400)
    trace.runtime("cudaStreamSynchronize", 30, 390).op("aten::b", 430, 20).launch("cudaLaunchKernel", 440, 5).kernel("last", 450, 100)
    found = times(critical_path(analyze(trace.trace())))
    assert found[("gpu", "long")] == 400
    assert found[("sync", "cudaStreamSynchronize")] == 10
    assert found[("gpu", "last")] == 100
    assert found[("op", "aten::b")] == 10


def test_while_a_thread_only_waits_the_one_that_works_is_charged() -> None:
    """Autograd's thread runs the backward pass; the caller records nothing meanwhile."""
    trace: Builder = build().step(0, 0, 1000).op("aten::a", 1, 20).launch("cudaLaunchKernel", 2, 5).kernel("forward", 10, 5)
    trace.thread(2).op("autograd::bw", 100, 300).launch("cudaLaunchKernel", 150, 5).kernel("backward", 160, 5)
    trace.thread(1).op("aten::opt", 420, 20).launch("cudaLaunchKernel", 430, 5).kernel("optimizer", 440, 50)
    found = times(critical_path(analyze(trace.trace())))
    assert found[("op", "autograd::bw")] == 295
    assert found[("runtime", "cudaLaunchKernel")] == 10


def test_there_must_be_such_a_step() -> None:
    """Else an error says which there are."""
    trace: Builder = build().step(0, 0, 100).launch("cudaLaunchKernel", 2, 5).kernel("k", 10, 5)
    with pytest.raises(OptionError, match="there are 0"):
        critical_path(analyze(trace.trace()), 3)
    with pytest.raises(OptionError, match="no step has GPU work"):
        critical_path(analyze(build().op("aten::a", 0, 10).trace()))


def test_a_step_with_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of Python objects doesn't fit."""
    monkeypatch.setattr("tracekit.analysis.critical.MOST_EVENTS", 0)
    trace: Builder = build().step(0, 0, 100).launch("cudaLaunchKernel", 2, 5).kernel("k", 10, 5)
    with pytest.raises(OptionError, match="tracekit slice"):
        critical_path(analyze(trace.trace()))
