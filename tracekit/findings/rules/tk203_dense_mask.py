"""A mask that is a tensor where a flag would do.

What it does
    Finds fused attention calls that are given a square mask, the same for every batch and head, instead of ``is_causal=True``.

Why it matters
    With a tensor the kernel reads the mask and computes the half that it hides; flash doesn't take a mask at all.

Example
    F.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(n, n, dtype=torch.bool).tril())

Instead
    F.scaled_dot_product_attention(q, k, v, is_causal=True)

When it stays silent
    The mask differs from batch to batch or head to head, isn't square, or the call isn't slower than a causal one would be; shapes weren't recorded.

Evidence
    The calls.

Cost and saving
    Time of the calls beyond what a fused causal one would take; the saving by replay. A trace doesn't show what is in a mask: if it isn't causal, nothing is won.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.analysis import Analysis
from tracekit.attention import Direction, Region
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.fused import fusing
from tracekit.findings.making import finding, step_ns, steps
from tracekit.trace import ABSENT
from tracekit.units import ns_text, plural

RULE = Rule("TK203", "dense-mask", "0.1.0")

LEAST_SHARE = 0.01
_FUSED = {"efficient", "cudnn", "flash", "other"}
_SDPA = "aten::scaled_dot_product_attention"
_MASK, _CAUSAL = 3, 5
_BUILDERS = ("aten::tril", "aten::triu", "aten::tril_", "aten::triu_")


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where masks are tensors that a flag could replace."""
    calls = [one for one in analysis.attention.attention if one.direction is Direction.FORWARD and one.step and one.backend in _FUSED]
    regions = [one for one in calls if one.gpu_events and _square_mask(analysis, one)]
    if not regions:
        return
    cost, saving, change = fusing(analysis, regions, causal=True)
    if saving is None or saving.mid_ns < LEAST_SHARE * step_ns(analysis):
        return
    # Only a mask whose making was recorded is known to be causal.
    made = any(analysis.trace.strings.id(name) >= 0 for name in _BUILDERS)
    gpu = sum(region.gpu_ns for region in regions) / steps(analysis)
    yield finding(
        analysis,
        RULE,
        "attention is given a mask where a flag may do",
        f"{plural(len(regions) / steps(analysis), 'call')} a step with a mask of {_mask(analysis, regions[0])}, {ns_text(gpu)} on the GPU ({regions[0].backend}).",
        "A kernel that gets a mask reads it, and computes what a causal flag would let it skip; flash takes no mask.",
        f"{'' if made else 'If the mask is causal: '}pass is_causal=True instead of attn_mask.",
        [row for region in regions[:5] for row in region.rows],
        min(cost, saving.high_ns),
        saving,
        change=change,
        cap="error" if made else "warning",
        confidence=0.9 if made else 0.6,
    )


def _square_mask(analysis: Analysis, region: Region) -> bool:
    """Say whether the call has a mask [sequence, sequence] for all batches and heads, and isn't causal already."""
    args = analysis.trace.args(_call(analysis, region))
    dims, concrete = args.get("Input Dims"), args.get("Concrete Inputs")
    if not isinstance(dims, list) or len(dims) <= _MASK:
        return False
    q, mask = dims[0], dims[_MASK]
    if not (isinstance(mask, list) and len(mask) >= 2 and isinstance(q, list) and len(q) >= 3):
        return False
    causal = isinstance(concrete, list) and len(concrete) > _CAUSAL and concrete[_CAUSAL] == "True"
    return not causal and mask[-1] == mask[-2] == q[-2] > 1 and all(n == 1 for n in mask[:-2])


def _call(analysis: Analysis, region: Region) -> int:
    return next((row for row in region.rows if analysis.trace.name(row) == _SDPA), ABSENT)


def _mask(analysis: Analysis, region: Region) -> str:
    args = analysis.trace.args(_call(analysis, region))
    types = args.get("Input type")
    kind = f" ({types[_MASK]})" if isinstance(types, list) and len(types) > _MASK else ""
    return f"[{', '.join(map(str, args['Input Dims'][_MASK]))}]{kind}"
