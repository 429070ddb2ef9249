"""Collects events and makes the trace's columns of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracekit.reading.categories import category_of
from tracekit.reading.numbers import INT64_MAX, correlation_of, external_of, id_of, stream_of
from tracekit.trace import ABSENT, GPU_WORK, Category, Drop, Marks, Place, Repair, Slices, Strings, Thread

_IDS = (
    Category.CPU_OP,
    Category.RUNTIME,
    Category.DRIVER,
    *GPU_WORK,
    Category.SYNC,
    Category.OVERHEAD,
    Category.OTHER,
    Category.ACCELERATOR,
)
WANTS_IDS = frozenset(_IDS)
_PLACES = 3  # first places kept of each reason
_MARKS = {"s": "flows", "t": "flows", "f": "flows", "i": "instants", "I": "instants", "R": "instants", "C": "counters"}
_ASYNC = {"b": "b", "e": "e", "n": "n", "S": "b", "F": "e", "T": "n", "p": "n"}


@dataclass(frozen=True)
class Event:
    """One event as the scanners hand it over.

    Attributes:
        phase: Its phase character.
        name, category: As in the file.
        pid, tid: Ints or strings.
        ts_ns: Start; None where there is no usable one.
        dur_ns: Duration; None where there is none.
        id: Raw id.
        args: The args that become columns, parsed; None where there are none.
        args_at, args_len: Where the whole args object stands.
        at: Offset of the event.
    """

    phase: str
    name: str
    category: str
    pid: int | str
    tid: int | str
    ts_ns: int | None
    dur_ns: int | None
    id: Any
    args: Mapping[str, Any] | None
    args_at: int
    args_len: int
    at: int


@dataclass
class Columns:
    """What was read so far."""

    strings: dict[str, int] = field(default_factory=dict)
    threads: dict[tuple[int | str, int | str], int] = field(default_factory=dict)
    slices: list[tuple[int, int, int, int, int, int, int, int, int, int, int, int]] = field(default_factory=list)
    flows: list[tuple[int, ...]] = field(default_factory=list)
    instants: list[tuple[int, ...]] = field(default_factory=list)
    counters: list[tuple[int, ...]] = field(default_factory=list)
    asyncs: list[tuple[int, ...]] = field(default_factory=list)
    names: dict[tuple[Any, Any, str], str] = field(default_factory=dict)
    open: dict[int, list[int]] = field(default_factory=dict)
    ends: list[tuple[int, int, int, Event]] = field(default_factory=list)
    in_file: int = 0
    kept: int = 0
    dropped: Counter[Drop] = field(default_factory=Counter)
    repaired: Counter[Repair] = field(default_factory=Counter)
    places: dict[Drop | Repair, list[Place]] = field(default_factory=dict)
    phases: Counter[str] = field(default_factory=Counter)
    categories: Counter[str] = field(default_factory=Counter)
    text_ids: dict[str, int] = field(default_factory=dict)
    begins: list[tuple[Event, int]] = field(default_factory=list)

    # --- the log

    def drop(self, reason: Drop, at: int, excerpt: str) -> None:
        """Count an element that is lost."""
        self.in_file += 1
        self.dropped[reason] += 1
        self._place(reason, at, excerpt)

    def repair(self, reason: Repair, at: int, excerpt: str) -> None:
        """Count a repair."""
        self.repaired[reason] += 1
        self._place(reason, at, excerpt)

    def _place(self, reason: Drop | Repair, at: int, excerpt: str) -> None:
        known = self.places.setdefault(reason, [])
        if len(known) < _PLACES:
            known.append(Place(reason, at, excerpt))

    # --- events

    def string(self, text: str) -> int:
        """Return the id of a name."""
        return self.strings.setdefault(text, len(self.strings))

    def thread(self, pid: int | str, tid: int | str) -> int:
        """Return the index of a row."""
        return self.threads.setdefault((pid, tid), len(self.threads))

    def add(self, event: Event) -> None:
        """Take an event; its place in the file is the number of those before it."""
        phase = event.phase
        if phase == "X":
            self._slice(event, event.dur_ns)
        elif phase == "M":
            self._keep(phase)
            self._metadata(event)
        elif phase in "BE":
            # Matched when all are known: a file needn't be in order of time.
            if self._timed(event):
                self.begins.append((event, self.in_file))
                self.in_file += 1
        elif phase in _MARKS or phase in _ASYNC:
            self._mark(event, getattr(self, _MARKS.get(phase, "asyncs")))
        elif not phase:
            self.drop(Drop.NO_PHASE, event.at, event.name[:60])
        else:
            self._keep(phase)

    def _keep(self, phase: str) -> None:
        self.in_file += 1
        self.kept += 1
        self.phases[phase] += 1

    def _timed(self, event: Event) -> bool:
        if event.ts_ns is None:
            self.drop(Drop.NO_TIME, event.at, event.name[:60])
            return False
        if not -INT64_MAX <= event.ts_ns <= INT64_MAX or (event.dur_ns or 0) > INT64_MAX - max(event.ts_ns, 0):
            self.drop(Drop.TIME_OUT_OF_RANGE, event.at, event.name[:60])
            return False
        return True

    def _slice(self, event: Event, dur_ns: int | None) -> None:
        if not self._timed(event):
            return
        if dur_ns is None:
            self.repair(Repair.NO_DURATION, event.at, event.name[:60])
        elif dur_ns < 0:
            self.repair(Repair.NEGATIVE_DURATION, event.at, event.name[:60])
        self.append(event, max(dur_ns or 0, 0), self.in_file)
        self._keep("X")

    def append(self, event: Event, dur_ns: int, index: int) -> None:
        """Put a slice into the columns."""
        category = category_of(event.category)
        self.categories[event.category] += 1
        args = event.args or {}
        gpu = category in GPU_WORK
        assert event.ts_ns is not None
        self.slices.append((
            event.ts_ns,
            dur_ns,
            self.string(event.name),
            category,
            self.thread(event.pid, event.tid),
            stream_of(args.get("device", event.pid)) if gpu else ABSENT,
            stream_of(args.get("stream", event.tid)) if gpu else ABSENT,
            correlation_of(args.get("correlation")),
            external_of(args.get("External id", args.get("external id"))),
            event.args_at,
            event.args_len,
            index,
        ))

    def _mark(self, event: Event, marks: list[tuple[int, ...]]) -> None:
        if not self._timed(event):
            return
        phase = {"I": "i", "R": "i"}.get(event.phase, _ASYNC.get(event.phase, event.phase))
        marks.append((
            event.ts_ns or 0,
            self.string(event.name),
            self.string(event.category),
            ord(phase),
            self.thread(event.pid, event.tid),
            self._mark_id(event.id),
            event.args_at,
            event.args_len,
            self.in_file,
        ))
        self._keep(event.phase)

    def _mark_id(self, raw: Any) -> int:
        found = id_of(raw)
        if found == ABSENT and isinstance(raw, str) and raw:
            # Text that is no number gets a number of its own, below those that files have.
            return self.text_ids.setdefault(raw, -2 - len(self.text_ids))
        return found

    def _metadata(self, event: Event) -> None:
        args = event.args or {}
        value = args.get("name", args.get("labels"))
        if isinstance(value, str) and event.name in {"process_name", "process_labels", "thread_name"}:
            tid = event.tid if event.name == "thread_name" else None
            self.names.setdefault((event.pid, tid, event.name), value)

    # --- the result

    def match_ends(self) -> None:
        """Make slices of B and E events: an E ends the latest B that is open on its row."""
        open_at: dict[tuple[int | str, int | str], list[tuple[Event, int]]] = {}
        for event, index in sorted(self.begins, key=lambda one: (one[0].ts_ns, one[1])):
            row = open_at.setdefault((event.pid, event.tid), [])
            if event.phase == "B":
                row.append((event, index))
            elif row:
                begun, at = row.pop()
                assert event.ts_ns is not None
                assert begun.ts_ns is not None
                self.append(begun, event.ts_ns - begun.ts_ns, at)
                self.kept += 2
                self.phases["B"] += 1
                self.phases["E"] += 1
            else:
                self.in_file -= 1  # counted when it came; drop counts it anew
                self.drop(Drop.UNMATCHED_END, event.at, event.name[:60])
        for row in open_at.values():
            for event, index in row:
                self.repair(Repair.UNCLOSED_BEGIN, event.at, event.name[:60])
                self.append(event, 0, index)
                self.kept += 1
                self.phases["B"] += 1
        self.begins.clear()

    def to_slices(self) -> Slices:
        """Return the slices, sorted."""
        types = (np.int64, np.int64, np.int32, np.uint8, np.int32, np.int64, np.int64, np.int64, np.int64, np.int64, np.int32, np.int64)
        columns = _columns(self.slices, types)
        order = np.lexsort((columns[11], -columns[1], columns[0]))
        return Slices(*(frozen(column[order]) for column in columns))

    def to_marks(self, rows: Sequence[tuple[int, ...]]) -> Marks:
        """Return marks, in the file's order."""
        types = (np.int64, np.int32, np.int32, np.uint8, np.int32, np.int64, np.int64, np.int32, np.int64)
        return Marks(*(frozen(column) for column in _columns(rows, types)))

    def to_threads(self) -> tuple[Thread, ...]:
        """Return the rows with their names."""
        return tuple(
            Thread(
                pid,
                tid,
                self.names.get((pid, tid, "thread_name"), ""),
                self.names.get((pid, None, "process_name"), ""),
                self.names.get((pid, None, "process_labels"), ""),
            )
            for pid, tid in self.threads
        )

    def to_strings(self) -> Strings:
        """Return the names."""
        return Strings(tuple(self.strings))


def _columns(rows: Sequence[tuple[int, ...]], types: Sequence[type[np.generic]]) -> list[Any]:
    if not rows:
        return [np.empty(0, dtype=kind) for kind in types]
    return [np.array(column, dtype=kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)]


def frozen(array: Any) -> Any:
    """Return the array, read-only."""
    array.flags.writeable = False
    return array
