"""Joining by ids, and finding what a flow points at: sorted look-ups, never a loop over events."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from tracekit.trace import ABSENT, I32, I64, Phase, Trace

NOWHERE = -2  # no key: keys are never negative
_CROWD = 64


def pairs(keys: I64, wanted: I64, values: I64, *, crowd: int = _CROWD) -> tuple[I64, I64, I64]:
    """Find all values of each wanted key.

    An id that more than ``crowd`` values share tells nothing (an exporter that writes one id everywhere), and pairing them all would take for ever.

    Args:
        keys: int64[m], keys of the values, in any order.
        wanted: int64[k], keys to look up.
        values: int64[m].
        crowd: How many values a key may have.

    Returns:
        Positions in ``wanted``, rising, each with one value; and the positions whose key has a crowd.
    """
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    low = np.searchsorted(keys, wanted, side="left")
    count = np.searchsorted(keys, wanted, side="right") - low
    crowded = np.flatnonzero(count > crowd)
    count[crowded] = 0
    event = np.repeat(np.arange(len(wanted)), count)
    at = np.arange(len(event)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)
    return event, values[at], crowded


def first_of_runs(sorted_values: I64) -> NDArray[np.bool_]:
    """Return bool[k]: whether a sorted value differs from the one before it."""
    first = np.ones(len(sorted_values), dtype=bool)
    np.not_equal(sorted_values[1:], sorted_values[:-1], out=first[1:])
    return first


def flow_ends(trace: Trace, names: AbstractSet[str]) -> tuple[I64, I64]:
    """Return the starts and ends of the flows with one of the raw categories or names (positions in ``trace.flows``)."""
    flows = trace.flows
    known = np.zeros(len(trace.strings) + 1, dtype=bool)
    known[trace.strings.ids_where(names.__contains__)] = True
    ours = np.flatnonzero(known[flows.raw_category] | known[flows.name])
    return ours[flows.phase[ours] == Phase.FLOW_START], ours[flows.phase[ours] == Phase.FLOW_END]


def slice_at(trace: Trace, rows: I64, thread: I32, ts_ns: I64) -> I64:
    """Return the slice of ``rows`` that a flow mark on the thread at that time points at, or -1 (int64[k]).

    The one that starts last at or before the mark (of those that start together the innermost), if the mark lies in it.

    Args:
        trace: The trace.
        rows: int64[m], rows of slices.
        thread, ts_ns: int32[k], int64[k], where and when the marks are.
    """
    s = trace.slices
    if not len(rows) or not len(ts_ns):
        return np.full(len(ts_ns), ABSENT, dtype=np.int64)
    rows = np.sort(rows)
    rows = rows[np.argsort(s.thread[rows], kind="stable")]
    times = np.unique(np.concatenate((s.ts_ns[rows], ts_ns)))
    have = s.thread[rows].astype(np.int64) * len(times) + np.searchsorted(times, s.ts_ns[rows])
    want = thread.astype(np.int64) * len(times) + np.searchsorted(times, ts_ns)
    found = rows[np.maximum(np.searchsorted(have, want, side="right") - 1, 0)]
    inside = (s.thread[found] == thread) & (s.ts_ns[found] <= ts_ns) & (ts_ns <= s.end_ns[found])
    return np.where(inside, found, ABSENT)
