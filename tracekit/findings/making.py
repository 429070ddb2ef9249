"""What rules share: evidence, cost, saving by replay, the finding itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.analysis.cuts import Cuts, cut_slices, cut_time, join_cuts
from tracekit.analysis.idle import Cause
from tracekit.analysis.overhead import LEAST_IDLE_SHARE, RECORDING_NS
from tracekit.analysis.paths import python_line
from tracekit.analysis.replay import Change
from tracekit.findings.finding import Evidence, Finding, Rule, Saving
from tracekit.findings.severity import severity
from tracekit.linking import roll_up
from tracekit.trace import CALLS, I64

MOST_EVIDENCE = 5

LEAST_PAGEABLE_BYTES, LEAST_PAGEABLE_NS = 64 * 1024, 10_000
"""Smaller copies (a length, a scalar) are everywhere; where the size wasn't recorded their time tells."""

FEWEST_CALLS, LEAST_DENSITY = 200, 0.01
"""Below this density of call numbers, most calls are missing; of a few calls one can't tell."""

LONGEST_DISPATCH_NS = 200_000
"""No launch and no Python between two launches takes longer: a longer stretch has a cause of its own."""

PYTHON_NS = 6_000
"""Before an op that Python calls, so much of what isn't recorded is the call's at most: arguments are parsed there (2 to 5 µs usually, profiled)."""

GPU_TAIL_NS = 3_000.0
"""What a GPU event may cost its neighbours: the units that idle while it ends, and the cache that it takes. A mask of 14 µs that went won 23 µs."""


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


@dataclass(frozen=True)
class Mend:
    """What mending a finding does.

    Attributes:
        change: In the replay.
        saving: What it wins in a program that isn't profiled.
        won_ns: What it wins in the trace as it is, ns per step.
    """

    change: Change
    saving: Saving
    won_ns: float


def scaled(analysis: Analysis, events: NDArray[np.bool_], factor: float | NDArray[np.float64] = 0.0) -> NDArray[np.float64]:
    """Return the factor of every GPU event's duration (float64[g]), where some events that a step launched take ``factor`` of theirs.

    Args:
        analysis: The trace's analysis.
        events: bool[g], which.
        factor: One for all, or float64[events] one for each.
    """
    factors = np.ones(len(analysis.work))
    factors[events] = factor
    factors[~launched(analysis)] = 1.0
    return factors


def cut(analysis: Analysis, rows: Sequence[int], **how: Any) -> Cuts:
    """Return the cuts of host slices that go, with the interpreter's way into them; see ``cut_slices``."""
    return cut_slices(analysis.trace, analysis.replay.recorded, rows, **{"python_ns": PYTHON_NS, **how})


def wins(analysis: Analysis, change: Change) -> tuple[float, float, float, float]:
    """Return what a change wins, ns per step: in the trace as it is, and without the profiler, recording being cheap, usual or dear; below 0 what it costs."""
    replay = analysis.replay
    as_it_is = replay.saving_ns(change)
    idle = float(analysis.windows.idle_ns.sum())
    if idle <= LEAST_IDLE_SHARE * float(analysis.windows.wall_ns.sum()):
        return as_it_is, as_it_is, as_it_is, as_it_is
    cheap, usual, dear = (replay.saving_ns(change, recording_ns=cost) for cost in RECORDING_NS)
    return as_it_is, cheap, usual, dear


def mend(analysis: Analysis, change: Change, how: str, *, gpu_tail_ns: float = GPU_TAIL_NS) -> Mend:
    """Return what a change wins, by replay.

    Args:
        analysis: The trace's analysis.
        change: What is changed.
        how: In words: what the replay does without.
        gpu_tail_ns: What an event that goes may have cost its neighbours beyond its own time.
    """
    as_it_is, cheap, usual, dear = (max(one, 0.0) for one in wins(analysis, change))
    gone = 0 if change.gpu_scale is None else int((change.gpu_scale == 0).sum())
    # Beyond the profiler: clocks differ from run to run by a tenth, and an event that goes leaves its neighbours warmer caches and no tail of idle units.
    low, high = 0.9 * min(as_it_is, cheap, usual, dear), 1.1 * max(as_it_is, cheap, usual, dear)
    high = max(min(high + gpu_tail_ns * gone / steps(analysis), step_ns(analysis)), usual)
    return Mend(change, Saving(low, usual, high, f"replay of the launch queue {how}"), as_it_is)


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


def expanded_heads(analysis: Analysis) -> NDArray[np.bool_]:
    """Return the copies that write out keys or values for every head of a group (bool[g]): a reshape of five dimensions right after an expand."""
    trace, links = analysis.trace, analysis.links
    mine = np.zeros(len(analysis.work), dtype=bool)
    for g in np.flatnonzero(launched(analysis) & (links.op >= 0) & of_class(analysis, "elementwise.copy", "memcpy.DtoD")).tolist():
        op = int(links.op[g])
        top = next((row for row in (op, *links.ancestors(op)) if trace.name(row) == "aten::reshape"), -1)
        if top < 0:
            continue
        dims = trace.args(top).get("Input Dims")
        five = isinstance(dims, list) and bool(dims) and isinstance(dims[0], list) and len(dims[0]) == 5
        before = [row for row in range(max(top - 6, 0), top) if links.parent[row] == links.parent[top]]
        mine[g] = five and bool(before) and trace.name(before[-1]) == "aten::expand"
    return mine


def pageable_inputs(analysis: Analysis) -> NDArray[np.bool_]:
    """Return the copies of at least ``LEAST_PAGEABLE_BYTES`` from pageable host memory (bool[g])."""
    trace, work = analysis.trace, analysis.work
    ids = trace.strings.ids_where(lambda name: name.startswith("Memcpy HtoD") and "Pageable" in name)
    mine = np.isin(trace.slices.name[work.rows], ids) & launched(analysis)
    for g in np.flatnonzero(mine).tolist():
        size = trace.args(int(work.rows[g])).get("bytes")
        mine[g] = size >= LEAST_PAGEABLE_BYTES if isinstance(size, int) else work.dur_ns[g] >= LEAST_PAGEABLE_NS
    return mine


def launched_within(analysis: Analysis) -> I64:
    """Return the GPU time that was launched inside each slice, at any depth (int64[n])."""
    links = analysis.links
    own = np.zeros(len(analysis.trace), dtype=np.int64)
    linked = links.launch >= 0
    np.add.at(own, links.launch[linked], analysis.work.dur_ns[linked])
    return roll_up(links.parent, own)


def seems_sampled(analysis: Analysis) -> bool:
    """Say whether most runtime calls are missing from the trace: their numbers are far apart.

    A number goes to every call, recorded or not: 3 to 100 % of the numbers are in whole traces, 0.5 % in two that were thinned out by hand.
    """
    slices = analysis.trace.slices
    known = slices.correlation[slices.is_any(CALLS) & (slices.correlation >= 0)]
    if len(known) < FEWEST_CALLS:
        return False
    return len(np.unique(known)) < LEAST_DENSITY * float(known.max() - known.min() + 1)


def short_stretches(analysis: Analysis) -> NDArray[np.bool_]:
    """Return which idle stretches are those of launching: charged to ops, calls and the Python between them, and no longer than that takes (bool[q])."""
    idle = analysis.idle
    busy_with = (Cause.OP, Cause.RUNTIME, Cause.PYTHON, Cause.ANNOTATION, Cause.NO_HOST_EVENT)
    short: NDArray[np.bool_] = np.isin(idle.cause, busy_with) & (idle.dur_ns <= LONGEST_DISPATCH_NS) & ~_of_leaf(analysis)
    return short


def _of_leaf(analysis: Analysis) -> NDArray[np.bool_]:
    """Return which idle stretches are charged to an annotation inside which nothing is launched (bool[q]): it says what the host did instead."""
    idle = analysis.idle
    within = launched_within(analysis)
    leaf: NDArray[np.bool_] = (idle.cause == Cause.ANNOTATION) & (within[np.maximum(idle.row, 0)] == 0)
    return leaf


def idle_cuts(analysis: Analysis, stretches: NDArray[np.bool_]) -> Cuts:
    """Return the cuts of the host's time in some idle stretches (bool[q]): the GPU waited for the host there."""
    idle, links, slices = analysis.idle, analysis.links, analysis.trace.slices
    launch = np.where(idle.next >= 0, links.launch[np.maximum(idle.next, 0)], -1)
    thread = np.where(launch >= 0, slices.thread[np.maximum(launch, 0)], -1)
    recorded, cuts = analysis.replay.recorded, []
    for one in np.unique(thread[stretches & (thread >= 0)]).tolist():
        mine = stretches & (thread == one)
        cuts.append(cut_time(recorded, one, idle.start_ns[mine], idle.end_ns[mine]))
    return join_cuts(recorded, cuts)


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
    change: Change | None = None,
    cap: str = "error",
    confidence: float = 0.9,
) -> Finding:
    """Return a finding with the severity that its cost has."""
    level = severity(cost_ns, step_ns(analysis), rule.cap, cap, saving=saving)
    if rule.code in _OF_HOST and seems_sampled(analysis):
        # What the host did between the calls that are left can't be known.
        level, confidence = "info", min(confidence, 0.3)
        what += " Most of the trace's runtime calls seem to be missing, so that this may be an artefact."
    return Finding(rule.code, level, title, what, why, fix, evidence(analysis, rows), cost_ns, saving, confidence, change)


_OF_HOST = {"TK301", "TK302", "TK303", "TK304", "TK305"}
