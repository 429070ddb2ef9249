"""What a fused attention kernel would take for the same useful work."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis import Analysis
from tracekit.analysis.kernels import device_of
from tracekit.attention import Region
from tracekit.findings.finding import Saving
from tracekit.findings.making import steps
from tracekit.kernels import find_device

REACHED = (0.20, 0.35, 0.60)
"""Shares of the device's peak that fused kernels reach: memory-efficient on the low side, flash in the middle, cuDNN and FlashAttention-3 on the high one.

Of our own traces on an H200, causal, 2048 × 64: memory-efficient 12 %, flash 25 %, cuDNN 39 % of the dense bfloat16 peak.
"""


def fusing(analysis: Analysis, regions: Sequence[Region]) -> tuple[float, Saving | None]:
    """Return the GPU time of some attention calls per step, and what fusing them would save.

    The saving is None where shapes weren't recorded or the device isn't known: then only the cost can be told.
    """
    cost = sum(region.gpu_ns for region in regions) / steps(analysis)
    known = device_of(analysis, analysis.windows.device)
    model = find_device(str(known.get("name", "")), known)
    if model is None or not all(region.useful_flops and region.least_bytes for region in regions):
        return cost, None
    dtype = {"bfloat16": "bf16", "float16": "fp16"}.get(regions[0].dtype or "", "tf32")
    peak = model.peak_tflop_s.get(dtype) or model.peak_tflop_s.get("fp16")
    if not peak or not model.bandwidth_gb_s:
        return cost, None
    times = []
    for share in REACHED:
        total = 0.0
        for region in regions:
            assert region.useful_flops is not None
            assert region.least_bytes is not None
            total += max(region.useful_flops / (peak * share * 1e3), region.least_bytes / (model.bandwidth_gb_s * 0.8))
        times.append(total / steps(analysis))
    low, mid, high = (max(cost - time, 0.0) for time in times)
    how = f"the same useful work at {', '.join(f'{100 * share:.0f}' for share in REACHED)} % of the device's {dtype} peak, no faster than memory allows"
    return cost, Saving(low, mid, high, how)


def reason(region: Region) -> str:
    """Return what the recorded inputs say about fused backends."""
    if region.dtype is None:
        return "Shapes and types weren't recorded, so the trace can't say whether a fused backend takes the inputs."
    if region.dtype in {"bfloat16", "float16"}:
        return f"The inputs ({region.shapes}, {region.dtype}) suit a fused backend."
    return f"The inputs are {region.dtype}: flash and cuDNN take bfloat16 or float16 only, memory-efficient takes float32 too."
