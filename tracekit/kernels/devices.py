"""Devices: limits of an SM and peak rates (``devices.toml``)."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Arch:
    """What one multiprocessor can hold.

    Attributes:
        capability: Compute capability, ``9.0``.
        max_threads: Resident threads.
        max_blocks: Resident blocks.
        registers: 32-bit registers.
        shared_memory_bytes: Shared memory.
        shared_memory_reserved_bytes: What the system takes of it for each block.
    """

    capability: str
    max_threads: int
    max_blocks: int
    registers: int
    shared_memory_bytes: int
    shared_memory_reserved_bytes: int
    warp: int = 32


@dataclass(frozen=True)
class DeviceModel:
    """A device.

    Attributes:
        vendor: Maker.
        arch: Limits of an SM, or None where they aren't known.
        multiprocessors: SMs or compute units.
        bandwidth_gb_s: Peak memory bandwidth, 10⁹ bytes a second; None if unknown.
        peak_tflop_s: Peak rate in 10¹² operations a second, dense, by number format (``fp32`` is without tensor cores).
        source: Where the figures stand.
    """

    vendor: str
    arch: Arch | None
    multiprocessors: int | None
    bandwidth_gb_s: float | None
    peak_tflop_s: Mapping[str, float]
    source: str


@functools.cache
def _table() -> tuple[dict[str, Arch], tuple[tuple[re.Pattern[str], DeviceModel], ...]]:
    document = tomllib.loads(files("tracekit.kernels").joinpath("devices.toml").read_text(encoding="utf-8"))
    archs = {row["capability"]: Arch(**{key: value for key, value in row.items() if key != "source"}) for row in document["arch"]}
    rows = []
    for row in document["device"]:
        peaks = {key.removesuffix("_tflop_s"): float(value) for key, value in row.items() if key.endswith("_tflop_s")}
        model = DeviceModel(
            row["vendor"], archs.get(row.get("capability", "")), row["multiprocessors"], float(row["bandwidth_gb_s"]), peaks, row["source"]
        )
        rows.append((re.compile(row["pattern"]), model))
    return archs, tuple(rows)


def find_device(name: str, properties: Mapping[str, Any] | None = None) -> DeviceModel | None:
    """Return what is known of a device.

    Args:
        name: Its model name (``NVIDIA H100 80GB HBM3``).
        properties: Its entry in the trace, which knows best: ``computeMajor``, ``computeMinor``, ``numSms``, ``maxThreadsPerMultiprocessor``,
            ``regsPerMultiprocessor``, ``sharedMemPerMultiprocessor``, ``warpSize`` are taken from there.

    Returns:
        The model, or None where neither table nor properties say anything.
    """
    archs, rows = _table()
    model = next((model for pattern, model in rows if pattern.search(name[:200])), None)
    known = properties or {}
    capability = f"{known.get('computeMajor')}.{known.get('computeMinor')}"
    arch = archs.get(capability) or (model.arch if model else None)
    warp = known.get("warpSize")
    if arch is not None and model is not None and model.vendor != "NVIDIA":
        arch = None
    if arch is not None:
        arch = replace(
            arch,
            max_threads=_whole(known.get("maxThreadsPerMultiprocessor"), arch.max_threads),
            registers=_whole(known.get("regsPerMultiprocessor"), arch.registers),
            shared_memory_bytes=_whole(known.get("sharedMemPerMultiprocessor"), arch.shared_memory_bytes),
        )
    if isinstance(warp, int) and warp == 64:
        arch = None  # AMD: the calculator's rules are NVIDIA's
    if model is None and arch is None:
        return None
    count = _whole(known.get("numSms"), model.multiprocessors if model and model.multiprocessors else 0) or None
    if model is None:
        return DeviceModel("NVIDIA", arch, count, None, {}, "the trace's device properties and the limits of its compute capability")
    return replace(model, arch=arch, multiprocessors=count)


def _whole(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else default
