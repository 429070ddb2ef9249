"""Why the GPU is idle: each gap is charged to what the launching thread was doing meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.timeline import Timeline, host_timeline
from tracekit.analysis.windows import Windows
from tracekit.analysis.work import Work
from tracekit.intervals import gaps
from tracekit.linking import Links, Role, call_roles
from tracekit.trace import ABSENT, CALLS, I32, I64, U8, Category, Trace


class Cause(IntEnum):
    """What an idle stretch is charged to."""

    OP = 0  # self time of an op
    RUNTIME = 1  # a runtime or driver call, launches included
    SYNC = 2  # a call that waits for the GPU
    PYTHON = 3  # a python frame, outside any op
    ANNOTATION = 4  # within a user's annotation, outside any op
    NO_HOST_EVENT = 5  # nothing was recorded on the launching thread: not launched yet
    QUEUE = 6  # launched, but not started: launch latency, or waiting for another stream
    UNLINKED = 7  # the launch of the next event isn't known
    AFTER_LAST = 8  # after the last GPU event of the step, before its mark ends
    NOT_USED = 9  # the step launches nothing on the GPU


@dataclass(frozen=True)
class Idle:
    """Idle stretches of the device within the steps' windows, arrays of length q; their lengths add up to each step's idle time.

    Attributes:
        step: int32[q], index of the step.
        gap: int64[q], number of the gap; a gap may be cut into several stretches.
        start_ns, end_ns: int64[q].
        cause: uint8[q], ``Cause``.
        row: int64[q], row of the op, call, frame or annotation charged, or -1.
        next: int64[q], index into ``Work`` of the GPU event that ends the gap, or -1.
    """

    step: I32
    gap: I64
    start_ns: I64
    end_ns: I64
    cause: U8
    row: I64
    next: I64

    @property
    def dur_ns(self) -> I64:
        """Lengths, int64[q]."""
        return self.end_ns - self.start_ns


def idle_time(trace: Trace, links: Links, work: Work, windows: Windows) -> Idle:
    """Return every idle stretch with its cause.

    A gap between two GPU events is cut in two where the launch call of the next one ends. Until then the GPU waited for the host: that part is charged
    to what the launching thread was doing (and, where nothing is recorded on it, to what the thread of the step's mark was doing). The rest is the
    latency of the queue.
    """
    step, start, end, following = _gaps(work, windows)
    gap = np.arange(len(step), dtype=np.int64)
    launch = _at(links.launch, following)
    called = _at(trace.slices.end_ns, launch)
    host_end = np.where(launch >= 0, np.clip(called, start, end), start)
    has_launch = launch >= 0
    rest_cause = np.where(has_launch, Cause.QUEUE, np.where(following >= 0, Cause.UNLINKED, Cause.AFTER_LAST))
    rest_cause[~windows.on_device[step]] = Cause.NOT_USED
    parts = [Part(gap, host_end, end, rest_cause.astype(np.uint8), np.full(len(gap), ABSENT, np.int64))]
    parts.extend(host_parts(trace, links, gap[has_launch], start[has_launch], host_end[has_launch], launch[has_launch], step[has_launch]))
    whole = [np.concatenate(column) for column in zip(*((p.gap, p.start_ns, p.end_ns, p.cause, p.row) for p in parts), strict=True)]
    keep = whole[2] > whole[1]
    order = np.lexsort((whole[1][keep], whole[0][keep]))
    at, starts, ends, cause, row = (column[keep][order] for column in whole)
    return Idle(step[at].astype(np.int32), at, starts, ends, cause.astype(np.uint8), row, following[at])


def _at(column: NDArray[np.signedinteger[Any]], index: I64) -> I64:
    """Return ``column[index]``, -1 where the index is -1; the column may be empty."""
    out = np.full(len(index), ABSENT, dtype=np.int64)
    known = index >= 0
    out[known] = column[index[known]]
    return out


@dataclass(frozen=True)
class Part:
    """Stretches of host time by who had them, arrays of one length; ``gap`` is the number of the stretch that each is a part of."""

    gap: I64
    start_ns: I64
    end_ns: I64
    cause: U8
    row: I64

    def only(self, which: NDArray[np.bool_]) -> Part:
        """Return some of them."""
        return Part(self.gap[which], self.start_ns[which], self.end_ns[which], self.cause[which], self.row[which])


def _gaps(work: Work, windows: Windows) -> tuple[I64, I64, I64, I64]:
    """Return step, start, end and next event (or -1) of each gap."""
    on = np.flatnonzero((work.device == windows.device) & (work.dur_ns > 0))
    starts, ends = work.start_ns[on], work.end_ns[on]
    reach = np.maximum.accumulate(ends) if len(on) else ends
    columns: list[tuple[I64, I64, I64, I64]] = []
    for k in range(len(windows.start_ns)):
        low, high = int(windows.start_ns[k]), int(windows.end_ns[k])
        # Only events that can reach into the window: those that start before its end and, by the running maximum, may end after its start.
        first, last = int(np.searchsorted(reach, low, side="right")), int(np.searchsorted(starts, high, side="left"))
        begin, finish = gaps(starts[first:last], ends[first:last], low, high)
        after = np.searchsorted(starts, finish, side="left")
        # The event that ends a gap starts where the gap ends; at a window's end that is the next step's first one.
        found = (
            (after < len(starts)) & (starts[np.minimum(after, len(starts) - 1)] == finish) if len(starts) else np.zeros(len(finish), bool)
        )
        following = np.where(found, on[np.minimum(after, len(on) - 1)], ABSENT) if len(on) else np.full(len(finish), ABSENT)
        columns.append((np.full(len(begin), k, np.int64), begin, finish, following.astype(np.int64)))
    if not columns:
        empty = np.empty(0, np.int64)
        return empty, empty, empty, empty
    return tuple(np.concatenate(column) for column in zip(*columns, strict=True))  # type: ignore[return-value]


def host_parts(trace: Trace, links: Links, gap: I64, start: I64, end: I64, launch: I64, step: I64) -> list[Part]:
    """Return who had some stretches of host time before a launch (int64[p] each): the launching thread, else that of the step's mark."""
    threads = trace.slices.thread[launch]
    mark = links.steps.row
    mark_thread = _at(trace.slices.thread, _at(mark, step))
    roles, parts = call_roles(trace), []
    cache: dict[tuple[int, bool], Timeline] = {}

    def timeline(thread: int, frames: bool) -> Timeline:
        if (thread, frames) not in cache:
            cache[thread, frames] = host_timeline(trace, links, thread, frames=frames)
        return cache[thread, frames]

    is_mark = np.zeros(len(trace.slices) + 1, dtype=bool)
    is_mark[mark[mark >= 0]] = True
    # (which thread, whether its frames): what is recorded nearest to the launch comes first.
    left = (gap, start, end, threads.astype(np.int64), mark_thread)
    for own, frames in ((True, False), (True, True), (False, False), (False, True)):
        rest = []
        who = left[3] if own else left[4]
        for thread in np.unique(who):
            mine = who == thread
            g, s, e, own_thread, of_mark = (column[mine] for column in left)
            if thread < 0:
                rest.append((g, s, e, own_thread, of_mark))
                continue
            piece, owner, begins, ends = timeline(int(thread), frames).split(s, e)
            known = (owner >= 0) & ~is_mark[owner]
            parts.append(Part(g[piece[known]], begins[known], ends[known], causes_of(trace, roles, owner[known]), owner[known]))
            rest.append((g[piece[~known]], begins[~known], ends[~known], own_thread[piece[~known]], of_mark[piece[~known]]))
        if not rest:
            return parts
        left = tuple(np.concatenate(column) for column in zip(*rest, strict=True))  # type: ignore[assignment]
    parts.append(
        Part(left[0], left[1], left[2], np.full(len(left[0]), Cause.NO_HOST_EVENT, np.uint8), np.full(len(left[0]), ABSENT, np.int64))
    )
    return parts


def causes_of(trace: Trace, roles: U8, rows: I64) -> U8:
    """Return what time of some host slices is charged as (uint8[m], ``Cause``)."""
    table = np.full(256, Cause.OP, dtype=np.uint8)
    table[Category.USER_ANNOTATION] = Cause.ANNOTATION
    table[Category.PYTHON_FUNCTION] = Cause.PYTHON
    table[list(CALLS)] = Cause.RUNTIME
    cause = table[trace.slices.category[rows]]
    cause[roles[rows] == Role.SYNC] = Cause.SYNC
    return cause
