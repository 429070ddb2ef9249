"""One row an element of the event array: what the scanners hand over, whichever of them read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracekit.trace import Drop, Repair

MISSING = -(2**63)
"""A value that the event doesn't have."""

ROW = np.dtype([
    ("ts", "<i8"),
    ("dur", "<i8"),
    ("device", "<i8"),
    ("stream", "<i8"),
    ("correlation", "<i8"),  # of a mark: its id
    ("external", "<i8"),
    ("at", "<i8"),  # of the event, in the content
    ("args_at", "<i8"),
    ("args_len", "<i4"),
    ("name", "<i4"),
    ("category", "<i4"),
    ("thread", "<i4"),
    ("repairs", "<u4"),  # bit i: EVENT_REPAIRS[i]
    ("phase", "u1"),
    ("drop", "u1"),  # 1 + index into DROPS, or 0
    ("flags", "u1"),
    ("spare", "u1"),
])
"""The same 88 bytes as ``Row`` in ``_native.c``."""

EVENT_REPAIRS: tuple[Repair, ...] = (
    Repair.NUMBER_AS_TEXT,
    Repair.NO_DURATION,
    Repair.NEGATIVE_DURATION,
    Repair.BAD_UTF8,
    Repair.BAD_ESCAPE,
    Repair.CONTROL_CHARACTER,
    Repair.NOT_A_NUMBER,
    Repair.TRAILING_COMMA,
    Repair.UNESCAPED_QUOTE,
    Repair.STREAM_OUT_OF_RANGE,
    Repair.TRUNCATED,
    Repair.MISSING_COMMA,
    Repair.UNCLOSED_BEGIN,
)
"""The first three stand in ``_native.c`` too."""

DROPS: tuple[Drop, ...] = tuple(Drop)

TEXT_ID = 1
"""Flag: a mark's id is text, and ``correlation`` is its string."""

ASIDE = 2
"""Flag: the args were mended, so ``args_at`` counts in a store of mended ones."""

TIMED = frozenset("XBEstfiIRCbenSFTp")
"""Phases that need a time."""

Rows = NDArray[Any]


class Row(NamedTuple):
    """One element, in the order of ``ROW``."""

    ts: int = 0
    dur: int = 0
    device: int = MISSING
    stream: int = MISSING
    correlation: int = MISSING
    external: int = MISSING
    at: int = 0
    args_at: int = -1
    args_len: int = 0
    name: int = 0
    category: int = 0
    thread: int = 0
    repairs: int = 0
    phase: int = 0
    drop: int = 0
    flags: int = 0
    spare: int = 0


def bit(repair: Repair) -> int:
    """Return the bit of a repair of an event."""
    return 1 << EVENT_REPAIRS.index(repair)


def bits(repairs: Sequence[Repair]) -> int:
    """Return the bits of several."""
    return sum(bit(one) for one in set(repairs))


def dropped(reason: Drop, at: int, phase: int = 0, repairs: int = 0) -> Row:
    """Return the row of an element that is lost."""
    return Row(at=at, phase=phase, drop=1 + DROPS.index(reason), repairs=repairs)


Thread = tuple[int | str, int | str]


@dataclass
class Space:
    """Numbers for names and threads; each scanner has its own, joined when all is read."""

    strings: dict[str, int] = field(default_factory=dict)
    threads: dict[Thread, int] = field(default_factory=dict)

    def string(self, text: str) -> int:
        """Return the number of a name."""
        return self.strings.setdefault(text, len(self.strings))

    def thread(self, pid: int | str, tid: int | str) -> int:
        """Return the number of a (pid, tid)."""
        return self.threads.setdefault((pid, tid), len(self.threads))


@dataclass(frozen=True)
class Batch:
    """Some rows, in the file's order.

    Attributes:
        rows: ``ROW[k]``.
        space: Index of the space that their names and threads count in.
    """

    rows: Rows
    space: int


def joined(batches: list[Batch], spaces: Sequence[tuple[Sequence[str], Sequence[Thread]]]) -> tuple[Rows, list[str], list[Thread]]:
    """Put batches together in one space; the list is emptied on the way, so that nothing is held twice for long.

    Returns:
        The rows, and their strings and threads by number.
    """
    texts, threads = Space(), Space()
    names_of = [np.array([texts.string(text) for text in strings] or [0], dtype=np.int32) for strings, _ in spaces]
    threads_of = [np.array([threads.thread(*one) for one in listed] or [0], dtype=np.int32) for _, listed in spaces]
    rows = np.empty(sum(len(batch.rows) for batch in batches), dtype=ROW)
    at = 0
    for batch in _drained(batches):
        part = rows[at : at + len(batch.rows)]
        part[:] = batch.rows
        part["name"] = names_of[batch.space][part["name"]]
        part["category"] = names_of[batch.space][part["category"]]
        part["thread"] = threads_of[batch.space][part["thread"]]
        flagged = (part["flags"] & TEXT_ID) > 0
        if flagged.any():
            part["correlation"][flagged] = names_of[batch.space][part["correlation"][flagged]]
        at += len(part)
    return rows, list(texts.strings), list(threads.threads)


def _drained(batches: list[Batch]) -> Iterator[Batch]:
    batches.reverse()
    while batches:
        yield batches.pop()
