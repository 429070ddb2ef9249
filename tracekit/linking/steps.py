"""The steps of a trace: by ``ProfilerStep#N``, by the user's own marks, or the whole of it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracekit.errors import OptionError
from tracekit.linking.links import Steps
from tracekit.trace import ABSENT, GPU_WORK, I32, I64, Category, Trace

PROFILER_STEP = re.compile(r"ProfilerStep\s*#\s*(\d{1,18})\s*")
WHOLE = "trace"
_HOST_MARKS = (Category.USER_ANNOTATION, Category.CPU_OP, Category.PYTHON_FUNCTION)
_NOT_HOST = (*GPU_WORK, Category.GPU_ANNOTATION, Category.SYNC, Category.OVERHEAD, Category.ACCELERATOR, Category.PROFILER)


@dataclass(frozen=True)
class _Mark:
    """One step in one process: its label, and the mark that stands for it."""

    label: str
    row: int
    start_ns: int
    end_ns: int


def find_steps(trace: Trace, process: I32, step_name: str | None = None) -> tuple[Steps, I32]:
    """Find the steps and the step of each host slice.

    A mark that stands on several threads of a process (the autograd thread's copy) is one step, its longest mark speaking for it. Where several
    processes have marks, each slice goes by those of its own process.

    Args:
        trace: The trace.
        process: int32[t], number of the process of each thread of ``trace.threads``.
        step_name: Name of the user's marks instead of ``ProfilerStep#N``; a number after it may differ.

    Returns:
        The steps, and int32[n]: the step whose mark holds the start of each host slice, -1 outside and for GPU rows.

    Raises:
        OptionError: No slice of the host is called ``step_name``.
    """
    s = trace.slices
    host = ~s.is_any(_NOT_HOST)
    of_slice = np.full(len(s), ABSENT, dtype=np.int32)
    rows = _mark_rows(trace, step_name)
    if not len(rows):
        if step_name is not None:
            raise OptionError(trace.path, f"no annotation or op is called {step_name!r}", "Name one that `tracekit ops` lists.")
        low, high = trace.span_ns
        of_slice[host] = 0
        return Steps((WHOLE,), np.array([ABSENT], np.int64), np.array([low]), np.array([high]), False, _unmarked(trace)), of_slice
    by_process = {p: _marks_of(trace, mine, numbered=step_name is not None) for p, mine in _grouped(rows, process[s.thread[rows]])}
    steps = _together(list(by_process.values()))
    index = {label: i for i, label in enumerate(steps.names)}
    hosts = np.flatnonzero(host)
    for p, mine in _grouped(hosts, process[s.thread[hosts]]):
        of_slice[mine] = _at(by_process[p], index, s.ts_ns[mine]) if p in by_process else steps.at(s.ts_ns[mine])
    return steps, of_slice


def _grouped(rows: I64, process: I32) -> Iterator[tuple[int, I64]]:
    """Yield each process with its rows, in order."""
    order = np.argsort(process, kind="stable")
    borders = np.flatnonzero(np.diff(process[order])) + 1
    for group in np.split(order, borders) if len(order) else ():
        yield int(process[group[0]]), rows[group]


def _mark_rows(trace: Trace, step_name: str | None) -> I64:
    """Return the rows of the marks, in order of time: of the first category that has any."""
    s = trace.slices
    if step_name is None:
        ids = trace.strings.ids_where(PROFILER_STEP.fullmatch)
    else:
        pattern = re.compile(re.escape(step_name) + r"(?:[\s#:_\-/.\[(]*\d+[\])]?)?")
        ids = trace.strings.ids_where(pattern.fullmatch)
    if not len(ids):
        return np.empty(0, np.int64)
    wanted = np.zeros(len(trace.strings), dtype=bool)
    wanted[ids] = True
    named = wanted[s.name]
    for category in _HOST_MARKS:
        rows = np.flatnonzero(named & (s.category == category))
        if len(rows):
            return rows
    return np.empty(0, np.int64)


def _marks_of(trace: Trace, rows: I64, *, numbered: bool) -> list[_Mark]:
    """Join the marks of one process that say the same step; number the repeats of a name.

    Args:
        trace: The trace.
        rows: int64[m], rows of the process's marks in order of time.
        numbered: Whether equal names are told apart by a number even where each stands once (the user's own marks).
    """
    s = trace.slices
    joined: list[_Mark] = []
    open_at: dict[str, int] = {}
    for row in rows.tolist():
        name, start, end = trace.name(row).strip(), int(s.ts_ns[row]), int(s.ts_ns[row] + s.dur_ns[row])
        at = open_at.get(name)
        if at is not None and start < joined[at].end_ns:
            if end - start > joined[at].end_ns - joined[at].start_ns:
                joined[at] = _Mark(name, row, start, end)
            continue
        open_at[name] = len(joined)
        joined.append(_Mark(name, row, start, end))
    repeated = {m.label for i, m in enumerate(joined) if open_at[m.label] != i}
    seen: dict[str, int] = {}
    marks = []
    for mark in joined:
        label = mark.label
        if label in repeated or (numbered and not label[-1:].isdigit() and len(joined) > 1):
            seen[label] = seen.get(label, -1) + 1
            label = f"{label} #{seen[label]}"
        marks.append(_Mark(label, mark.row, mark.start_ns, mark.end_ns))
    return sorted(marks, key=lambda m: (m.start_ns, m.row))


def _together(processes: list[list[_Mark]]) -> Steps:
    """Make one list of steps of those of all processes; a label that several have is described by the process with the most steps."""
    first: dict[str, _Mark] = {}
    for marks in sorted(processes, key=len, reverse=True):
        for mark in marks:
            first.setdefault(mark.label, mark)
    steps = sorted(first.values(), key=lambda m: (m.start_ns, m.row))
    columns = (np.array(values, dtype=np.int64) for values in zip(*((m.row, m.start_ns, m.end_ns) for m in steps), strict=True))
    row, start, end = columns
    return Steps(tuple(m.label for m in steps), row, start, end, True, _missing(steps))


def _at(marks: list[_Mark], index: dict[str, int], ts_ns: I64) -> I32:
    """Return the step of each time by the marks of one process (int32[m], -1 outside)."""
    start = np.array([m.start_ns for m in marks])
    end = np.array([m.end_ns for m in marks])
    number = np.array([index[m.label] for m in marks], dtype=np.int32)
    i = np.searchsorted(start, ts_ns, side="right") - 1
    inside = (i >= 0) & (ts_ns < end[np.maximum(i, 0)])
    return np.where(inside, number[np.maximum(i, 0)], ABSENT).astype(np.int32)


def _missing(steps: list[_Mark]) -> tuple[str, ...]:
    """Say which step numbers are missing between those that are there."""
    numbers = sorted({int(m[1]) for step in steps if (m := PROFILER_STEP.fullmatch(step.label))})
    gaps = [(a + 1, b - 1) for a, b in itertools.pairwise(numbers) if b > a + 1]
    if not gaps:
        return ()
    count = sum(b - a + 1 for a, b in gaps)
    listed = ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in gaps[:5]) + (", …" if len(gaps) > 5 else "")
    return (
        f"{'step' if count == 1 else f'{count} steps:'} {listed} {'is' if count == 1 else 'are'} missing between {numbers[0]} and {numbers[-1]}",
    )


def _unmarked(trace: Trace) -> tuple[str, ...]:
    return ("no ProfilerStep marks: the whole trace is taken as one step",) if len(trace) else ()
