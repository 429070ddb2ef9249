"""Writes a part of a trace, as a trace of its own in which every link is whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.errors import OptionError
from tracekit.trace import I64, Category, Marks, Trace
from tracekit.units import decimal_us, us
from tracekit.writing.raw import packed, parts, read_raw, with_field, with_members

Bools = NDArray[np.bool_]

_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")
_TIMES = re.compile(r"(\d+(?:\.\d+)?)?:(\d+(?:\.\d+)?)?")
_NUMBER = re.compile(r"#\s*(\d+)\s*$")
# Rows of a device that show something else than work: kept where they touch what is kept.
_BESIDE = (Category.GPU_ANNOTATION, Category.SYNC, Category.OVERHEAD, Category.ACCELERATOR)
_KEPT_PHASES = frozenset("M")


@dataclass(frozen=True)
class Part:
    """What is to be kept.

    Attributes:
        steps: Indices into the trace's steps, or None for all.
        low_ns, high_ns: The stretch that slices must touch, or None for all.
        without: Categories to leave out, as the file names them.
    """

    steps: tuple[int, ...] | None = None
    low_ns: int | None = None
    high_ns: int | None = None
    without: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Sliced:
    """What was written.

    Attributes:
        data: The file.
        kept: Events in it.
        left_out: Number of events left out, by category (by phase where they have none).
        notices: What a user should know.
    """

    data: bytes
    kept: int
    left_out: Mapping[str, int]
    notices: tuple[str, ...] = ()


def parse_part(analysis: Analysis, steps: str | None, time: str | None, without: Iterable[str]) -> Part:
    """Read what is to be kept.

    Args:
        analysis: The trace's analysis.
        steps: ``3-5`` or ``3,7-9``: numbers as in the steps' names; where those have none, counted from 0. None for all.
        time: ``A:B`` in µs from the start of the trace; either may be left out. None for all.
        without: Categories to leave out, as the file names them.

    Raises:
        OptionError: There is no such step, time or category.
    """
    low = high = None
    if time is not None:
        low, high = _times(analysis.trace, time)
    known = set(analysis.trace.log.categories) | {str(analysis.trace.strings[one]) for one in np.unique(analysis.trace.flows.raw_category)}
    for one in without:
        if one not in known:
            raise OptionError("--drop", f"no event has the category {one!r}", f"There are {', '.join(sorted(known - {''})[:20])}.")
    return Part(None if steps is None else _steps(analysis, steps), low, high, frozenset(without))


def _steps(analysis: Analysis, text: str) -> tuple[int, ...]:
    names = analysis.links.steps.names
    numbers = [int(found[1]) if (found := _NUMBER.search(name)) else i for i, name in enumerate(names)]
    if not analysis.links.steps.marked:
        raise OptionError("--steps", "the trace marks no steps", "Give --time A:B, or --step NAME with an annotation of yours.")
    wanted: set[int] = set()
    for one in text.split(","):
        found = _RANGE.fullmatch(one.strip())
        if found is None:
            raise OptionError("--steps", f"{text!r} is no list of steps", "Write 3, 3-5 or 3,7-9.")
        low, high = int(found[1]), int(found[2] or found[1])
        inside = {i for i, number in enumerate(numbers) if low <= number <= high}
        if not inside:
            raise OptionError("--steps", f"there is no step {one.strip()}", f"The trace has {min(numbers)} to {max(numbers)}.")
        wanted |= inside
    return tuple(sorted(wanted))


def _times(trace: Trace, text: str) -> tuple[int, int]:
    found = _TIMES.fullmatch(text.strip())
    if found is None:
        raise OptionError("--time", f"{text!r} is no stretch of time", "Write A:B in µs from the start of the trace, such as 1500:2500.5.")
    begin, end = trace.span_ns
    low = begin + round(float(found[1]) * 1000) if found[1] else begin
    high = begin + round(float(found[2]) * 1000) if found[2] else end
    if high <= low or low >= end:
        raise OptionError("--time", f"{text!r} holds nothing", f"The trace goes from 0 to {decimal_us(end - begin)} µs.")
    return low, high


def cut_out(analysis: Analysis, part: Part, *, gzip: bool) -> Sliced:
    """Return the part as a trace file; its events are those of the original, byte for byte (a pair of B and E becomes an X).

    Of a step it holds the host's slices that begin in the step's mark, the GPU's events launched in it, wherever they run, and those that run beside
    them; with each GPU event its launch, with each slice what encloses it, with each flow both its ends. All metadata stays.

    Raises:
        InputError: The trace came from standard input, or can't be read any more.
    """
    trace = analysis.trace
    keep = _slices(analysis, part)
    raw = read_raw(trace)
    wanted = np.zeros(len(raw.events), dtype=bool)
    seen = np.zeros(len(raw.events), dtype=bool)
    seen[trace.slices.index] = True
    wanted[trace.slices.index[keep]] = True
    for marks, chosen in ((trace.flows, _whole(trace, keep)), *((one, _marks(analysis, one, part)) for one in _timed(trace))):
        seen[marks.index] = True
        wanted[marks.index[chosen]] = True
    events, left_out = _chosen(_begun(trace, raw.events), wanted, seen, part.without)
    return Sliced(packed(raw, events, gzip=gzip), len(events), left_out)


def _begun(trace: Trace, events: list[bytes]) -> list[bytes]:
    """Return the events with each pair of B and E as one X: a pair can't be cut in two."""
    if not trace.log.phases.get("E"):
        return events
    out = list(events)
    slices = trace.slices
    for row, at in enumerate(slices.index.tolist()):
        known = parts(out[at])
        if known is not None and known.ph == "B":
            out[at] = with_members(with_field(out[at], "ph", "X"), {"dur": us(int(slices.dur_ns[row]))})
    return [b"" if (known := parts(text)) is not None and known.ph == "E" else text for text in out]


def _chosen(events: Sequence[bytes], wanted: Bools, seen: Bools, without: frozenset[str]) -> tuple[list[bytes], dict[str, int]]:
    out: list[bytes] = []
    left: Counter[str] = Counter()
    for text, mine, known in zip(events, wanted.tolist(), seen.tolist(), strict=True):
        if not text:
            continue
        known_parts = parts(text) if without or not mine else None
        category, phase = (known_parts.cat, known_parts.ph) if known_parts else ("", "")
        # What is neither slice nor mark (metadata) says what the rest means.
        if (mine or not known) and not (category in without and phase not in _KEPT_PHASES):
            out.append(text)
        else:
            left[category or f"phase {phase}"] += 1
    return out, dict(left.most_common())


def _slices(analysis: Analysis, part: Part) -> Bools:
    """Return which slices are kept, bool[n]."""
    trace, links = analysis.trace, analysis.links
    slices = trace.slices
    gpu = np.zeros(len(slices), dtype=bool)
    gpu[links.gpu] = True
    beside = slices.is_any(_BESIDE)
    keep = np.ones(len(slices), dtype=bool)
    marks = links.steps.row[links.steps.row >= 0]
    lost = np.zeros(len(slices), dtype=bool)
    if part.steps is not None:
        mine = np.array(part.steps)
        keep = np.isin(links.slice_step, mine) & ~gpu & ~beside
        keep[links.gpu[np.isin(links.step, mine)]] = True
        windows = analysis.windows
        for low, high in zip(windows.start_ns[mine].tolist(), windows.end_ns[mine].tolist(), strict=True):
            keep |= (gpu | beside) & (slices.ts_ns < high) & (slices.end_ns > low)
        lost[np.delete(marks, mine)] = True
        lost |= _other_marks(trace, marks, mine)
    if part.low_ns is not None and part.high_ns is not None:
        inside = (slices.ts_ns < part.high_ns) & (slices.end_ns >= part.low_ns)
        launched = np.zeros(len(slices), dtype=bool)
        known = links.launch >= 0
        launched[links.gpu[known]] = inside[links.launch[known]]
        keep &= inside | launched
    known = keep[links.gpu] & (links.launch >= 0)
    keep[links.launch[known]] = True
    _with_ancestors(keep, links.parent)
    _with_ancestors(keep, links.frame)
    # The mark of a step that isn't wanted would make a step of what little is kept of it.
    return keep & ~lost


def _other_marks(trace: Trace, marks: I64, mine: I64) -> Bools:
    """Return the copies that other threads have of the marks of steps that aren't wanted."""
    unwanted = np.delete(trace.slices.name[marks], mine)
    kind = np.unique(trace.slices.category[marks])
    return np.isin(trace.slices.name, np.setdiff1d(unwanted, trace.slices.name[marks[mine]])) & np.isin(
        trace.slices.category, [*kind.tolist(), Category.GPU_ANNOTATION]
    )


def _with_ancestors(keep: Bools, parent: NDArray[np.int32]) -> None:
    rows = parent[np.flatnonzero(keep)]
    rows = np.unique(rows[rows >= 0])
    while len(rows):
        rows = rows[~keep[rows]]
        keep[rows] = True
        rows = parent[rows]
        rows = np.unique(rows[rows >= 0])


def _whole(trace: Trace, keep: Bools) -> Bools:
    """Return which flow ends belong to flows whose ends all stand on slices that are kept."""
    flows, slices = trace.flows, trace.slices
    stands = np.zeros(len(flows), dtype=bool)
    rows = np.flatnonzero(keep)
    rows = rows[np.argsort(slices.thread[rows], kind="stable")]
    threads, starts = slices.thread[rows], slices.ts_ns[rows]
    for thread in np.unique(flows.thread).tolist():
        low, high = np.searchsorted(threads, [thread, thread + 1])
        mine = np.flatnonzero(flows.thread == thread)
        if low == high:
            continue
        reach = np.maximum.accumulate(slices.end_ns[rows[low:high]])
        at = np.searchsorted(starts[low:high], flows.ts_ns[mine], side="right") - 1
        stands[mine] = (at >= 0) & (reach[np.maximum(at, 0)] >= flows.ts_ns[mine])
    _, flow = np.unique(np.stack((flows.raw_category.astype(np.int64), flows.id)), axis=1, return_inverse=True)
    flow = flow.reshape(-1)
    lame = np.zeros(int(flow.max(initial=-1)) + 1, dtype=bool)
    lame[flow[~stands]] = True
    return ~lame[flow]


def _timed(trace: Trace) -> tuple[Marks, ...]:
    return trace.instants, trace.counters, trace.asyncs


def _marks(analysis: Analysis, marks: Marks, part: Part) -> Bools:
    """Return which events without a duration lie in what is kept."""
    keep = np.ones(len(marks), dtype=bool)
    if part.steps is not None:
        keep &= np.isin(analysis.links.steps.at(marks.ts_ns), part.steps)
    if part.low_ns is not None and part.high_ns is not None:
        keep &= (marks.ts_ns >= part.low_ns) & (marks.ts_ns < part.high_ns)
    return keep


__all__ = ["Part", "Sliced", "cut_out", "parse_part"]
