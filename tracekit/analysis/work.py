"""The GPU's work as the analyses see it: class, kind, and the part of each duration that can be believed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.kernels import Taxonomy, classify_many
from tracekit.linking import Links
from tracekit.trace import I32, I64, U8, Category, Trace

KERNEL, MEMCPY, MEMSET = 0, 1, 2
KINDS = ("kernel", "memcpy", "memset")


@dataclass(frozen=True)
class Work:
    """GPU events in order of time; arrays of length g.

    Attributes:
        rows: int64[g], their rows in the trace (those of ``Links.gpu``).
        classes: The distinct kernel classes.
        class_id: int32[g], index into ``classes``.
        kind: uint8[g]: 0 kernel, 1 memcpy, 2 memset. By class: AMD's copy kernels are copies.
        device: int64[g].
        start_ns: int64[g].
        dur_ns: int64[g], the credible part of the duration.
        suspect: bool[g], whether that is less than what was recorded.
    """

    rows: I64
    classes: tuple[str, ...]
    class_id: I32
    kind: U8
    device: I64
    start_ns: I64
    dur_ns: I64
    suspect: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def end_ns(self) -> I64:
        """Ends of the credible parts, int64[g]."""
        return self.start_ns + self.dur_ns

    @property
    def main_device(self) -> int:
        """The device with the most GPU time; -1 in a trace without GPU events."""
        if not len(self):
            return -1
        devices, at = np.unique(self.device, return_inverse=True)
        return int(devices[np.argmax(np.bincount(at, weights=self.dur_ns))])


def gpu_work(trace: Trace, links: Links, taxonomy: Taxonomy | None = None) -> Work:
    """Return the GPU's work, classified by name and launching op."""
    slices, rows = trace.slices, links.gpu
    names, ops, categories = slices.name[rows], np.where(links.op >= 0, slices.name[links.op], -1), slices.category[rows]
    # One look at each distinct (name, op, category): a step launches the same kernels again and again.
    distinct, first, at = _distinct(names.astype(np.int64), ops.astype(np.int64), categories.astype(np.int64))
    kinds = {Category.KERNEL: "kernel", Category.MEMCPY: "memcpy", Category.MEMSET: "memset"}
    strings = trace.strings
    labels = classify_many(
        [strings[names[i]] for i in first],
        [kinds[Category(categories[i])] for i in first],
        [strings[ops[i]] if ops[i] >= 0 else "" for i in first],
        taxonomy,
    )
    classes = tuple(dict.fromkeys(labels))
    class_of = np.array([classes.index(label) for label in labels], dtype=np.int32)
    kind_of = np.array([_kind(label, kinds[Category(categories[i])]) for label, i in zip(labels, first, strict=True)], dtype=np.uint8)
    dur_ns, suspect = credible(trace, links)
    return Work(
        rows=rows,
        classes=classes,
        class_id=class_of[at] if len(distinct) else np.empty(0, np.int32),
        kind=kind_of[at] if len(distinct) else np.empty(0, np.uint8),
        device=slices.device[rows],
        start_ns=slices.ts_ns[rows],
        dur_ns=dur_ns,
        suspect=suspect,
    )


def _distinct(*columns: I64) -> tuple[I64, I64, I64]:
    """Return the distinct combinations, where each stands first, and which each row has."""
    key = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, column = np.unique(column, return_inverse=True)
        _, key = np.unique(key * (column.max(initial=0) + 1) + column, return_inverse=True)
    distinct, first, at = np.unique(key, return_index=True, return_inverse=True)
    return distinct, first, at


def _kind(label: str, category: str) -> int:
    if label.startswith("memcpy"):
        return MEMCPY
    return MEMSET if label == "memset" else KINDS.index(category)


def credible(trace: Trace, links: Links) -> tuple[I64, NDArray[np.bool_]]:
    """Return the credible duration of each GPU event (int64[g]) and whether it is less than recorded (bool[g]).

    A stream runs its work in order, so a record that covers two whole later events of its own stream, launched by other calls, has a wrong end
    (seen on AMD: one kernel of 300 ms over four others). What is credible ends where the next event starts. One later event may truly overlap
    (programmatic dependent launch), and the kernels of one graph may run side by side.
    """
    slices, rows = trace.slices, links.gpu
    dur_ns = slices.dur_ns[rows]
    suspect = np.zeros(len(rows), dtype=bool)
    if len(rows) < 3:
        return dur_ns, suspect
    order = np.lexsort((slices.ts_ns[rows], slices.stream[rows], slices.device[rows]))
    at = rows[order]
    start, end, launch = slices.ts_ns[at], slices.end_ns[at], links.launch[order]
    same = (
        (slices.stream[at][2:] == slices.stream[at][:-2]) & (slices.device[at][2:] == slices.device[at][:-2]) & (slices.stream[at][2:] >= 0)
    )
    covers = (
        (end[1:-1] <= end[:-2]) & (end[2:] <= end[:-2]) & (end[1:-1] > start[1:-1]) & (end[2:] > start[2:]) & (start[1:-1] > start[:-2])
    )
    other = ((launch[1:-1] != launch[:-2]) & (launch[2:] != launch[:-2])) | (launch[:-2] < 0)
    wrong = np.flatnonzero(same & covers & other)
    suspect[order[wrong]] = True
    dur_ns = dur_ns.copy()
    dur_ns[order[wrong]] = start[wrong + 1] - start[wrong]
    return dur_ns, suspect
