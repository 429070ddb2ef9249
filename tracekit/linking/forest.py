"""Which slice encloses which: parents on a thread, self time, python frames.

All of it is one question, asked with numpy for all slices at once: *which is the nearest earlier slice of the thread that reaches at least this far?*
Slices are taken in order of their start, so whatever starts earlier and reaches far enough encloses; a slice that ends too early (a sibling, or
one that is overrun) is stepped over. That is what a stack of open slices gives, and it stays right when slices cross.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracekit.trace import ABSENT, I32, I64, Category, Slices

IN_FOREST = (Category.CPU_OP, Category.USER_ANNOTATION, Category.RUNTIME, Category.DRIVER)
_CLAMP_ROUNDS = 8


def enclosers(slices: Slices, candidates: NDArray[np.bool_], asked: NDArray[np.bool_]) -> I32:
    """Find the innermost candidate on the same thread that encloses the whole of each slice that is asked for.

    A slice that starts exactly where another ends lies beside it, and a slice of no length encloses nothing. Of slices with the same start and end
    the earlier row is the outer one.

    Args:
        slices: The slices.
        candidates: bool[n], slices that may enclose.
        asked: bool[n], slices whose encloser is wanted; may be candidates themselves.

    Returns:
        int32[n] rows, -1 where nothing encloses or nothing was asked.
    """
    return _whole_enclosers(slices, slices.end_ns, candidates, asked)


def parents(slices: Slices) -> I32:
    """Return the forest of ops, annotations and calls (int32[n] rows, -1 for roots and other slices)."""
    members = slices.is_any(IN_FOREST)
    return enclosers(slices, members, members)


def self_times(slices: Slices, parent: I32, ends_ns: I64) -> I64:
    """Return the self time of each op, annotation, call and python frame (int64[n] ns), 0 for others.

    An op's is reckoned as key_averages does up to torch 2.11: duration less the durations of the ops, annotations and calls directly inside.
    Recorded python frames change nothing, so that a trace with stacks compares with one without. A frame's is its duration less all that lies
    directly inside, frames included. Children that cross each other are subtracted whole, so that their sum can exceed the parent; then nothing
    is left of it.

    Args:
        slices: The slices.
        parent: int32[n], the forest as ``parents`` gives it.
        ends_ns: int64[n], ends as ``frame_ends`` gives them.
    """
    members = slices.is_any(IN_FOREST)
    python = slices.category == Category.PYTHON_FUNCTION
    own = np.where(members | python, ends_ns - slices.ts_ns, 0)
    taken = _children_ns(parent, own)
    if python.any():
        members |= python
        taken[python] = _children_ns(_whole_enclosers(slices, ends_ns, members, members), own)[python]
    return np.asarray(np.maximum(own - taken, 0), dtype=np.int64)


def _children_ns(parent: I32, duration_ns: I64) -> I64:
    """Return the summed durations of each slice's direct children (int64[n])."""
    child = np.flatnonzero(parent >= 0)
    if not len(child):
        return np.zeros(len(parent), dtype=np.int64)
    return np.rint(np.bincount(parent[child], weights=duration_ns[child], minlength=len(parent))).astype(np.int64)


def depths(parent: I32) -> I32:
    """Return how many slices lie around each (int32[n]): 0 for roots and for slices outside the forest.

    Args:
        parent: int32[n], ``Links.parent`` or ``Links.frame``.
    """
    depth = (parent >= 0).astype(np.int32)
    up = parent.copy()
    rows = np.flatnonzero(up >= 0)
    while len(rows):  # each round doubles how far up is counted
        above = up[rows]
        step_depth, step_up = depth[above], up[above]
        depth[rows] += step_depth
        up[rows] = step_up
        rows = rows[step_up >= 0]
    return depth


def inherited(parent: I32, values: I32) -> I32:
    """Return each slice's own value, or that of the nearest slice around it that has one (int32[n], -1 where none has).

    Args:
        parent: int32[n], the forest.
        values: int32[n], own values, -1 for none.
    """
    value, up = values.copy(), parent.copy()
    rows = np.flatnonzero((value < 0) & (up >= 0))
    while len(rows):  # each round doubles how far up is looked
        above = up[rows]
        new_value, new_up = value[above], up[above]
        value[rows], up[rows] = new_value, new_up
        rows = rows[(new_value < 0) & (new_up >= 0)]
    return value


def roll_up(parent: I32, values: I64) -> I64:
    """Return each slice's value with those of everything inside it (int64[n]).

    Args:
        parent: int32[n], the forest.
        values: int64[n], what each slice has by itself.
    """
    total = values.astype(np.int64, copy=True)
    depth = depths(parent)
    rows = np.flatnonzero(parent >= 0)
    rows = rows[np.argsort(-depth[rows], kind="stable")]
    borders = np.flatnonzero(np.diff(depth[rows])) + 1
    for level in np.split(rows, borders):  # innermost first, so that a parent is whole before it is passed on
        np.add.at(total, parent[level], total[level])
    return total


def frame_ends(slices: Slices) -> I64:
    """Return the ends of all slices, a python frame's cut to that of its caller (int64[n] ns).

    A frame whose return was never recorded runs to the end of the trace and would swallow all that its caller did later
    (pytorch#189794): a callee can't outlive its caller.
    """
    ends = slices.end_ns
    order, first = _by_thread(slices, slices.category == Category.PYTHON_FUNCTION)
    if not len(order):
        return ends
    start, end = slices.ts_ns[order], ends[order]
    for _ in range(_CLAMP_ROUNDS):
        caller = _previous_reaching(end, start + 1, first)
        limit = end[np.maximum(caller, 0)]
        over = (caller >= 0) & (limit < end)
        if not over.any():
            break
        end = np.where(over, limit, end)
    else:
        end = _clamped_one_by_one(start, end, first)
    ends[order] = end
    return ends


def frames(slices: Slices, ends_ns: I64) -> I32:
    """Return the innermost python frame that encloses each host slice, a frame's caller for a frame (int32[n], -1 for none).

    Args:
        slices: The slices.
        ends_ns: int64[n], ends as ``frame_ends`` gives them.
    """
    python = slices.category == Category.PYTHON_FUNCTION
    return _whole_enclosers(slices, ends_ns, python, python | slices.is_any(IN_FOREST))


def _whole_enclosers(slices: Slices, ends_ns: I64, candidates: NDArray[np.bool_], asked: NDArray[np.bool_]) -> I32:
    return _enclosers(slices, ends_ns, np.where(ends_ns > slices.ts_ns, ends_ns, ends_ns + 1), candidates, asked)


def _enclosers(slices: Slices, reach: I64, need: I64, candidates: NDArray[np.bool_], asked: NDArray[np.bool_]) -> I32:
    """Find for each asked slice the nearest candidate before it on its thread whose ``reach`` is at least its ``need``."""
    found = np.full(len(slices), ABSENT, dtype=np.int32)
    order, first = _by_thread(slices, candidates | asked)
    if not candidates.any():
        return found
    is_candidate = candidates[order]
    if is_candidate.all():
        up = _previous_reaching(reach[order], need[order], first)
        rows = np.where(up >= 0, order[np.maximum(up, 0)], ABSENT)
    else:
        rows = _ask(reach[order], need[order], first, is_candidate)
        rows = np.where(rows >= 0, order[np.maximum(rows, 0)], ABSENT)
    wanted = asked[order]
    found[order[wanted]] = rows[wanted]
    return found


def _ask(reach: I64, need: I64, first: NDArray[np.bool_], is_candidate: NDArray[np.bool_]) -> I64:
    """Answer for slices some of which are only asked for: the forest of the candidates first, then the others walk up in it."""
    at = np.flatnonzero(is_candidate)
    thread = np.cumsum(first)
    candidate_first = np.empty(len(at), dtype=bool)
    candidate_first[:1] = True
    candidate_first[1:] = thread[at[1:]] != thread[at[:-1]]
    up = _previous_reaching(reach[at], need[at], candidate_first)
    before = np.cumsum(is_candidate) - 1
    answer = np.full(len(reach), ABSENT, dtype=np.int64)
    answer[at] = np.where(up >= 0, at[np.maximum(up, 0)], ABSENT)
    others = np.flatnonzero(~is_candidate)
    now = before[others]
    now[(now < 0) | (thread[at[np.maximum(now, 0)]] != thread[others])] = ABSENT
    candidate_reach = reach[at]
    todo = np.flatnonzero(now >= 0)
    while len(todo):
        todo = todo[candidate_reach[now[todo]] < need[others[todo]]]
        now[todo] = up[now[todo]]
        todo = todo[now[todo] >= 0]
    answer[others] = np.where(now >= 0, at[np.maximum(now, 0)], ABSENT)
    return answer


def _by_thread(slices: Slices, members: NDArray[np.bool_]) -> tuple[I64, NDArray[np.bool_]]:
    """Return the rows of the members thread by thread, in order of time within one, and bool[k]: whether a thread starts there."""
    rows = np.flatnonzero(members)
    thread = slices.thread[rows]
    # A stable sort of 16-bit numbers is a radix sort: a tenth of the time.
    small = thread.astype(np.uint16) if len(thread) and thread.max() < 65536 else thread
    order = rows[np.argsort(small, kind="stable")]
    thread = slices.thread[order]
    first = np.empty(len(order), dtype=bool)
    first[:1] = True
    np.not_equal(thread[1:], thread[:-1], out=first[1:])
    return order, first


def _previous_reaching(reach: I64, need: I64, first: NDArray[np.bool_]) -> I64:
    """Find for each element the nearest earlier one of its thread with ``reach >= need``, by pointer jumping.

    Whatever lies between an element and its present candidate is known to fall short of it; a candidate that falls short itself hands on its own,
    for what falls short of the one falls short of the other. Long rows of siblings so halve in each round. ``need <= reach + 1`` of the same
    element must hold for that.

    Returns:
        int64[k] positions, -1 where there is none.
    """
    n = len(reach)
    up = np.arange(-1, n - 1, dtype=np.int64)
    up[first] = ABSENT
    short = np.zeros(n, dtype=bool)
    np.less(reach[:-1], need[1:], out=short[1:])
    todo = np.flatnonzero(short & ~first)
    wanted, at = need[todo], todo - 1
    budget = 16 * n + 1_000_000
    while len(todo):
        at = up[at]
        up[todo] = at
        open_ = np.flatnonzero(at >= 0)
        open_ = open_[reach[at[open_]] < wanted[open_]]
        todo, wanted, at = todo[open_], wanted[open_], at[open_]
        budget -= len(todo)
        if budget < 0:
            return _previous_one_by_one(reach, need, up, todo)
    return up


def _previous_one_by_one(reach: I64, need: I64, up: I64, todo: I64) -> I64:
    """Finish what jumping didn't: one after another, so that each sees the final answer of those before it (linear whatever the input)."""
    reaches, ups = reach.tolist(), up.tolist()
    for i, wanted in zip(todo.tolist(), need[todo].tolist(), strict=True):
        at = i - 1
        while at >= 0 and reaches[at] < wanted:
            at = ups[at]
        ups[i] = at
    return np.array(ups, dtype=np.int64)


def _clamped_one_by_one(start: I64, end: I64, first: NDArray[np.bool_]) -> I64:
    """Cut each frame to its caller with a stack of open frames: for traces where the cuts themselves shift who calls whom, again and again."""
    ends = end.tolist()
    open_ends: list[int] = []
    for i, (begins, starts_thread) in enumerate(zip(start.tolist(), first.tolist(), strict=True)):
        if starts_thread:
            open_ends.clear()
        while open_ends and open_ends[-1] <= begins:
            open_ends.pop()
        if open_ends and open_ends[-1] < ends[i]:
            ends[i] = open_ends[-1]
        open_ends.append(ends[i])
    return np.array(ends, dtype=np.int64)
