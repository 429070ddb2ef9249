"""Makes slices fit a viewer whose tracks hold nested or disjoint slices only: those that cross are shortened, and say what they were."""

from __future__ import annotations

import numpy as np

from tracekit.trace import Trace


def clipped_ends(trace: Trace) -> dict[int, int]:
    """Return the new end of each slice that must be shortened, by row.

    Perfetto 51 to 56 drops a slice that begins inside another of its track and ends after it: first of all ``ProfilerStep#N`` in recordings with stacks. Of two
    that cross, the earlier one is cut where the later one begins, or the later one where the earlier one ends, whichever loses less.
    """
    slices = trace.slices
    cut: dict[int, int] = {}
    order = np.lexsort((np.arange(len(slices)), slices.thread))
    thread, start, end = slices.thread[order], slices.ts_ns[order], slices.end_ns[order]
    # A track without crossings needs no look: each slice ends before the next begins or holds it, seen by a running maximum of the ends.
    stack: list[int] = []
    now: dict[int, int] = {}
    last_thread = -1
    for row, on, begin, finish in zip(order.tolist(), thread.tolist(), start.tolist(), end.tolist(), strict=True):
        if on != last_thread:
            stack, last_thread = [], on
        while stack and now[stack[-1]] <= begin:
            stack.pop()
        while stack and now[stack[-1]] < finish:
            above = stack[-1]
            if now[above] - begin <= finish - now[above] or slices.dur_ns[row] > slices.dur_ns[above]:
                cut[above] = now[above] = begin
                stack.pop()
            else:
                finish = cut[row] = now[above]
        now[row] = finish
        stack.append(row)
    return cut
