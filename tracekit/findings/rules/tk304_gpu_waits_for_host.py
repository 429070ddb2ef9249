"""The GPU waits for something of the host that has a name.

What it does
    Finds idle time charged to an annotation, a python frame, or an op that launches nothing: data loading, Python code, garbage collection, work on the CPU.

Why it matters
    While the host does that, it launches nothing.

Example
    for batch in loader: ... with workers that are too slow

Instead
    More workers, prefetching, less work between launches.

When it stays silent
    It is less than 5 % of the step, nothing was recorded that names it, or it comes in short pieces between launches (TK303).

Evidence
    The annotation, frame or op, longest first.

Cost and saving
    Idle time charged to it; the saving by replay without it, and at most that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.analysis.idle import Cause
from tracekit.analysis.replay import Change
from tracekit.analysis.timeline import host_timeline
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import finding, idle_cuts, idle_steps, launched_within, line_of, short_stretches, step_ns
from tracekit.trace import Category
from tracekit.units import ns_text

RULE = Rule("TK304", "gpu-waits-for-host", "0.1.0")

LEAST_SHARE = 0.05


@dataclass(frozen=True)
class _Kind:
    """Why the GPU waits, and what to do."""

    why: str
    fix: str
    cap: str = "error"
    confidence: float = 0.9


_NAMED = (
    (
        re.compile(r"dataloader|data_loader|next_batch|load_batch|collate", re.IGNORECASE),
        _Kind("Input isn't ready when the GPU is.", "Give the DataLoader more workers, pin_memory and prefetch; move work out of collate."),
    ),
    (
        re.compile(r"\bgc\b|garbage", re.IGNORECASE),
        _Kind(
            "Python collects garbage in the step.",
            "Freeze or disable the collector in the loop (gc.freeze, gc.disable) and collect between epochs.",
        ),
    ),
)
_OTHER = _Kind(
    "The host runs this instead of launching work.", "Move it off the step's path, or overlap it with work that is launched already."
)
_ON_CPU = _Kind(
    "The op launched nothing on the GPU in this trace: it works on the CPU, or what it launched wasn't recorded.",
    "Move the tensors to the GPU before it, or the work off the step's path.",
    "warning",
    0.6,
)
_BETWEEN = _Kind(
    "Ops run in it, but the GPU waits between them: what the host does there wasn't recorded.",
    "Record with stacks (with_stack=True) to see the Python in it.",
    "warning",
    0.5,
)
_PYTHON = _Kind(
    "Ops run in it, but the GPU waits while Python gets from one to the next.",
    "Do less Python in it, or fewer and larger ops (a fused or foreach optimizer, one stacked tensor for many), or capture it in a CUDA graph.",
    "warning",
    0.6,
)

# The main thread stands here while autograd's own thread works: it says nothing about what that one does.
_BLOCKED = re.compile(r"run_backward|threading.*wait|method 'acquire'")


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding for each named thing that the GPU waits for."""
    idle, count, step = analysis.idle, idle_steps(analysis), step_ns(analysis)
    slices, within = analysis.trace.slices, launched_within(analysis)
    mine = (idle.row >= 0) & ~short_stretches(analysis)
    row = np.maximum(idle.row, 0)
    mine &= np.isin(idle.cause, (Cause.ANNOTATION, Cause.PYTHON)) | ((idle.cause == Cause.OP) & (within[row] == 0))
    names = slices.name[row]
    for name in np.unique(names[mine]).tolist():
        here = mine & (names == name)
        cost = float(idle.dur_ns[here].sum()) / count
        text = analysis.trace.strings[name]
        if cost < LEAST_SHARE * step or _BLOCKED.search(text[:300]):
            continue
        rows = list(dict.fromkeys(idle.row[here][np.argsort(-idle.dur_ns[here], kind="stable")].tolist()))
        kind, frame = _kind(analysis, rows[0], text, within), _frame(analysis, here)
        if kind is _BETWEEN and frame is not None:
            kind = _PYTHON
        change = Change(cuts=idle_cuts(analysis, here))
        yield finding(
            analysis,
            RULE,
            f"the GPU waits for {text[:80]}",
            f"{ns_text(cost)} a step of GPU idle time fall into {text[:120]}{line_of(analysis, rows[0])}.{_most(frame, count)}",
            kind.why,
            kind.fix,
            rows,
            cost,
            Saving(0.8 * cost, 0.97 * cost, 1.1 * cost, "the idle time charged to it"),
            change=change,
            cap=kind.cap,
            confidence=kind.confidence,
        )


def _frame(analysis: Analysis, stretches: NDArray[np.bool_]) -> tuple[str, float] | None:
    """Return the python frame that has most of the time in annotations, and how much (ns); None where no frame was recorded there."""
    idle, slices = analysis.idle, analysis.trace.slices
    mine = np.flatnonzero(stretches & (idle.cause == Cause.ANNOTATION))
    spent: dict[int, float] = {}
    for thread in np.unique(slices.thread[idle.row[mine]]).tolist():
        on = mine[slices.thread[idle.row[mine]] == thread]
        piece, owner, begins, ends = host_timeline(analysis.trace, analysis.links, thread, frames=True).split(
            idle.start_ns[on], idle.end_ns[on]
        )
        # A frame around the annotation doesn't say what goes on in it.
        inside = (owner >= 0) & (slices.ts_ns[np.maximum(owner, 0)] >= slices.ts_ns[idle.row[on[piece]]])
        for name, ns in zip(slices.name[owner[inside]].tolist(), (ends - begins)[inside].tolist(), strict=True):
            spent[name] = spent.get(name, 0.0) + ns
    if not spent:
        return None
    most = max(spent, key=spent.__getitem__)
    return analysis.trace.strings[most], spent[most]


def _most(frame: tuple[str, float] | None, count: int) -> str:
    return f" The Python in it: most, {ns_text(frame[1] / count)} a step, in {frame[0][:120]}." if frame else ""


def _kind(analysis: Analysis, row: int, name: str, within: NDArray[np.int64]) -> _Kind:
    named = next((kind for pattern, kind in _NAMED if pattern.search(name[:300])), None)
    if named is not None:
        return named
    category = analysis.trace.slices.category[row]
    if category == Category.CPU_OP:
        return _ON_CPU
    return _BETWEEN if category == Category.USER_ANNOTATION and within[row] > 0 else _OTHER
