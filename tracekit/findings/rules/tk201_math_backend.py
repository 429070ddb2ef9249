"""Attention that runs in the math backend.

What it does
    Finds calls of ``scaled_dot_product_attention`` that took ``_scaled_dot_product_attention_math``.

Why it matters
    It upcasts to float32, writes the scores to memory, builds the mask and uses the safe softmax: about twenty kernels where one would do.

Example
    with sdpa_kernel(SDPBackend.MATH): ...

Instead
    Leave the backend open, or pin a fused one.

When it stays silent
    No call took it.

Evidence
    The calls.

Cost and saving
    GPU time of the calls beyond what a fused kernel takes for the same useful work on this device: at 25 to 70 % of its peak, and no faster than memory allows.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.fused import fusing, reason
from tracekit.findings.making import finding, steps
from tracekit.units import ns_text, plural

RULE = Rule("TK201", "math-backend", "0.1.0")


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding for the math calls of each direction."""
    regions = [one for one in analysis.attention.attention if one.backend == "math" and one.gpu_events and one.step]
    if not regions:
        return
    cost, saving, change = fusing(analysis, regions)
    notes = dict.fromkeys(note for region in regions for note in region.notes)
    yield finding(
        analysis,
        RULE,
        "attention runs in the math backend",
        f"{plural(len(regions) / steps(analysis), 'call')} a step, {plural(regions[0].kernels, 'kernel')} each, {ns_text(sum(region.gpu_ns for region in regions) / steps(analysis))} of GPU time a step: {'; '.join(notes) or 'not fused'}.",
        "The scores go through memory several times, in float32; a fused kernel keeps them on the chip.",
        f"{reason(regions[0])} Take the pin off, or pin FLASH_ATTENTION, CUDNN_ATTENTION or EFFICIENT_ATTENTION.",
        [row for region in regions[:5] for row in region.rows],
        cost,
        saving,
        change=change,
    )
