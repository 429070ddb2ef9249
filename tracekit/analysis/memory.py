"""Memory that the allocator reported: the ``[memory]`` instants of a recording with ``profile_memory``."""

from __future__ import annotations

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


def memory(trace: Trace) -> tuple[MemoryRow, ...]:
    """Return the memory of each device, in order of first appearance; () where none was recorded.

    Devices are kept apart: bytes of the host never count for a GPU.
    """
    name = trace.strings.id(NAME)
    if name < 0:
        return ()
    events: dict[str, int] = {}
    peak: dict[str, int] = {}
    now: dict[str, int] = {}
    instants = trace.instants
    for row in (instants.name == name).nonzero()[0].tolist():
        args = trace.mark_args(instants, row)
        size, total = args.get("Bytes"), args.get("Total Allocated")
        device = _device(args.get("Device Type"), args.get("Device Id"))
        if not isinstance(size, int):
            continue
        events[device] = events.get(device, 0) + 1
        now[device] = now.get(device, 0) + size
        seen = total if isinstance(total, int) else now[device]
        peak[device] = max(peak.get(device, 0), seen)
    return tuple(MemoryRow(device, count, peak[device], max(now[device], 0)) for device, count in events.items())


def _device(kind: object, number: object) -> str:
    name = _DEVICES.get(kind, f"device type {kind}") if isinstance(kind, int) else "unknown"
    return f"{name}:{number}" if isinstance(number, int) and number >= 0 and name != "cpu" else name
