"""What rules share: evidence, cost, saving by replay, the finding itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.analysis.overhead import unprofiled_step_ns
from tracekit.analysis.paths import python_line
from tracekit.analysis.replay import Change
from tracekit.findings.finding import Evidence, Finding, Rule, Saving
from tracekit.findings.severity import severity
from tracekit.trace import I64

MOST_EVIDENCE = 5


def steps(analysis: Analysis) -> int:
    """Return the number of steps, at least 1."""
    return max(len(analysis.links.steps), 1)


def step_ns(analysis: Analysis) -> float:
    """Return the mean step time."""
    return float(analysis.windows.wall_ns.sum()) / steps(analysis)


def launched(analysis: Analysis) -> NDArray[np.bool_]:
    """Return which GPU events were launched in a step (bool[g])."""
    return analysis.links.step >= 0


def of_class(analysis: Analysis, *names: str) -> NDArray[np.bool_]:
    """Return which GPU events are of the classes, or of those below them (bool[g])."""
    work = analysis.work
    ids = [i for i, label in enumerate(work.classes) if any(label == name or label.startswith(name + ".") for name in names)]
    return np.isin(work.class_id, ids)


def per_step_ns(analysis: Analysis, events: NDArray[np.bool_]) -> float:
    """Return the GPU time of some events per step."""
    return float(analysis.work.dur_ns[events & launched(analysis)].sum()) / steps(analysis)


def idle_steps(analysis: Analysis) -> int:
    """Return the number of steps whose idle time the windows hold.

    A window on the device ends where the next step's work begins, so that what the GPU waits for before a step lies in the window before it; before the
    first step there is none.
    """
    windows = analysis.windows
    count = steps(analysis)
    return max(count - 1, 1) if analysis.links.steps.marked and windows.on_device.any() else count


def unprofiled_share(analysis: Analysis) -> float:
    """Return what is left of host time without the profiler: an op that is recorded takes longer than it would."""
    step = step_ns(analysis)
    waits = float(analysis.windows.idle_ns.sum()) / steps(analysis)
    if waits <= 0.1 * step:
        return 1.0
    free = unprofiled_step_ns(analysis)
    return min(max((free.mid_ns - (step - waits)) / waits, 0.3), 1.0)


def remove(
    analysis: Analysis, events: NDArray[np.bool_], how: str, *, scale: float | NDArray[np.float64] = 0.0, hosts: Sequence[int] = ()
) -> Saving:
    """Return what removing (or shortening) GPU events would win: by replay, together with the host time around them.

    Args:
        analysis: The trace's analysis.
        events: bool[g], which.
        how: In words.
        scale: Factor of their duration, one for all or one for each of the events; 0 removes them.
        hosts: Rows of host slices that would go as well; none inside another.
    """
    mine = events & launched(analysis)
    factors = np.ones(len(analysis.work))
    factors[mine] = scale if isinstance(scale, float) else scale[mine[events]]
    gpu = max(analysis.replay.saving_ns(Change(factors)), 0.0)
    both = max(analysis.replay.saving_ns(Change(factors, hosts)), gpu) if len(hosts) else gpu
    mid = gpu + (both - gpu) * unprofiled_share(analysis)
    return Saving(max(0.9 * gpu, 0.5 * mid), mid, max(1.1 * gpu, 1.2 * mid, both), f"replay of the launch queue: {how}")


def evidence(analysis: Analysis, rows: Iterable[int]) -> tuple[Evidence, ...]:
    """Return the first few slices of a finding."""
    trace = analysis.trace
    slices = trace.slices
    out = []
    for row in list(rows)[:MOST_EVIDENCE]:
        thread = trace.threads[slices.thread[row]]
        out.append(Evidence(int(row), trace.name(int(row)), int(slices.ts_ns[row]), int(slices.dur_ns[row]), thread.pid, thread.tid))
    return tuple(out)


def longest(analysis: Analysis, events: NDArray[np.bool_]) -> list[int]:
    """Return rows of GPU events, the longest first."""
    at = np.flatnonzero(events & launched(analysis))
    return [int(row) for row in analysis.work.rows[at[np.argsort(-analysis.work.dur_ns[at], kind="stable")]]]


def line_of(analysis: Analysis, row: int) -> str:
    """Return " at FILE(LINE): FUNCTION" where stacks were recorded, else ""."""
    found = python_line(analysis.trace, analysis.links, row) if row >= 0 else ""
    return f" at {found[:120]}" if found else ""


def outermost(analysis: Analysis, events: NDArray[np.bool_], names: set[str]) -> list[int]:
    """Return the rows of the outermost ops of these names around the launches of some events, each once."""
    links = analysis.links
    rows = set()
    for op in ops_of(analysis, events).tolist():
        top = [row for row in (op, *links.ancestors(op)) if analysis.trace.name(row) in names]
        if top:
            rows.add(top[-1])
    return sorted(rows)


def names_above(analysis: Analysis, row: int) -> list[str]:
    """Return the names of the ops around a slice, itself first."""
    return [analysis.trace.name(at) for at in (row, *analysis.links.ancestors(row))] if row >= 0 else []


def ops_of(analysis: Analysis, events: NDArray[np.bool_]) -> I64:
    """Return the distinct ops that launched some events."""
    ops = analysis.links.op[events]
    return np.unique(ops[ops >= 0])


def finding(
    analysis: Analysis,
    rule: Rule,
    title: str,
    what: str,
    why: str,
    fix: str,
    rows: Iterable[int],
    cost_ns: float,
    saving: Saving | None = None,
    *,
    cap: str = "error",
    confidence: float = 0.9,
) -> Finding:
    """Return a finding with the severity that its cost has."""
    level = severity(cost_ns, step_ns(analysis), cap)
    return Finding(rule.code, level, title, what, why, fix, evidence(analysis, rows), cost_ns, saving, confidence)
