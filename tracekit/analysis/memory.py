"""Memory that the allocator reported: the ``[memory]`` instants of a recording with ``profile_memory``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tracekit.trace import Trace

NAME = "[memory]"
_DEVICES = {0: "cpu", 1: "cuda", 2: "mkldnn", 20: "hip", 6: "hip", 7: "fpga", 9: "xla", 12: "xpu", 13: "mps", 15: "hpu"}
"""Device types by number (c10/core/DeviceType.h)."""


@dataclass(frozen=True)
class MemoryRow:
    """One device.

    Attributes:
        device: ``cuda:0``, ``cpu``, …
        events: Allocations and frees recorded.
        peak_bytes: Most bytes allocated at once, as the allocator counted them; by the recorded changes where it gives no total.
        end_bytes: Bytes of these allocations that weren't freed by the end of the recording.
    """

    device: str
    events: int
    peak_bytes: int
    end_bytes: int


@dataclass(frozen=True)
class _Change:
    """One allocation or free."""

    ts_ns: int
    device: str
    size_bytes: int
    total_bytes: int | None


def memory(trace: Trace) -> tuple[MemoryRow, ...]:
    """Return the memory of each device, in order of first appearance; () where none was recorded.

    Devices are kept apart: bytes of the host never count for a GPU.
    """
    events: dict[str, int] = {}
    peak: dict[str, int] = {}
    now: dict[str, int] = {}
    for one in _changes(trace):
        device = one.device
        events[device] = events.get(device, 0) + 1
        now[device] = now.get(device, 0) + one.size_bytes
        seen = now[device] if one.total_bytes is None else one.total_bytes
        peak[device] = max(peak.get(device, 0), seen)
    return tuple(MemoryRow(device, count, peak[device], max(now[device], 0)) for device, count in events.items())


def memory_points(trace: Trace) -> dict[str, list[tuple[int, int]]]:
    """Return for each device the bytes allocated after each change, as (time in ns, bytes), in order of time.

    Where the allocator gives no total, the bytes count from 0 at the start of the recording.
    """
    out: dict[str, list[tuple[int, int]]] = {}
    now: dict[str, int] = {}
    for one in sorted(_changes(trace), key=lambda one: one.ts_ns):
        now[one.device] = now.get(one.device, 0) + one.size_bytes
        out.setdefault(one.device, []).append((one.ts_ns, now[one.device] if one.total_bytes is None else one.total_bytes))
    return out


def _changes(trace: Trace) -> Iterator[_Change]:
    name = trace.strings.id(NAME)
    if name < 0:
        return
    instants = trace.instants
    for row in (instants.name == name).nonzero()[0].tolist():
        args = trace.mark_args(instants, row)
        size, total = args.get("Bytes"), args.get("Total Allocated")
        if isinstance(size, int):
            device = _device(args.get("Device Type"), args.get("Device Id"))
            yield _Change(int(instants.ts_ns[row]), device, size, total if isinstance(total, int) else None)


def _device(kind: object, number: object) -> str:
    name = _DEVICES.get(kind, f"device type {kind}") if isinstance(kind, int) else "unknown"
    return f"{name}:{number}" if isinstance(number, int) and number >= 0 and name != "cpu" else name
