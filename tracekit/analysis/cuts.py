"""Host time that a change takes away, as a function of time: what the replay shifts launches by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.intervals import subtract, total, union
from tracekit.linking import Links
from tracekit.trace import CALLS, I64, Category, Trace

F64 = NDArray[np.float64]

CALL_WEIGHT, FRAME_WEIGHT, STEP_WEIGHT = 2.1, 0.15, 8.0
"""What recording a runtime call, a python frame and a step's mark cost the host, in recordings of an op (fitted on the pairs of ``traces/faults``)."""


LARGEST_SHARE = 0.7
"""Of the time of the host's slices; where they are so short (an old clock of whole microseconds), a fixed cost would leave nothing of them."""


class Recorded:
    """The host slices that the profiler recorded on the threads that launch work, weighed by what recording one costs."""

    def __init__(self, trace: Trace, links: Links) -> None:
        slices = trace.slices
        launches = links.launch[links.launch >= 0]
        threads = np.unique(slices.thread[launches])
        hosts = slices.is_any((Category.CPU_OP, Category.USER_ANNOTATION, Category.PYTHON_FUNCTION, *CALLS))
        rows = np.flatnonzero(hosts & np.isin(slices.thread, threads))
        weight = np.ones(len(slices))
        weight[slices.is_any(CALLS)] = CALL_WEIGHT
        weight[slices.category == Category.PYTHON_FUNCTION] = FRAME_WEIGHT
        if links.steps.marked:
            weight[links.steps.row[links.steps.row >= 0]] = STEP_WEIGHT
        self._thread, self._ts, self._end = slices.thread[rows], slices.ts_ns[rows], slices.end_ns[rows]
        self._length_ns = sum(
            total(slices.ts_ns[rows[self._thread == thread]], slices.end_ns[rows[self._thread == thread]]) for thread in threads
        )
        self._weight = weight[rows]
        self._sum = np.concatenate(([0.0], np.cumsum(self._weight)))

    @property
    def most_ns(self) -> float:
        """What recording an op can have cost at most: recording can't be more than ``LARGEST_SHARE`` of the host's time."""
        weight = float(self._sum[-1])
        return LARGEST_SHARE * self._length_ns / weight if weight > 0 else 0.0

    def before(self, at_ns: I64) -> F64:
        """Return the weight of what was recorded before each time (float64[m])."""
        found: F64 = self._sum[np.searchsorted(self._ts, at_ns, side="left")]
        return found

    def idle_since(self, thread: int, at_ns: I64) -> I64:
        """Return the last time before each when a slice of the thread started or ended (int64[m]); the time itself where there is none."""
        mine = self._thread == thread
        marks = np.sort(np.concatenate((self._ts[mine], self._end[mine])))
        at = np.searchsorted(marks, at_ns, side="left") - 1
        found: I64 = np.where(at >= 0, marks[np.maximum(at, 0)] if len(marks) else at_ns, at_ns)
        return found

    def within(self, thread: int, start_ns: I64, end_ns: I64) -> F64:
        """Return the weight of what one thread recorded within each interval (float64[m])."""
        mine = self._thread == thread
        ts, sums = self._ts[mine], np.concatenate(([0.0], np.cumsum(self._weight[mine])))
        found: F64 = sums[np.searchsorted(ts, end_ns, side="left")] - sums[np.searchsorted(ts, start_ns, side="left")]
        return found


@dataclass(frozen=True)
class Cuts:
    """Host time taken away.

    Attributes:
        thread: int64[p], thread of each piece; the pieces of a thread don't overlap.
        start_ns, end_ns: int64[p].
        share: float64[p], how much of the piece goes, 0 to 1.
        weight: float64[p], weight of what was recorded in it (see ``Recorded``).
        added_at_ns: int64[q], where host time is added instead.
        added_ns: float64[q], how much.
        added_weight: float64[q], weight of what would be recorded there.
    """

    thread: I64
    start_ns: I64
    end_ns: I64
    share: F64
    weight: F64
    added_at_ns: I64
    added_ns: F64
    added_weight: F64

    def __bool__(self) -> bool:
        return bool(len(self.thread) or len(self.added_at_ns))

    def before(self, at_ns: I64, recording_ns: float) -> F64:
        """Return the host time taken away before each time (float64[m] ns), beyond ``recording_ns`` for each unit of weight that everything loses anyway."""
        out = np.zeros(len(at_ns))
        for thread in np.unique(self.thread):
            mine = self.thread == thread
            start, end = self.start_ns[mine], self.end_ns[mine]
            taken = np.maximum(self.share[mine] * (end - start - recording_ns * self.weight[mine]), 0.0)
            sums = np.concatenate(([0.0], np.cumsum(taken)))
            at = np.searchsorted(start, at_ns, side="right") - 1
            last = np.maximum(at, 0)
            part = np.clip((at_ns - start[last]) / np.maximum(end[last] - start[last], 1), 0.0, 1.0)
            out += np.where(at >= 0, sums[last] + part * taken[last], 0.0)
        if len(self.added_at_ns):
            order = np.argsort(self.added_at_ns, kind="stable")
            added = np.maximum(self.added_ns[order] - recording_ns * self.added_weight[order], 0.0)
            sums = np.concatenate(([0.0], np.cumsum(added)))
            out -= sums[np.searchsorted(self.added_at_ns[order], at_ns, side="right")]
        return out

    def covers(self, thread: I64, start_ns: I64, end_ns: I64) -> NDArray[np.bool_]:
        """Return which intervals lie in a piece that goes entirely (bool[m])."""
        out = np.zeros(len(start_ns), dtype=bool)
        for one in np.unique(self.thread):
            mine = (self.thread == one) & (self.share >= 1.0)
            start, end = self.start_ns[mine], self.end_ns[mine]
            if not len(start):
                continue
            at = np.searchsorted(start, start_ns, side="right") - 1
            last = np.maximum(at, 0)
            out |= (thread == one) & (at >= 0) & (end_ns <= end[last])
        return out


def no_cuts() -> Cuts:
    """Return cuts that take nothing away."""
    ints, floats = np.empty(0, np.int64), np.empty(0, np.float64)
    return Cuts(ints, ints, ints, floats, floats, ints, floats, floats)


def cut_slices(
    trace: Trace,
    recorded: Recorded,
    rows: Sequence[int],
    *,
    kept: Sequence[int] = (),
    share: float = 1.0,
    python_ns: int = 0,
    added_at: Sequence[int] = (),
    added_ns: float | F64 = 0.0,
    added_weight: float = 0.0,
) -> Cuts:
    """Return the cuts of host slices.

    Args:
        trace: The trace.
        recorded: What was recorded of its hosts.
        rows: Host slices that go; one inside another goes with it.
        kept: Host slices inside them that stay.
        share: How much of their time goes, 0 to 1.
        python_ns: How much of the unrecorded time right before each goes with it at most: the interpreter's way into the call.
        added_at: Host slices at whose start host time is added.
        added_ns: How much, one for all or float64[added_at].
        added_weight: Weight of what would be recorded there.
    """
    slices = trace.slices
    gone, stay = np.unique(np.array(rows, dtype=np.int64)), np.unique(np.array(kept, dtype=np.int64))
    pieces = []
    for thread in np.unique(slices.thread[gone]).tolist():
        mine, here = gone[slices.thread[gone] == thread], stay[slices.thread[stay] == thread]
        begin = slices.ts_ns[mine]
        if python_ns:
            begin = np.maximum(begin - python_ns, recorded.idle_since(thread, begin))
        start, end = subtract(begin, slices.end_ns[mine], slices.ts_ns[here], slices.end_ns[here])
        pieces.append((thread, start, end, share))
    at = slices.ts_ns[np.array(added_at, dtype=np.int64)]
    return _made(recorded, pieces, at, np.broadcast_to(np.float64(added_ns), len(at)).copy(), np.full(len(at), added_weight))


def cut_time(recorded: Recorded, thread: int, start_ns: I64, end_ns: I64) -> Cuts:
    """Return the cuts of stretches of a thread's time (int64[p] ns)."""
    none = np.empty(0, np.float64)
    return _made(recorded, [(thread, start_ns, end_ns, 1.0)], np.empty(0, np.int64), none, none)


def join_cuts(recorded: Recorded, cuts: Sequence[Cuts]) -> Cuts:
    """Return several cuts as one: time that several take away goes once, with the largest share."""
    pieces = []
    for one in cuts:
        for thread in np.unique(one.thread).tolist():
            for share in np.unique(one.share).tolist():
                mine = (one.thread == thread) & (one.share == share)
                pieces.append((thread, one.start_ns[mine], one.end_ns[mine], share))
    if not cuts:
        return no_cuts()
    added = [np.concatenate(columns) for columns in zip(*((one.added_at_ns, one.added_ns, one.added_weight) for one in cuts), strict=True)]
    return _made(recorded, pieces, added[0].astype(np.int64), added[1], added[2])


def _made(recorded: Recorded, pieces: Sequence[tuple[int, I64, I64, float]], at_ns: I64, added_ns: F64, added_weight: F64) -> Cuts:
    """Return cuts of (thread, starts, ends, share), what overlaps taken once."""
    none = np.empty(0, np.int64)
    taken: dict[int, tuple[I64, I64]] = {}
    columns: list[tuple[I64, I64, I64, F64, F64]] = []
    for thread, start_ns, end_ns, share in sorted(pieces, key=lambda piece: -piece[3]):
        before = taken.get(thread, (none, none))
        start, end = subtract(start_ns, end_ns, *before)
        taken[thread] = union(np.concatenate((before[0], start)), np.concatenate((before[1], end)))
        columns.append((np.full(len(start), thread, np.int64), start, end, np.full(len(start), share), recorded.within(thread, start, end)))
    if not columns:
        return Cuts(none, none, none, np.empty(0), np.empty(0), at_ns, added_ns, added_weight)
    whole = [np.concatenate(column) for column in zip(*columns, strict=True)]
    order = np.argsort(whole[1], kind="stable")
    thread_, start_, end_ = (column[order].astype(np.int64) for column in whole[:3])
    return Cuts(thread_, start_, end_, whole[3][order], whole[4][order], at_ns, added_ns, added_weight)
