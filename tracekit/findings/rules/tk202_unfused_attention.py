"""Attention written by hand.

What it does
    Finds two matrix products with a softmax between, as one region, whatever stands between them.

Why it matters
    The scores, as large as sequence × sequence, are written and read once for each op.

Example
    torch.softmax(q @ k.mT * scale, -1) @ v

Instead
    F.scaled_dot_product_attention(q, k, v, is_causal=True)

When it stays silent
    Attention is fused already, or the scores are tiny (under 1 % of the step).

Evidence
    The calls.

Cost and saving
    As for the math backend: GPU time beyond that of a fused kernel for the same useful work.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.fused import fusing, reason
from tracekit.findings.making import finding, step_ns, steps
from tracekit.units import ns_text, plural

RULE = Rule("TK202", "unfused-attention", "0.1.0")

LEAST_SHARE = 0.01


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding for hand-written attention."""
    regions = [one for one in analysis.attention.attention if one.backend in {"eager", "eager_inplace", "compiled"} and one.step]
    if not regions:
        return
    cost, saving, change = fusing(analysis, regions)
    if cost < LEAST_SHARE * step_ns(analysis):
        return
    yield finding(
        analysis,
        RULE,
        "attention is written by hand",
        f"{plural(len(regions) / steps(analysis), 'call')} a step, {plural(regions[0].kernels, 'kernel')} each, {ns_text(sum(region.gpu_ns for region in regions) / steps(analysis))} of GPU time a step ({regions[0].backend}).",
        "Scores of sequence × sequence go through memory between the ops; a fused kernel keeps them on the chip.",
        f"{reason(regions[0])} Use F.scaled_dot_product_attention.",
        [row for region in regions[:5] for row in (region.rows or region.gpu_rows)][:5],
        cost,
        saving,
        change=change,
        confidence=min(region.confidence for region in regions),
    )
