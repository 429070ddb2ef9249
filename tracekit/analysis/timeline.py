"""What a host thread is doing at any time: its slices flattened to who is innermost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.linking import Links
from tracekit.trace import ABSENT, CALLS, I64, Category, Trace


@dataclass(frozen=True)
class Timeline:
    """Owners of a thread's time, arrays of length m.

    Attributes:
        at_ns: Where an owner starts; it ends where the next one starts.
        owner: Row of the innermost slice from there on, or -1.
    """

    at_ns: I64
    owner: I64

    def split(self, start_ns: I64, end_ns: I64) -> tuple[I64, I64, I64, I64]:
        """Cut stretches of time by owner.

        Args:
            start_ns, end_ns: int64[p], stretches, each with ``end >= start``.

        Returns:
            Four arrays int64[q]: index of the stretch, owner (or -1), start and end of each part. The parts of a stretch cover it exactly.
        """
        if not len(self.at_ns):
            return np.arange(len(start_ns)), np.full(len(start_ns), ABSENT, np.int64), start_ns, end_ns
        low = np.searchsorted(self.at_ns, start_ns, side="right") - 1
        high = np.maximum(np.searchsorted(self.at_ns, end_ns, side="left") - 1, low)
        count = high - low + 1
        piece = np.repeat(np.arange(len(start_ns)), count)
        seg = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)
        begins = np.where(seg >= 0, self.at_ns[np.maximum(seg, 0)], np.iinfo(np.int64).min)
        ends = np.where(seg + 1 < len(self.at_ns), self.at_ns[np.minimum(seg + 1, len(self.at_ns) - 1)], np.iinfo(np.int64).max)
        owner = np.where(seg >= 0, self.owner[np.maximum(seg, 0)], ABSENT)
        begins, ends = np.maximum(begins, start_ns[piece]), np.minimum(ends, end_ns[piece])
        keep = ends > begins
        return piece[keep], owner[keep], begins[keep], ends[keep]


def host_timeline(trace: Trace, links: Links, thread: int, *, frames: bool = False) -> Timeline:
    """Return the timeline of a thread: of its ops, annotations and calls, or of its python frames."""
    categories = (Category.PYTHON_FUNCTION,) if frames else (Category.CPU_OP, Category.USER_ANNOTATION, *CALLS)
    slices = trace.slices
    rows = np.flatnonzero(slices.is_any(categories) & (slices.thread == thread) & (slices.dur_ns > 0))
    up = (links.frame if frames else links.parent)[rows]
    time = np.concatenate((slices.ts_ns[rows], slices.end_ns[rows]))
    owner = np.concatenate((rows, up.astype(np.int64)))
    # At one time: ends before starts, of ends the inner first, of starts the outer first. Rows rise inwards.
    is_start = np.concatenate((np.ones(len(rows), np.int8), np.zeros(len(rows), np.int8)))
    rank = np.concatenate((rows, -rows))
    order = np.lexsort((rank, is_start, time))
    time, owner = time[order], owner[order]
    # An unfinished child may outlast its parent: a parent that has ended owns nothing.
    over = (owner >= 0) & (slices.end_ns[np.maximum(owner, 0)] <= time)
    while over.any():
        owner[over] = (links.frame if frames else links.parent)[owner[over]]
        over = (owner >= 0) & (slices.end_ns[np.maximum(owner, 0)] <= time)
    return Timeline(time, owner)
