"""GPU events by name: the `kernels` command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from tracekit.analysis.notices import notices
from tracekit.kernels import decode, find_device, occupancy, short_names
from tracekit.trace import ABSENT, I64

if TYPE_CHECKING:
    from tracekit.analysis.bundle import Analysis


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


_T = TypeVar("_T")
_SAMPLE = 16  # events of one name whose args are looked at: the launch shape of a name hardly varies, and args are slow to parse
_SHORT = 60  # characters of a short name; a view may shorten further


def kernel_table(analysis: Analysis) -> Kernels:
    """Return GPU events by name and class."""
    trace, work = analysis.trace, analysis.work
    name = trace.slices.name[work.rows].astype(np.int64)
    key = name * (len(work.classes) + 1) + work.class_id
    _, at = np.unique(key, return_inverse=True)
    order = np.argsort(at, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(at))[:-1]) if len(order) else []
    short = short_names([trace.strings[name[group[0]]] for group in groups], _SHORT)
    rows = sorted((_row(analysis, group, short) for group in groups), key=lambda row: (-row.ns, row.name, row.class_))
    return Kernels(len(analysis.links.steps), int(work.dur_ns.sum()), tuple(rows), notices(analysis))


def _row(analysis: Analysis, group: I64, short: Mapping[str, str]) -> KernelRow:
    trace, work, links = analysis.trace, analysis.work, analysis.links
    slices = trace.slices
    name = trace.name(int(work.rows[group[0]]))
    dur = work.dur_ns[group]
    ops = Counter(slices.name[links.op[group][links.op[group] >= 0]].tolist())
    streams = np.unique(slices.stream[work.rows[group]])
    launch = launch_shape(analysis, group)
    decoded = decode(name)
    return KernelRow(
        name=name,
        short=short[name],
        class_=work.classes[work.class_id[group[0]]],
        count=len(group),
        ns=int(dur.sum()),
        mean_ns=float(dur.mean()),
        min_ns=int(dur.min()),
        max_ns=int(dur.max()),
        ops=tuple(trace.strings[op] for op, _ in ops.most_common()),
        streams=tuple(int(stream) for stream in streams if stream != ABSENT),
        grid=launch.grid,
        block=launch.block,
        registers=launch.registers,
        shared_memory_bytes=launch.shared_memory_bytes,
        occupancy_pct=launch.occupancy_pct,
        occupancy_source=launch.occupancy_source,
        occupancy_limit=launch.occupancy_limit,
        decoded=DecodedRow(decoded.dtype, decoded.tile, decoded.arch, decoded.tensor_cores),
    )


@dataclass(frozen=True)
class LaunchShape:
    """How most events of a group were launched, and the occupancy that follows; see ``KernelRow``."""

    grid: tuple[int, ...] | None
    block: tuple[int, ...] | None
    registers: int | None
    shared_memory_bytes: int | None
    occupancy_pct: float | None
    occupancy_source: str
    occupancy_limit: str | None


def launch_shape(analysis: Analysis, group: I64) -> LaunchShape:
    """Return the launch shape of some GPU events of one name.

    Args:
        analysis: The trace's analysis.
        group: int64[m], indices into ``Work``, at least one. At most ``_SAMPLE`` of them, evenly spread, are looked at.

    Where the profiler recorded an occupancy above 0 that is taken; cuLaunchKernelEx and its kin are recorded as 0, which isn't a measurement.
    """
    trace = analysis.trace
    picked = group[np.linspace(0, len(group) - 1, min(len(group), _SAMPLE)).astype(np.int64)]
    args = [trace.args(int(row)) for row in analysis.work.rows[picked]]
    recorded = [value for one in args if (value := _number(one.get("est. achieved occupancy %"))) is not None]
    grid, block = (_usual([_triple(one.get(key)) for one in args]) for key in ("grid", "block"))
    registers, shared = (_usual([_number(one.get(key)) for one in args]) for key in ("registers per thread", "shared memory"))
    pct, source, limit = None, "unknown", None
    if any(value > 0 for value in recorded):
        pct, source = float(np.mean(recorded)), "recorded"
    elif block is not None and registers:
        device = device_of(analysis, int(analysis.work.device[group[0]]))
        model = find_device(str(device.get("name", "")), device)
        if model is not None and model.arch is not None:
            computed = occupancy(model, block=block, registers=int(registers), shared_memory_bytes=int(shared or 0), grid=grid)
            pct, source, limit = computed.pct, "computed", computed.limit
    return LaunchShape(
        grid, block, None if registers is None else int(registers), None if shared is None else int(shared), pct, source, limit
    )


def device_of(analysis: Analysis, number: int) -> Mapping[str, Any]:
    """Return the properties of a device as the file lists them; {} where it doesn't: another device's would be a guess."""
    for device in analysis.trace.devices:
        if device.id == number:
            return {"name": device.name, **device.properties}
    return {}


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value) else None


def _triple(value: Any) -> tuple[int, ...] | None:
    if isinstance(value, list) and value and all(isinstance(one, int) for one in value):
        return tuple(value)
    return None


def _usual(values: Sequence[_T | None]) -> _T | None:
    known = [value for value in values if value is not None]
    return Counter(known).most_common(1)[0][0] if known else None
