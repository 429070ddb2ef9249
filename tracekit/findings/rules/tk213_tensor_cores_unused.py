"""Matrix products that don't use tensor cores.

What it does
    Finds matrix products of the class ``gemm.fp32`` that take a share of the step, on a device that has tensor cores.

Why it matters
    Float32 products run at a fraction of the rate that the device has for TF32, bfloat16 or float16.

Example
    a.float() @ b.float()

Instead
    torch.set_float32_matmul_precision('high'), or bfloat16

When it stays silent
    They take less than 2 % of the step, or the device has none.

Evidence
    The products.

Cost and saving
    Their GPU time; the saving at two to eight times their rate.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.analysis.kernels import device_of
from tracekit.analysis.replay import Change
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import (
    cut,
    finding,
    launched,
    line_of,
    longest,
    mend,
    of_class,
    ops_of,
    outermost,
    per_step_ns,
    scaled,
    step_ns,
    steps,
)
from tracekit.kernels import find_device
from tracekit.units import ns_text, plural

RULE = Rule("TK213", "tensor-cores-unused", "0.1.0")

LEAST_SHARE = 0.02


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where float32 products take time."""
    mine = of_class(analysis, "gemm.fp32") & launched(analysis)
    cost = per_step_ns(analysis, mine)
    known = device_of(analysis, analysis.windows.device)
    model = find_device(str(known.get("name", "")), known)
    if cost < LEAST_SHARE * step_ns(analysis) or model is None or not {"tf32", "bf16", "fp16"} & set(model.peak_tflop_s):
        return
    ratio = max(model.peak_tflop_s.get("bf16", 0.0), model.peak_tflop_s.get("fp16", 0.0)) / model.peak_tflop_s.get("fp32", 1.0)
    factors = (2.0, max(ratio / 2, 2.0), max(ratio, 2.0))
    casts = _casts(analysis)
    cuts = cut(analysis, outermost(analysis, casts, {"aten::_to_copy", "aten::to"}))
    changes = [_faster(analysis, mine, casts, factor) for factor in factors]
    made = [mend(analysis, Change(change, cuts), "with the products") for change in changes]
    ops = ops_of(analysis, mine)
    math = any(region.backend == "math" for region in analysis.attention.attention)
    yield finding(
        analysis,
        RULE,
        "matrix products don't use tensor cores",
        f"{plural(int(mine.sum()) / steps(analysis), 'product')} a step in float32, {ns_text(cost)}{line_of(analysis, int(ops[0]) if len(ops) else -1)}.",
        "Without tensor cores a product runs at a fraction of the device's rate.",
        "Use a fused attention backend."
        if math
        else "Don't cast up before the product."
        if casts.any()
        else "Use bfloat16 (autocast), or torch.set_float32_matmul_precision('high') where TF32's precision is enough."
        if "tf32" in model.peak_tflop_s
        else "Use float16 (autocast with a GradScaler): the tensor cores of this device take no other format.",
        longest(analysis, mine),
        max(cost, made[1].won_ns),
        Saving(
            min(one.saving.low_ns for one in made),
            made[1].saving.mid_ns,
            max(one.saving.high_ns for one in made),
            f"{made[1].saving.how} 2, {factors[1]:.0f} and {factors[2]:.0f} times as fast{', without the casts around them' if casts.any() else ''}",
        ),
        change=made[1].change,
    )


def _faster(analysis: Analysis, products: NDArray[np.bool_], casts: NDArray[np.bool_], factor: float) -> NDArray[np.float64]:
    """Return the factor of every GPU event's duration: products are faster, casts go (float64[g])."""
    return np.minimum(scaled(analysis, products, 1 / factor), scaled(analysis, casts))


def _casts(analysis: Analysis) -> NDArray[np.bool_]:
    """Return the casts between float32 and a shorter format: where products are made in float32 only because of them, they go with it (bool[g])."""
    links = analysis.links
    mine = np.zeros(len(analysis.work), dtype=bool)
    for g in np.flatnonzero(of_class(analysis, "elementwise.copy") & launched(analysis) & (links.op >= 0)).tolist():
        around = [int(links.op[g]), *links.ancestors(int(links.op[g]))]
        cast = next((row for row in around if analysis.trace.name(row) == "aten::_to_copy"), -1)
        types = analysis.trace.args(cast).get("Input type") if cast >= 0 else None
        mine[g] = cast >= 0 and (not isinstance(types, list) or bool({"c10::BFloat16", "c10::Half", "float"} & set(types[:1])))
    return mine
