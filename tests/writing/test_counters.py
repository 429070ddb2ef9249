"""Counters of annotated traces."""

from __future__ import annotations

import pytest

from tests.support.builder import Builder, build
from tests.support.paths import TRACES
from tracekit.analysis import analyze
from tracekit.writing import counters
from tracekit.writing.counters import busy_pct, exposed_pct, latency_us, memory_mib, queue_events


def launches(*kernels: tuple[float, float, float]) -> Builder:
    """Return a trace of launches, kernels' starts and durations."""
    trace = build()
    for launch, start, dur in kernels:
        trace.op("aten::mm", launch - 1, 5).launch("cudaLaunchKernel", launch, 2).kernel("k", start, dur)
    return trace


def test_shares_are_of_time() -> None:
    """Their mean is the device's, and the last point is 0."""
    analysis = analyze(str(TRACES / "gpt.json.gz"))
    points = list(busy_pct(analysis))
    times, values = zip(*points, strict=True)
    assert list(times) == sorted(times)
    assert values[-1] == 0
    assert 0 <= min(values) <= max(values) <= 100
    work = analysis.work
    share = 100 * sum(step.gpu_busy_ns for step in analysis.summary.steps) / sum(step.wall_ns for step in analysis.summary.steps)
    assert sum(values[:-1]) / len(values[:-1]) == pytest.approx(share, rel=0.25)
    assert len(work.rows)


def test_waiting_for_the_host_is_the_rest_where_the_queue_is_empty() -> None:
    """A kernel of 100 µs, 100 µs of host, a kernel of 100 µs."""
    trace = launches((10, 20, 100), (210, 220, 100))
    points = dict(exposed_pct(analyze(trace.trace())))
    assert max(points.values()) > 90
    assert list(points.values())[-1] == 0


def test_the_queue_grows_by_launches_and_shrinks_by_starts() -> None:
    """Two launched before the first begins."""
    trace = launches((10, 50, 10), (20, 60, 10))
    start = trace.trace().span_ns[0]
    assert [(ts - start, depth) for ts, depth in queue_events(analyze(trace.trace()))] == [
        (1_000, 1),
        (11_000, 2),
        (41_000, 1),
        (51_000, 0),
    ]


def test_latency_goes_from_launch_to_start() -> None:
    """In µs; 0 at the end."""
    values = [value for _, value in latency_us(analyze(launches((10, 50, 10), (20, 60, 10)).trace()))]
    assert values == [40, 40, 0]


def test_a_counter_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second point goes, and so on."""
    monkeypatch.setattr(counters, "MOST_POINTS", 3)
    trace = launches(*[(10 + 10 * i, 15 + 10 * i, 2) for i in range(10)])
    assert len(list(latency_us(analyze(trace.trace())))) <= 4


def test_memory_is_by_device() -> None:
    """As the allocator counts it."""
    trace = build().op("aten::mm", 0, 5)
    for ts, size, total in ((1, 1 << 20, 5 << 20), (2, -(1 << 20), 4 << 20)):
        args = {"Bytes": size, "Total Allocated": total, "Device Type": 1, "Device Id": 0}
        trace.event({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "args": args})
    assert {device: [value for _, value in points] for device, points in memory_mib(analyze(trace.trace())).items()} == {
        "cuda:0": [5.0, 4.0]
    }


def test_without_a_gpu_there_is_nothing() -> None:
    """No point at all."""
    analysis = analyze(build().op("aten::mm", 0, 5).trace())
    assert [list(one(analysis)) for one in (busy_pct, exposed_pct, queue_events, latency_us)] == [[], [], [], []]
