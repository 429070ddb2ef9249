"""Memory that the allocator reported."""

from __future__ import annotations

import json

import tracekit
from tests.support.builder import build
from tests.support.paths import SHARED, needs_shared
from tracekit.analysis.memory import MemoryRow, memory


def test_devices_are_kept_apart() -> None:
    """Two GPUs and the host; a peak is the most at once, not a sum."""
    trace = build()
    for at, kind, device, size, total in (
        (1, 1, 0, 100, 100),
        (2, 1, 0, 50, 150),
        (3, 0, -1, 7, 7),
        (4, 1, 0, -100, 50),
        (5, 1, 1, 30, 30),
    ):
        trace.instant("[memory]", at, **{"Device Type": kind, "Device Id": device, "Bytes": size, "Total Allocated": total})
    assert memory(trace.trace()) == (MemoryRow("cuda:0", 3, 150, 50), MemoryRow("cpu", 1, 7, 7), MemoryRow("cuda:1", 1, 30, 30))


def test_without_memory_events_there_is_nothing_to_say() -> None:
    """profile_memory wasn't asked for."""
    assert memory(build().op("aten::mm", 0, 5).trace()) == ()


@needs_shared
def test_the_shared_case_has_its_peaks() -> None:
    """Peaks per device, and what wasn't freed."""
    case = SHARED / "cases" / "64-memory-events"
    expected = json.loads(case.with_suffix(".expect.json").read_text())
    rows = {row.device: row for row in memory(tracekit.load(case.with_suffix(".json")))}
    assert {name: row.peak_bytes for name, row in rows.items()} == expected["peak_allocated"]
    assert sum(row.events for row in rows.values()) == expected["memory_events"]
    assert {name: row.end_bytes for name, row in rows.items() if row.end_bytes} == expected["not_freed"]
