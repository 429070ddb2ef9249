"""Attention that didn't get the backend that its name asks for.

What it does
    Finds attention calls inside an annotation or python function named after a fused backend (flash, cuDNN, memory-efficient) that run unfused.

Why it matters
    The program falls back silently: PyTorch takes another backend where the inputs don't suit, and says so only in a warning.

Example
    with record_function("flash attention"): F.scaled_dot_product_attention(q.float(), k.float(), v.float())

Instead
    with torch.nn.attention.sdpa_kernel(SDPBackend.FLASH_ATTENTION): ... (it fails where the inputs don't suit)

When it stays silent
    Nothing recorded around the call names a backend (a trace holds no trace of sdpa_kernel), or a fused backend ran.

Evidence
    The calls.

Cost and saving
    GPU time of the calls; the saving as that of TK201 and TK202.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracekit.analysis import Analysis
from tracekit.attention import Region
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.fused import fusing, reason
from tracekit.findings.making import finding, steps
from tracekit.trace import Category
from tracekit.units import ns_text, plural

RULE = Rule("TK204", "other-backend", "0.1.0")

_UNFUSED = {"math", "eager", "eager_inplace"}
# Whole words only: a module called FlashyNet asks for nothing. Of a frame the function counts, not its file.
_ASKS = re.compile(r"(?<![a-z])(flash|cudnn|mem(?:ory)?[ _-]?efficient|xformers)(?=[ _-]?(?:attn|attention|sdpa|$))", re.IGNORECASE)
_FRAMES = 4


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding for each name that asks for what didn't run."""
    asked: dict[str, list[Region]] = {}
    for region in analysis.attention.attention:
        if region.backend in _UNFUSED and region.step and region.rows and region.gpu_events:
            name = _asking(analysis, region.rows[0])
            if name:
                asked.setdefault(name, []).append(region)
    for name, regions in asked.items():
        cost, saving, change = fusing(analysis, regions)
        yield finding(
            analysis,
            RULE,
            f"{name[:60]} runs {regions[0].backend} attention",
            f"{plural(len(regions) / steps(analysis), 'call')} a step inside {name[:120]} run unfused ({regions[0].backend}), {ns_text(cost)} a step.",
            "The name asks for a fused backend; PyTorch falls back silently where the inputs don't suit one.",
            f"{reason(regions[0])} Pin the backend (torch.nn.attention.sdpa_kernel): then it fails, and warns why.",
            [row for region in regions[:5] for row in region.rows],
            cost,
            saving,
            change=change,
            confidence=0.7,
        )


def _asking(analysis: Analysis, row: int) -> str:
    """Return the name of what encloses a call and asks for a fused backend, or ""."""
    trace, links = analysis.trace, analysis.links
    around = [up for up in links.ancestors(row) if trace.slices.category[up] == Category.USER_ANNOTATION]
    names = [trace.name(up) for up in around]
    names += [trace.name(up).rsplit(": ", 1)[-1] for up, _ in zip(links.frames(row), range(_FRAMES), strict=False)]
    return next((name for name in names if len(name) < 200 and _ASKS.search(name)), "")
