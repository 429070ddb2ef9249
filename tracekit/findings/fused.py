"""What a fused attention kernel would take for the same useful work."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.kernels import device_of
from tracekit.analysis.replay import Change
from tracekit.attention import Direction, Region
from tracekit.findings.finding import Saving
from tracekit.findings.making import Mend, cut, mend, steps
from tracekit.kernels import find_device

REACHED = (0.20, 0.35, 0.60)
"""Shares of the device's peak that fused kernels reach: memory-efficient on the low side, flash in the middle, cuDNN and FlashAttention-3 on the high one.

Of our own traces on an H200, causal, 2048 × 64: memory-efficient 12 %, flash 25 %, cuDNN 39 % of the dense bfloat16 peak.
"""

CALL_NS = {Direction.FORWARD: 48_000.0, Direction.BACKWARD: 110_000.0}
"""Host time of a fused call, profiled: median of our own traces."""

CALL_WEIGHT = 15.0
"""Weight of what a fused call records: a dozen ops and calls."""

LEAST_NS = 2_500.0
"""No kernel that computes anything takes less."""


def fusing(analysis: Analysis, regions: Sequence[Region], *, causal: bool = False) -> tuple[float, Saving | None, Change | None]:
    """Return the GPU time of some attention calls per step, what fusing them would save, and the change in the replay.

    The saving is None where shapes weren't recorded or the device isn't known: then only the cost can be told.

    Args:
        analysis: The trace's analysis.
        regions: The calls.
        causal: Whether the mask is causal although the call doesn't say so: half of the work.
    """
    cost = sum(region.gpu_ns for region in regions) / steps(analysis)
    times = [_times(analysis, region, causal=causal) for region in regions]
    if not all(times):
        return cost, None, None
    known = [one for one in times if one is not None]
    made = [_replaced(analysis, regions, [one[i] for one in known]) for i in range(len(REACHED))]
    reached = ", ".join(f"{100 * share:.0f}" for share in REACHED)
    how = f"{made[1].saving.how}, for the same useful work at {reached} % of the device's peak, no faster than memory allows"
    low, high = min(one.saving.low_ns for one in made), max(one.saving.high_ns for one in made)
    return max(cost, made[1].won_ns), Saving(low, made[1].saving.mid_ns, min(high, _most(analysis, cost, made)), how), made[1].change


def _most(analysis: Analysis, cost: float, made: Sequence[Mend]) -> float:
    """Return what fusing can win at most: where the GPU is the limit, no more than these calls take of it, clocks aside."""
    return max(1.03 * cost, 1.25 * max(one.won_ns for one in made))


def _times(analysis: Analysis, region: Region, *, causal: bool) -> tuple[float, ...] | None:
    """Return how long one fused kernel would take, slow to fast, ns; None where that can't be told."""
    known = device_of(analysis, analysis.windows.device)
    model = find_device(str(known.get("name", "")), known)
    if model is None or not region.useful_flops or not region.least_bytes:
        return None
    dtype = {"bfloat16": "bf16", "float16": "fp16"}.get(region.dtype or "", "tf32")
    peak = model.peak_tflop_s.get(dtype) or model.peak_tflop_s.get("fp16")
    if not peak or not model.bandwidth_gb_s:
        return None
    # A mask that the trace doesn't show is causal more often than not: then half of the products needn't be made.
    half = (0.5, 0.5, 0.5) if causal else (1.0, 1.0, 0.5) if region.causal is None else (1.0, 1.0, 1.0)
    return tuple(
        max(part * region.useful_flops / (peak * share * 1e3), region.least_bytes / (model.bandwidth_gb_s * 0.8), LEAST_NS)
        for share, part in zip(REACHED, half, strict=True)
    )


def _replaced(analysis: Analysis, regions: Sequence[Region], times: Sequence[float]) -> Mend:
    """Return what is won if the first GPU event of each call takes so long, and its others and its ops go for one fused op."""
    factors = np.ones(len(analysis.work))
    rows, firsts, added = [], [], []
    for region, time in zip(regions, times, strict=True):
        events = np.searchsorted(analysis.work.rows, region.gpu_rows)
        factors[events] = 0.0
        first = int(events[0])
        factors[first] = min(time, float(region.gpu_ns)) / max(int(analysis.work.dur_ns[first]), 1)
        if region.rows:
            rows += list(region.rows)
            firsts.append(region.rows[0])
            added.append(min(CALL_NS[region.direction], float(region.cpu_ns)))
    cuts = cut(analysis, rows, added_at=firsts, added_ns=np.array(added), added_weight=CALL_WEIGHT)
    return mend(analysis, Change(factors, cuts), "with one fused op in the place of each call", gpu_tail_ns=0.0)


def reason(region: Region) -> str:
    """Return what the recorded inputs say about fused backends."""
    if region.dtype is None:
        return "Shapes and types weren't recorded, so the trace can't say whether a fused backend takes the inputs."
    if region.dtype in {"bfloat16", "float16"}:
        return f"The inputs ({region.shapes}, {region.dtype}) suit a fused backend."
    return f"The inputs are {region.dtype}: flash and cuDNN take bfloat16 or float16 only, memory-efficient takes float32 too."
