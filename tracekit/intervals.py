"""Unions, gaps and overlaps of half-open intervals ``[start, end)`` in int64 nanoseconds: the only place where they are reckoned.

An interval of no length covers nothing. Every function takes plain arrays and returns new ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ns = NDArray[np.int64]


def union(starts_ns: Ns, ends_ns: Ns) -> tuple[Ns, Ns]:
    """Merge intervals that overlap or touch.

    Args:
        starts_ns: int64[n], in any order.
        ends_ns: int64[n]; an interval with ``end <= start`` covers nothing and is left out.

    Returns:
        Starts and ends int64[m] of disjoint intervals in rising order, none touching the next.
    """
    keep = ends_ns > starts_ns
    starts, ends = starts_ns[keep], ends_ns[keep]
    if not len(starts):
        return starts.astype(np.int64), ends.astype(np.int64)
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    first = np.empty(len(starts), dtype=bool)
    first[0] = True
    np.greater(starts[1:], ends[:-1], out=first[1:])
    last = np.append(np.flatnonzero(first)[1:] - 1, len(starts) - 1)
    return starts[first], ends[last]


def total(starts_ns: Ns, ends_ns: Ns) -> int:
    """Return the length in ns of the union of the intervals."""
    starts, ends = union(starts_ns, ends_ns)
    return int((ends - starts).sum())


def clip(starts_ns: Ns, ends_ns: Ns, low_ns: int, high_ns: int) -> tuple[Ns, Ns]:
    """Return what of the intervals lies in ``[low, high)``; those outside are left out."""
    starts, ends = np.maximum(starts_ns, low_ns), np.minimum(ends_ns, high_ns)
    keep = ends > starts
    return starts[keep], ends[keep]


def covered(starts_ns: Ns, ends_ns: Ns, low_ns: Ns, high_ns: Ns) -> Ns:
    """Return for each window ``[low, high)`` how many ns of it the union of the intervals covers (int64[k])."""
    starts, ends = union(starts_ns, ends_ns)
    if not len(starts):
        return np.zeros(len(low_ns), dtype=np.int64)
    before = np.concatenate(([0], np.cumsum(ends - starts)))

    def until(at: Ns) -> Ns:
        i = np.searchsorted(starts, at, side="right")
        last = np.maximum(i - 1, 0)
        inside = np.where(i > 0, np.clip(at - starts[last], 0, ends[last] - starts[last]), 0)
        return np.asarray(np.where(i > 0, before[last] + inside, 0), dtype=np.int64)

    return until(high_ns) - until(low_ns)


def gaps(starts_ns: Ns, ends_ns: Ns, low_ns: int, high_ns: int) -> tuple[Ns, Ns]:
    """Return the intervals of ``[low, high)`` that no given interval covers."""
    if high_ns <= low_ns:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    starts, ends = union(*clip(starts_ns, ends_ns, low_ns, high_ns))
    free_starts = np.concatenate((np.array([low_ns], np.int64), ends))
    free_ends = np.concatenate((starts, np.array([high_ns], np.int64)))
    keep = free_ends > free_starts
    return free_starts[keep], free_ends[keep]


def subtract(starts_ns: Ns, ends_ns: Ns, less_starts_ns: Ns, less_ends_ns: Ns) -> tuple[Ns, Ns]:
    """Return the union of the first intervals less that of the second."""
    starts, ends = union(starts_ns, ends_ns)
    if not len(starts):
        return starts, ends
    free_starts, free_ends = gaps(less_starts_ns, less_ends_ns, int(starts[0]), int(ends[-1]))
    return intersect(starts, ends, free_starts, free_ends)


def intersect(a_starts_ns: Ns, a_ends_ns: Ns, b_starts_ns: Ns, b_ends_ns: Ns) -> tuple[Ns, Ns]:
    """Return the intervals that both unions cover."""
    a_starts, a_ends = union(a_starts_ns, a_ends_ns)
    b_starts, b_ends = union(b_starts_ns, b_ends_ns)
    first = np.searchsorted(b_ends, a_starts, side="right")
    count = np.maximum(np.searchsorted(b_starts, a_ends, side="left") - first, 0)
    a = np.repeat(np.arange(len(a_starts)), count)
    b = np.arange(len(a)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    return np.maximum(a_starts[a], b_starts[b]), np.minimum(a_ends[a], b_ends[b])
