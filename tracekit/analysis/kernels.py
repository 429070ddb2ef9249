"""GPU events by name: the `kernels` command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class DecodedRow:
    """What the kernel's name says; None where it says nothing."""

    dtype: str | None
    tile: str | None
    arch: str | None
    tensor_cores: bool | None


@dataclass(frozen=True)
class KernelRow:
    """GPU events of one name and class, over the whole trace.

    Attributes:
        name: The whole name.
        short: A short one that stays distinct within the table.
        class_: Kernel class.
        count: Events.
        ns: Sum of their durations; ``mean_ns``, ``min_ns``, ``max_ns`` of one.
        ops: Ops that launched them, most first.
        streams: Streams they ran on.
        grid, block: Of most of them, as ``[x, y, z]``; None where not recorded.
        registers: Registers a thread.
        shared_memory_bytes: Shared memory a block.
        occupancy_pct: Occupancy; None where it can't be known.
        occupancy_source: ``recorded``, ``computed`` or ``unknown``.
        occupancy_limit: What limits it where computed (``registers``, …); else None.
        decoded: What the name says.
    """

    name: str
    short: str
    class_: str
    count: int
    ns: int
    mean_ns: float
    min_ns: int
    max_ns: int
    ops: tuple[str, ...]
    streams: tuple[int, ...]
    grid: tuple[int, ...] | None
    block: tuple[int, ...] | None
    registers: int | None
    shared_memory_bytes: int | None
    occupancy_pct: float | None
    occupancy_source: str
    occupancy_limit: str | None
    decoded: DecodedRow


@dataclass(frozen=True)
class Kernels:
    """The table, most time first. ``total_ns`` is the sum over all events, also those that a limit leaves out."""

    SCHEMA: ClassVar[str] = "tracekit.kernels/1"

    steps: int
    total_ns: int
    kernels: tuple[KernelRow, ...]
    notices: tuple[str, ...] = ()
