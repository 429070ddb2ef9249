"""What a step would take if something were changed: findings mended, work made faster or slower, ops gone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.analysis.cuts import join_cuts
from tracekit.analysis.notices import notices
from tracekit.analysis.replay import NOTHING, Change, Run
from tracekit.errors import OptionError
from tracekit.findings.finding import Saving
from tracekit.findings.making import cut, scaled, step_ns, steps, wins
from tracekit.findings.registry import all_rules, find
from tracekit.intervals import total
from tracekit.linking import inherited
from tracekit.trace import ABSENT, Category
from tracekit.units import count_text

LONGEST_MATCHED = 2_000
"""Characters of a name that an expression is tried on: a name may be megabytes long."""

MOST_FACTOR = 1_000.0

RUN_TO_RUN = 0.1
"""Share by which clocks, and with them times, differ from run to run."""

_SCALE = re.compile(r"(kernel|class|op)~(.+)=([^=]+)", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """One change that was asked for.

    Attributes:
        asked: As it was given: ``--remove TK101``.
        means: In words.
        gpu_events_per_step: GPU events that it removes or makes faster or slower.
        gpu_ns_per_step: What these take now.
        saving_ns_per_step: What it wins alone in a program that isn't profiled; below 0 where the step gets longer.
        change: In the replay; not in the JSON.
    """

    asked: str
    means: str
    gpu_events_per_step: float
    gpu_ns_per_step: float
    saving_ns_per_step: Saving
    change: Change = field(repr=False, compare=False, metadata={"json": False})


@dataclass(frozen=True)
class StepTimes:
    """The mean step: its time, and how long the GPU is busy and idle in it."""

    wall_ns: float
    gpu_busy_ns: float
    gpu_idle_ns: float


@dataclass(frozen=True)
class WhatIf:
    """The step before and after.

    Attributes:
        trace: The file's name as given.
        parts: What is changed.
        before: The step as recorded.
        after: The same by replay, under the profiler too.
        saving_ns_per_step: What all parts win together in a program that isn't profiled.
        notices: What a user should know.
    """

    SCHEMA: ClassVar[str] = "tracekit.whatif/1"

    trace: str
    parts: tuple[Part, ...]
    before: StepTimes
    after: StepTimes
    saving_ns_per_step: Saving
    notices: tuple[str, ...]


def what_if(analysis: Analysis, *, remove: Sequence[str] = (), scale: Sequence[str] = (), drop_ops: Sequence[str] = ()) -> WhatIf:
    """Return the step before and after some changes.

    Args:
        analysis: The trace's analysis.
        remove: Codes of findings to mend (``TK101``).
        scale: ``kernel~REGEX=FACTOR``, ``class~REGEX=FACTOR`` (GPU time) or ``op~REGEX=FACTOR`` (host time); searched for within the name.
        drop_ops: Names of ops that go, with everything inside them and the GPU work that they launch.

    Raises:
        OptionError: One of them isn't understood, or there is nothing in the trace that it is about.
    """
    parts = [*(_removed(analysis, code) for code in remove), *(_scaled(analysis, one) for one in scale)]
    parts += [_dropped(analysis, name) for name in drop_ops]
    whole = together(analysis, [part.change for part in parts])
    before, after = _times(analysis, whole)
    # One part alone says what the report says of it.
    saving = parts[0].saving_ns_per_step if len(parts) == 1 else _saving(analysis, whole)
    return WhatIf(analysis.trace.path, tuple(parts), before, after, saving, notices(analysis))


def together(analysis: Analysis, changes: Sequence[Change]) -> Change:
    """Return several changes as one: factors multiply, host time that several take away goes once."""
    factors = np.ones(len(analysis.work))
    for change in changes:
        if change.gpu_scale is not None:
            factors *= change.gpu_scale
    return Change(factors, join_cuts(analysis.replay.recorded, [change.cuts for change in changes if change.cuts]))


def _removed(analysis: Analysis, code: str) -> Part:
    asked, code = f"--remove {code}", code.upper()
    if not any(known.startswith(code) for known in all_rules()):
        raise OptionError(asked, "no rule has this code", "List them with `tracekit rules`.")
    found = find(analysis, select=[code]).findings
    if not found:
        raise OptionError(asked, "the report finds nothing of the kind in this trace", "See `tracekit report`.")
    can = [one for one in found if one.change is not None and one.saving_ns_per_step is not None]
    if not can:
        raise OptionError(asked, "the trace doesn't say what mending it would change", f"See `tracekit rules {found[0].code}`.")
    change = together(analysis, [one.change for one in can if one.change is not None])
    saving = can[0].saving_ns_per_step if len(can) == 1 else None
    means = "; ".join(dict.fromkeys(f"without: {one.title}" for one in can))
    return _part(analysis, asked, means, change, saving)


def _scaled(analysis: Analysis, given: str) -> Part:
    asked = f"--scale {given}"
    read = _SCALE.fullmatch(given)
    if read is None:
        raise OptionError(
            asked, "isn't kernel~REGEX=FACTOR, class~REGEX=FACTOR or op~REGEX=FACTOR", "An example: --scale 'kernel~flash=0.5'."
        )
    what, factor = read[1], _factor(asked, read[3])
    try:
        matches = re.compile(read[2]).search
    except re.error as error:
        raise OptionError(asked, f"the expression isn't one: {error}", "Write \\ before a character that is meant as it is.") from error
    means = f"{'host' if what == 'op' else 'GPU'} time of every {what} that matches {read[2]} × {count_text(factor)}"
    if what == "op":
        return _part(analysis, asked, means, _slower_ops(analysis, asked, lambda name: matches(name) is not None, factor))
    work, trace = analysis.work, analysis.trace
    if what == "class":
        mine = np.isin(work.class_id, [i for i, label in enumerate(work.classes) if matches(label)])
    else:
        mine = np.isin(trace.slices.name[work.rows], trace.strings.ids_where(lambda name: matches(name[:LONGEST_MATCHED]) is not None))
    if not (mine & (analysis.links.step >= 0)).any():
        raise OptionError(asked, f"no {what} that a step launches matches", "See `tracekit kernels` for their names.")
    return _part(analysis, asked, means, Change(scaled(analysis, mine, factor)))


def _factor(asked: str, text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = float("nan")
    if not 0 <= factor <= MOST_FACTOR:
        raise OptionError(asked, f"{text} isn't a factor from 0 to {count_text(MOST_FACTOR)}", "0.5 halves the time, 2 doubles it.")
    return factor


def _slower_ops(analysis: Analysis, asked: str, matches: Callable[[str], bool], factor: float) -> Change:
    rows = _calls(analysis, lambda name: matches(name[:LONGEST_MATCHED]))
    if not len(rows):
        raise OptionError(asked, "no op of a step matches", "See `tracekit ops` for their names.")
    if factor <= 1:
        return Change(cuts=cut(analysis, rows.tolist(), share=1 - factor, python_ns=0))
    top = _outermost(analysis, rows)
    longer = (factor - 1) * analysis.trace.slices.dur_ns[top]
    return Change(cuts=cut(analysis, [], added_at=top.tolist(), added_ns=longer))


def _dropped(analysis: Analysis, name: str) -> Part:
    asked = f"--drop-op {name}"
    rows = _calls(analysis, lambda one: one == name)
    if not len(rows):
        raise OptionError(asked, "no op of a step has this name", "See `tracekit ops` for their names.")
    inside = _within(analysis, rows)
    launch = analysis.links.launch
    mine = (launch >= 0) & inside[np.maximum(launch, 0)] if len(launch) else np.zeros(0, dtype=bool)
    return _part(
        analysis, asked, f"without {name} and the GPU work that it launches", Change(scaled(analysis, mine), cut(analysis, rows.tolist()))
    )


def _calls(analysis: Analysis, matches: Callable[[str], bool]) -> NDArray[np.int64]:
    """Return the rows of a step's ops whose name matches."""
    slices = analysis.trace.slices
    named = np.isin(slices.name, analysis.trace.strings.ids_where(matches))
    return np.flatnonzero(named & (slices.category == Category.CPU_OP) & (analysis.links.slice_step >= 0))


def _within(analysis: Analysis, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which slices are one of some slices, or inside one (bool[n])."""
    own = np.full(len(analysis.trace), ABSENT, dtype=np.int32)
    own[rows] = 1
    inside: NDArray[np.bool_] = inherited(analysis.links.parent, own) == 1
    return inside


def _outermost(analysis: Analysis, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    parent = analysis.links.parent[rows]
    inside = _within(analysis, rows)
    return rows[(parent < 0) | ~inside[np.maximum(parent, 0)]]


def _part(analysis: Analysis, asked: str, means: str, change: Change, saving: Saving | None = None) -> Part:
    changed = np.zeros(len(analysis.work), dtype=bool) if change.gpu_scale is None else change.gpu_scale != 1
    time = float(analysis.work.dur_ns[changed].sum())
    count = steps(analysis)
    return Part(asked, means, float(changed.sum()) / count, time / count, saving or _saving(analysis, change), change)


def _saving(analysis: Analysis, change: Change) -> Saving:
    """Return what a change wins, or costs."""
    found = wins(analysis, change)
    low, high = min(found), max(found)
    low, high = low - RUN_TO_RUN * abs(low), high + RUN_TO_RUN * abs(high)
    return Saving(low, found[2], high, "replay of the launch queue with what is changed")


def _times(analysis: Analysis, change: Change) -> tuple[StepTimes, StepTimes]:
    """Return the mean step as it is, and what it is with a change."""
    windows, replay, count = analysis.windows, analysis.replay, steps(analysis)
    wall, busy = step_ns(analysis), float(windows.busy_ns.sum()) / count
    less = _busy_ns(analysis, replay.run(NOTHING)) - _busy_ns(analysis, replay.run(change))
    now = busy - less / replay.steps
    then = max(wall - replay.saving_ns(change), now)
    return StepTimes(wall, busy, wall - busy), StepTimes(then, now, then - now)


def _busy_ns(analysis: Analysis, run: Run) -> float:
    """Return how long the GPU works for the steps in a replay."""
    mine = analysis.links.step[analysis.replay.order] >= 0
    return float(total(np.rint(run.start_ns[mine]).astype(np.int64), np.rint(run.end_ns[mine]).astype(np.int64)))
