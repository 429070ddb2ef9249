"""Occupancy from registers, shared memory and block size: the rules of NVIDIA's CUDA occupancy calculator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.kernels.devices import DeviceModel

_REGISTER_UNIT = 256  # registers are handed to a warp in multiples of this
_SHARED_UNIT_BYTES = 128
_WARP_SLICE = 4  # an SM has four schedulers, each with a quarter of the registers


@dataclass(frozen=True)
class Occupancy:
    """Occupancy of a kernel.

    Attributes:
        pct: Resident warps in per cent of the most that an SM can hold, when the device is full of this kernel.
        blocks: Resident blocks an SM.
        limit: What stops another block: ``registers``, ``shared memory``, ``threads``, ``blocks``, or ``grid`` where the launch has fewer blocks than fit.
    """

    pct: float
    blocks: int
    limit: str


def occupancy(
    device: DeviceModel,
    *,
    block: Sequence[int],
    registers: int,
    shared_memory_bytes: int = 0,
    grid: Sequence[int] | None = None,
) -> Occupancy:
    """Return the occupancy of a launch.

    Args:
        device: The device; its ``arch`` must be known, else nothing can be said.
        block: Threads of a block in each dimension.
        registers: Registers a thread.
        shared_memory_bytes: Shared memory a block, static and dynamic.
        grid: Blocks in each dimension. A grid that can't fill the device is what limits it: then the occupancy is that of its blocks spread over the SMs,
            as the profiler estimates it.

    Returns:
        The occupancy; ``pct`` is nan and ``limit`` ``unknown`` where the device's limits aren't known.
    """
    arch = device.arch
    threads = math.prod(block)
    if arch is None or threads <= 0:
        return Occupancy(math.nan, 0, "unknown")
    warps = -(-threads // arch.warp)
    most_warps = arch.max_threads // arch.warp
    fits = {"threads": most_warps // warps, "blocks": arch.max_blocks}
    if registers > 0:
        of_warp = -(-registers * arch.warp // _REGISTER_UNIT) * _REGISTER_UNIT
        fits["registers"] = (arch.registers // _WARP_SLICE // of_warp) * _WARP_SLICE // warps
    used = shared_memory_bytes + arch.shared_memory_reserved_bytes
    if used > 0:
        used = -(-used // _SHARED_UNIT_BYTES) * _SHARED_UNIT_BYTES
        fits["shared memory"] = arch.shared_memory_bytes // used
    # Registers are named before the others where several limit alike: they are what one can change by compiling anew.
    order = ("registers", "shared memory", "threads", "blocks")
    limit = min((name for name in order if name in fits), key=lambda name: fits[name])
    blocks = fits[limit]
    resident = float(blocks)
    if grid is not None and device.multiprocessors:
        spread = math.prod(grid) / device.multiprocessors
        if spread < blocks:
            resident, limit = spread, "grid"
    return Occupancy(min(100.0 * resident * warps / most_warps, 100.0), blocks, limit)
