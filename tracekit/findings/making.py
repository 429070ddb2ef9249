"""What rules share: evidence, cost, saving by replay, the finding itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
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


def remove(analysis: Analysis, events: NDArray[np.bool_], how: str, *, scale: float = 0.0, hosts: Sequence[int] = ()) -> Saving:
    """Return what removing (or shortening) GPU events would win: by replay, with and without the host time around them.

    Args:
        analysis: The trace's analysis.
        events: bool[g], which.
        how: In words.
        scale: Factor of their duration; 0 removes them.
        hosts: Rows of host slices that would go as well.
    """
    factors = np.ones(len(analysis.work))
    factors[events & launched(analysis)] = scale
    mid = analysis.replay.saving_ns(Change(factors))
    high = analysis.replay.saving_ns(Change(factors, hosts)) if hosts else mid
    return Saving(
        max(min(mid, high) * 0.9, 0.0), max(max(mid, high * 0.9), 0.0), max(mid, high) * 1.1, f"replay of the launch queue: {how}"
    )


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
