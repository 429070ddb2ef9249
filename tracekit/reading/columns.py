"""Makes the trace's columns of the rows that were read, and counts what became of each."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.reading.categories import category_of
from tracekit.reading.numbers import INT64_MAX, UNKNOWN_STREAM, fold, id_of
from tracekit.reading.rows import DROPS, EVENT_REPAIRS, MISSING, TEXT_ID, Rows, Thread, bit
from tracekit.trace import ABSENT, GPU_WORK, Category, Drop, Marks, Place, Repair, Slices, Strings
from tracekit.trace import Thread as NamedThread

_PLACES = 3  # first places kept of each reason
_FLOWS, _INSTANTS, _COUNTERS, _ASYNCS = "stf", "iIR", "C", "benSFTp"
_SAME = {"I": "i", "R": "i", "S": "b", "F": "e", "T": "n", "p": "n"}
_NAMING = ("process_name", "process_labels", "thread_name")
Bools = NDArray[np.bool_]
Ints = NDArray[Any]


def match_ends(rows: Rows) -> None:
    """Give each B the duration up to its E (an E ends the latest B that is open on its row), and mark what has no partner."""
    at = np.flatnonzero(np.isin(rows["phase"], (ord("B"), ord("E"))) & (rows["drop"] == 0))
    if not len(at):
        return
    at = at[np.lexsort((at, rows["ts"][at], rows["thread"][at]))]
    begins: list[int] = []
    here = -1
    phases, threads, times = rows["phase"][at].tolist(), rows["thread"][at].tolist(), rows["ts"][at].tolist()
    start_of: dict[int, int] = {}
    unmatched, unclosed = [], []
    for row, phase, thread, ts in zip(at.tolist(), phases, threads, times, strict=True):
        if thread != here:
            unclosed += begins
            begins, here = [], thread
        if phase == ord("B"):
            begins.append(row)
            start_of[row] = ts
        elif begins:
            begun = begins.pop()
            length = ts - start_of[begun]
            if length > INT64_MAX - max(start_of[begun], 0):
                rows["drop"][[begun, row]] = 1 + DROPS.index(Drop.TIME_OUT_OF_RANGE)
            else:
                rows["dur"][begun] = length
        else:
            unmatched.append(row)
    rows["drop"][unmatched] = 1 + DROPS.index(Drop.UNMATCHED_END)
    rows["repairs"][unclosed + begins] |= bit(Repair.UNCLOSED_BEGIN)


@dataclass(frozen=True)
class Counts:
    """The log's numbers."""

    in_file: int
    kept: int
    dropped: dict[Drop, int]
    repaired: dict[Repair, int]
    places: list[tuple[Drop | Repair, int]]
    phases: dict[str, int]


def count(rows: Rows) -> Counts:
    """Count rows by fate."""
    fate = np.bincount(rows["drop"], minlength=1 + len(DROPS))
    dropped = {reason: int(n) for reason, n in zip(DROPS, fate[1:], strict=True) if n}
    kept = rows["drop"] == 0
    phases = np.bincount(rows["phase"][kept], minlength=256)
    repaired: dict[Repair, int] = {}
    places: list[tuple[Drop | Repair, int]] = []
    mended = np.flatnonzero(rows["repairs"])
    bits = rows["repairs"][mended]
    for repair in EVENT_REPAIRS:
        hit = mended[(bits & bit(repair)) > 0]
        if len(hit):
            repaired[repair] = len(hit)
            places += [(repair, int(at)) for at in rows["at"][hit[:_PLACES]]]
    lost = np.flatnonzero(~kept)
    for reason in dropped:
        hit = lost[rows["drop"][lost] == 1 + DROPS.index(reason)]
        places += [(reason, int(at)) for at in rows["at"][hit[:_PLACES]]]
    by_phase = {chr(int(code)): int(phases[code]) for code in np.flatnonzero(phases)}
    return Counts(len(rows), int(fate[0]), dropped, repaired, places, by_phase)


def first_places(places: Sequence[tuple[Drop | Repair, int]], excerpt: Callable[[int], str]) -> tuple[Place, ...]:
    """Return the first few places of each reason, in the file's order."""
    by_reason: dict[Drop | Repair, list[int]] = {}
    for reason, at in places:
        by_reason.setdefault(reason, []).append(at)
    picked = [Place(reason, at, excerpt(at)) for reason, found in by_reason.items() for at in heapq.nsmallest(_PLACES, found)]
    return tuple(sorted(picked, key=lambda place: (place.offset_bytes, place.reason.value)))


@dataclass(frozen=True)
class Columns:
    """The trace's parts that are made of events."""

    slices: Slices
    flows: Marks
    instants: Marks
    counters: Marks
    asyncs: Marks
    strings: Strings
    threads: tuple[NamedThread, ...]
    categories: dict[str, int]


def to_columns(rows: Rows, strings: list[str], threads: list[Thread], parse_args: Callable[[int, int], Mapping[str, Any]]) -> Columns:
    """Make columns of all rows.

    Args:
        rows: ``ROW[n]`` in the file's order.
        strings, threads: What their ``name``, ``category`` and ``thread`` count in.
        parse_args: Reads the args at an offset, of a length.
    """
    kept = rows["drop"] == 0
    phase = rows["phase"]
    is_slice = kept & ((phase == ord("X")) | (phase == ord("B")))
    sets = (_FLOWS, _INSTANTS, _COUNTERS, _ASYNCS)
    is_mark = [kept & np.isin(phase, [ord(one) for one in phases]) for phases in sets]
    any_mark = np.logical_or.reduce(is_mark)
    used = is_slice | any_mark
    names = _thread_names(rows, kept, strings, threads, parse_args)
    per_category = np.bincount(rows["category"][is_slice], minlength=len(strings))
    raw = [int(one) for one in np.flatnonzero(per_category)]
    kind = np.zeros(max(len(strings), 1), dtype=np.uint8)
    kind[raw] = [category_of(strings[one]) for one in raw]
    if raw and all(not strings[one].strip() for one in raw):
        # torch without Kineto writes a list of ops without any category.
        kind[raw] = Category.CPU_OP
    string_order = _by_first_use(len(strings), [(rows["name"], used), (rows["category"], any_mark)])
    thread_order = _by_first_use(len(threads), [(rows["thread"], used)])
    renumber, rethread = _inverse(string_order, len(strings)), _inverse(thread_order, len(threads))
    text_ids: dict[int, int] = {}
    flows, instants, counters, asyncs = (_to_marks(rows, np.flatnonzero(one), renumber, rethread, text_ids) for one in is_mark)
    return Columns(
        _to_slices(rows, np.flatnonzero(is_slice), kind, renumber, rethread, threads),
        flows,
        instants,
        counters,
        asyncs,
        Strings([strings[one] for one in string_order]),
        tuple(names(*threads[one]) for one in thread_order),
        {strings[one]: int(per_category[one]) for one in sorted(raw, key=strings.__getitem__)},
    )


def _by_first_use(size: int, uses: Sequence[tuple[Ints, Bools]]) -> list[int]:
    """Return the ids in use, in the order of their first use: the same however the file was cut."""
    first = np.full((len(uses), max(size, 1)), INT64_MAX, dtype=np.int64)
    for line, (ids, wanted) in zip(first, uses, strict=True):
        at = np.flatnonzero(wanted)[::-1]
        line[ids[at]] = at  # backwards, so that the first use is written last
    best = first.min(axis=0)
    by = first.argmin(axis=0)
    ids = np.flatnonzero(best < INT64_MAX)
    return [int(one) for one in ids[np.lexsort((by[ids], best[ids]))]]


def _inverse(order: Sequence[int], size: int) -> NDArray[np.int32]:
    out = np.full(max(size, 1), ABSENT, dtype=np.int32)
    out[list(order)] = np.arange(len(order), dtype=np.int32)
    return out


def time_order(ts: NDArray[np.int64], dur: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order by (start, longer first, place in the file).

    Args:
        ts, dur: int64[n] ns, in the file's order.
    """
    order = np.argsort(ts, kind="stable")
    same = np.diff(ts[order]) == 0
    if same.any():
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        rows = order[tied]
        order[tied] = rows[np.lexsort((rows, -dur[rows], ts[rows]))]
    return order


def _to_slices(rows: Rows, at: Ints, kind: Ints, renumber: Ints, rethread: Ints, threads: list[Thread]) -> Slices:
    at = at[time_order(rows["ts"][at], rows["dur"][at])]
    category = kind[rows["category"][at]]
    gpu = np.isin(category, GPU_WORK)
    thread = rows["thread"][at]
    device = _row_ids(rows["device"][at], gpu, thread, [pid for pid, _ in threads])
    device[device < ABSENT] = ABSENT
    correlation, external = rows["correlation"][at], rows["external"][at]
    # roctracer writes 0 where it doesn't know the correlation, others -1.
    correlation[(correlation == MISSING) | (correlation == 0) | (correlation == UNKNOWN_STREAM)] = ABSENT
    external[(external < ABSENT) | (external == 0)] = ABSENT
    return Slices(
        ts_ns=_frozen(rows["ts"][at]),
        dur_ns=_frozen(rows["dur"][at]),
        name=_frozen(renumber[rows["name"][at]]),
        category=_frozen(category),
        thread=_frozen(rethread[thread]),
        device=_frozen(device),
        stream=_frozen(_row_ids(rows["stream"][at], gpu, thread, [tid for _, tid in threads])),
        correlation=_frozen(correlation),
        external_id=_frozen(external),
        args_at=_frozen(rows["args_at"][at]),
        args_len=_frozen(rows["args_len"][at]),
        index=_frozen(at),
    )


def _row_ids(found: Ints, gpu: Bools, thread: Ints, raw: list[int | str]) -> Ints:
    """Return the device or stream of each GPU event: its args', else the number of its row; -1 for all others."""
    numbers = [id_of(one) for one in raw]
    of_row = np.array([ABSENT if one is None else fold(one) for one in numbers] or [ABSENT], dtype=np.int64)
    found = np.where(found == MISSING, of_row[thread], found)
    found[~gpu | (found == UNKNOWN_STREAM)] = ABSENT
    return found


def _to_marks(rows: Rows, at: Ints, renumber: Ints, rethread: Ints, text_ids: dict[int, int]) -> Marks:
    same = np.arange(256, dtype=np.uint8)
    for one, other in _SAME.items():
        same[ord(one)] = ord(other)
    ids = rows["correlation"][at]
    ids[ids == MISSING] = ABSENT
    for row in np.flatnonzero(rows["flags"][at] & TEXT_ID):
        # Text that is no number gets a number of its own, below those that files have.
        ids[row] = text_ids.setdefault(int(ids[row]), -2 - len(text_ids))
    return Marks(
        ts_ns=_frozen(rows["ts"][at]),
        name=_frozen(renumber[rows["name"][at]]),
        raw_category=_frozen(renumber[rows["category"][at]]),
        phase=_frozen(same[rows["phase"][at]]),
        thread=_frozen(rethread[rows["thread"][at]]),
        id=_frozen(ids),
        args_at=_frozen(rows["args_at"][at]),
        args_len=_frozen(rows["args_len"][at]),
        index=_frozen(at),
    )


def _thread_names(
    rows: Rows, kept: Bools, strings: list[str], threads: list[Thread], parse_args: Callable[[int, int], Mapping[str, Any]]
) -> Callable[[int | str, int | str], NamedThread]:
    """Read the metadata events; return what makes a thread of its pid and tid."""
    wanted = [i for i, text in enumerate(strings) if text in _NAMING]
    at = np.flatnonzero(kept & (rows["phase"] == ord("M")) & np.isin(rows["name"], wanted))
    names: dict[tuple[int | str, int | str | None, str], str] = {}
    for row in rows[at]:
        args = parse_args(int(row["args_at"]), int(row["args_len"])) if row["args_len"] > 0 else {}
        value = args.get("name", args.get("labels"))
        if isinstance(value, str):
            pid, tid = threads[row["thread"]]
            key = strings[row["name"]]
            names.setdefault((pid, tid if key == "thread_name" else None, key), value)

    def named(pid: int | str, tid: int | str) -> NamedThread:
        name = names.get((pid, tid, "thread_name"), "")
        if not name and isinstance(tid, int) and tid < 0:
            # Kineto takes the sign off in metadata and flows, but not in slices.
            name = names.get((pid, -tid, "thread_name"), "")
        return NamedThread(pid, tid, name, names.get((pid, None, "process_name"), ""), names.get((pid, None, "process_labels"), ""))

    return named


def _frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array
