"""Drafts a file of expectations from a trace: a start to be read, thought about and edited."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np

from tracekit.analysis import Analysis
from tracekit.errors import escape_control
from tracekit.expectations.evaluate import Samples, amount, class_samples, median_band, step_samples
from tracekit.expectations.language import STEP_COUNTS
from tracekit.findings import find

_SLACK = 1.05  # a budget leaves so much room above the band of the steps seen


def draft(analysis: Analysis) -> str:
    """Return the text of a file of expectations that the trace meets."""
    lines = [f"# Drafted from {escape_control(analysis.trace.path)}: what it shows, not yet what you expect.", ""]
    lines += _trace(analysis) + _step(analysis) + _attention(analysis) + _findings(analysis)
    return "\n".join(lines).rstrip() + "\n"


def _trace(analysis: Analysis) -> list[str]:
    steps = analysis.links.steps
    return ["[trace]", f"steps = {len(steps)}", ""] if steps.marked else []


def _count(samples: Samples) -> str:
    low, high = int(samples.min()), int(samples.max())
    return str(low) if low == high else f'"{low}..{high}"'


def _step(analysis: Analysis) -> list[str]:
    work = analysis.work
    if not len(analysis.links.steps):
        return []
    lines = ["[step]  # every step"]
    lines += [f"{name} = {_count(step_samples(analysis, name))}" for name in STEP_COUNTS]
    for name, of in (("wall_us", "step time"), ("idle_pct", "share of it in which the GPU idles")):
        samples = step_samples(analysis, name)
        _, high = median_band(samples)
        lines.append(f'{name} = "<= {amount(high * _SLACK).replace(",", "")}"  # {of}; median here {amount(float(np.median(samples)))}')
    lines += ["", "[step.classes]"]
    lines += [
        f"{json.dumps(label)} = {_count(samples)}" for label in sorted(work.classes) if (samples := class_samples(analysis, label)).any()
    ]
    return [*lines, ""]


def _attention(analysis: Analysis) -> list[str]:
    regions = analysis.attention.attention
    if not regions:
        return []
    backends = sorted({region.backend for region in regions})
    calls = Counter(region.step for region in regions)
    per_step = np.array([calls.get(name, 0) for name in analysis.links.steps.names], dtype=np.float64)
    kernels = np.array([region.kernels for region in regions], dtype=np.float64)
    return [
        "[attention]  # every call",
        f"backend = {json.dumps(backends[0] if len(backends) == 1 else backends)}",
        f"calls_per_step = {_count(per_step)}",
        f"kernels_per_call = {_count(kernels)}",
        "",
    ]


def _findings(analysis: Analysis) -> list[str]:
    codes = sorted({one.code for one in find(analysis).findings if one.severity != "info"})
    allow = f"allow = {json.dumps(codes)}  # seen here: do you want them?" if codes else "allow = []"
    return ["[findings]", 'at_most = "info"', allow, ""]
