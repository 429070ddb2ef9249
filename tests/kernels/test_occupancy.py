"""Occupancy."""

from __future__ import annotations

import math

import pytest

from tests.support.paths import needs_shared, own_traces, shared_traces
from tracekit.kernels import find_device, occupancy
from tracekit.kernels.devices import DeviceModel
from tracekit.reading import load


def device(name: str) -> DeviceModel:
    found = find_device(name)
    assert found is not None
    return found


def test_flash_on_an_a100_is_held_by_its_registers() -> None:
    """255 registers × 128 threads: two blocks an SM, 8 of 64 warps (Hugging Face's article on attention says 13 %)."""
    found = occupancy(device("NVIDIA A100-SXM4-80GB"), block=(128, 1, 1), registers=255, shared_memory_bytes=50_000)
    assert (found.pct, found.blocks, found.limit) == (12.5, 2, "registers")


def test_cudnn_holds_one_block_an_sm() -> None:
    """240 registers × 256 threads: 12.5 %, where the profiler says 0 (the same article)."""
    found = occupancy(device("NVIDIA A100-SXM4-80GB"), block=(256, 1, 1), registers=240)
    assert (found.pct, found.blocks, found.limit) == (12.5, 1, "registers")


@pytest.mark.parametrize(
    ("block", "registers", "shared", "pct", "limit"),
    [
        ((1024, 1, 1), 32, 0, 100.0, "registers"),
        ((32, 1, 1), 16, 0, 50.0, "blocks"),
        ((128, 1, 1), 32, 100_000, 12.5, "shared memory"),
        ((128, 1, 1), 16, 0, 100.0, "threads"),
    ],
)
def test_each_limit_can_be_the_one(block: tuple[int, ...], registers: int, shared: int, pct: float, limit: str) -> None:
    """Registers, blocks, shared memory, threads: on an H100 of 2048 threads and 32 blocks an SM."""
    found = occupancy(device("NVIDIA H100 80GB HBM3"), block=block, registers=registers, shared_memory_bytes=shared)
    assert (found.pct, found.limit) == (pct, limit)


def test_a_small_grid_cannot_fill_the_device() -> None:
    """66 blocks on 132 SMs: half a block each."""
    found = occupancy(device("NVIDIA H100 80GB HBM3"), block=(1024, 1, 1), registers=32, grid=(66, 1, 1))
    assert (found.pct, found.limit) == (25.0, "grid")


def test_without_limits_nothing_is_said() -> None:
    """AMD's rules are others."""
    assert math.isnan(occupancy(device("AMD Instinct MI300X"), block=(256,), registers=64).pct)


def recorded_against_computed(path: object) -> list[tuple[float, float]]:
    """Return recorded and computed occupancy of each kernel for which the profiler recorded one above 0."""
    trace = load(path)  # type: ignore[arg-type]
    devices = {one.id: one for one in trace.devices}
    pairs = []
    for row in trace.gpu_rows.tolist():
        args = trace.args(row)
        recorded, listed = args.get("est. achieved occupancy %"), devices.get(int(trace.slices.device[row]))
        model = find_device(listed.name, listed.properties) if listed else None
        if not recorded or model is None or model.arch is None or "registers per thread" not in args:
            continue
        found = occupancy(
            model,
            block=args["block"],
            registers=args["registers per thread"],
            shared_memory_bytes=args.get("shared memory", 0),
            grid=args["grid"],
        )
        pairs.append((float(recorded), found.pct))
    return pairs


@needs_shared
def test_every_kernel_of_the_public_traces_agrees_with_the_profilers_own_estimate() -> None:
    """Tens of thousands of kernels on V100, A100 and H100: within the rounding of the recorded per cent."""
    pairs = [pair for path in shared_traces() for pair in recorded_against_computed(path)]
    assert len(pairs) > 30_000
    assert max(abs(a - b) for a, b in pairs) <= 1.0


def test_every_kernel_of_our_traces_agrees() -> None:
    """On an H200."""
    pairs = [pair for path in own_traces() for pair in recorded_against_computed(path)]
    assert len(pairs) > 500
    assert max(abs(a - b) for a, b in pairs) <= 1.0
