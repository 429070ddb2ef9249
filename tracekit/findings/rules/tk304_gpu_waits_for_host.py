"""The GPU waits for something of the host that has a name.

What it does
    Finds idle time charged to an annotation or a python frame: data loading, Python code, garbage collection.

Why it matters
    While the host does that, it launches nothing.

Example
    for batch in loader: ... with workers that are too slow

Instead
    More workers, prefetching, less work between launches.

When it stays silent
    It is less than 5 % of the step, or nothing was recorded that names it.

Evidence
    The annotation or frame, longest first.

Cost and saving
    Idle time charged to it; the saving is at most that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.idle import Cause
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import finding, idle_steps, step_ns
from tracekit.units import ns_text

RULE = Rule("TK304", "gpu-waits-for-host", "0.1.0")

LEAST_SHARE = 0.05
_KINDS = (
    (
        re.compile(r"dataloader|data_loader|next_batch|load_batch|collate", re.IGNORECASE),
        "Input isn't ready when the GPU is.",
        "Give the DataLoader more workers, pin_memory and prefetch; move work out of collate.",
    ),
    (
        re.compile(r"gc\\.|garbage", re.IGNORECASE),
        "Python collects garbage in the step.",
        "Freeze or disable the collector in the loop (gc.freeze, gc.disable) and collect between epochs.",
    ),
    (
        re.compile(r"Optimizer\\.step"),
        "The optimizer's Python code takes longer than its kernels.",
        "Use a fused optimizer (fused=True) or capturable with a graph.",
    ),
)

# The main thread stands here while autograd's own thread works: it says nothing about what that one does.
_BLOCKED = re.compile(r"run_backward|threading.*wait|method 'acquire'")


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding for each named thing that the GPU waits for."""
    idle, count, step = analysis.idle, idle_steps(analysis), step_ns(analysis)
    mine = np.isin(idle.cause, (Cause.ANNOTATION, Cause.PYTHON)) & (idle.row >= 0)
    names = analysis.trace.slices.name[np.maximum(idle.row, 0)]
    for name in np.unique(names[mine]).tolist():
        here = mine & (names == name)
        cost = float(idle.dur_ns[here].sum()) / count
        if cost < LEAST_SHARE * step:
            continue
        text = analysis.trace.strings[name]
        if _BLOCKED.search(text):
            continue
        why, fix = next(
            ((one, mend) for pattern, one, mend in _KINDS if pattern.search(text)),
            (
                "The host runs this instead of launching work.",
                "Move it off the step's path, or overlap it with work that is launched already.",
            ),
        )
        rows = list(dict.fromkeys(idle.row[here][np.argsort(-idle.dur_ns[here], kind="stable")].tolist()))
        yield finding(
            analysis,
            RULE,
            f"the GPU waits for {text[:80]}",
            f"{ns_text(cost)} a step of GPU idle time fall into {text[:120]}.",
            why,
            fix,
            rows,
            cost,
            Saving(0.8 * cost, 0.97 * cost, 1.1 * cost, "the idle time charged to it"),
        )
