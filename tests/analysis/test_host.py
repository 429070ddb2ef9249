"""Opaque host time."""

from __future__ import annotations

from tests.support.builder import build
from tracekit.analysis import analyze


def test_self_time_far_beyond_a_dispatch_is_opaque() -> None:
    """Three ops dispatch in 10 µs; the fourth spends 1000 µs where nothing is recorded."""
    trace = build()
    for i in range(3):
        trace.op(f"aten::op{i}", 100 * i, 15).launch("cudaLaunchKernel", 100 * i + 5, 5).kernel("k", 100 * i + 20, 5)
    trace.op("aten::plans", 400, 1005).launch("cudaLaunchKernel", 1400, 5).kernel("k", 1410, 5)
    analysis = analyze(trace.trace())
    by_name = {analysis.trace.name(row): int(ns) for row, ns in enumerate(analysis.host.opaque_ns) if ns}
    assert analysis.host.dispatch_ns == 10_000
    assert by_name == {"aten::plans": 960_000}


def test_idle_time_is_exposed_where_it_is_charged() -> None:
    """The GPU waits for the op that plans."""
    trace = build().op("aten::a", 0, 15).launch("cudaLaunchKernel", 5, 5).kernel("k", 20, 5)
    trace.op("aten::plans", 30, 500).launch("cudaLaunchKernel", 520, 5).kernel("k", 530, 5)
    analysis = analyze(trace.trace())
    exposed = {analysis.trace.name(row): int(ns) for row, ns in enumerate(analysis.host.exposed_ns) if ns}
    assert exposed == {"aten::plans": 490_000, "cudaLaunchKernel": 5_000}
