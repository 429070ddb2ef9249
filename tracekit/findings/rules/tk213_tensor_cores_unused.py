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
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import finding, launched, line_of, longest, names_above, of_class, ops_of, per_step_ns, remove, step_ns, steps
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
    wins = [remove(analysis, mine, "products faster", scale=1 / factor).mid_ns for factor in factors]
    casts = per_step_ns(analysis, _casts(analysis))
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
        else "Use bfloat16, or torch.set_float32_matmul_precision('high') where TF32's precision is enough.",
        longest(analysis, mine),
        cost,
        Saving(
            wins[0],
            wins[1],
            1.05 * wins[2] + casts,
            f"replay with the products 2, {factors[1]:.0f} and {factors[2]:.0f} times as fast, the last without the casts",
        ),
    )


def _casts(analysis: Analysis) -> NDArray[np.bool_]:
    """Return the casts that float32 products need: they go with them."""
    links = analysis.links
    mine = np.zeros(len(analysis.work), dtype=bool)
    for g in np.flatnonzero(of_class(analysis, "elementwise.copy") & launched(analysis) & (links.op >= 0)).tolist():
        mine[g] = "aten::_to_copy" in names_above(analysis, int(links.op[g]))
    return mine
