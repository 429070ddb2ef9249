"""The backward pass: which host slices belong to it, and which forward op each of its ops goes back to."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tracekit.linking.calls import rules
from tracekit.linking.forest import IN_FOREST
from tracekit.linking.launches import slice_starting
from tracekit.trace import ABSENT, I32, I64, Category, Phase, Trace

# evaluate_function is the engine's own op around a node since torch 1.9; before, and for custom functions, there is the node alone.
_NODE = re.compile(
    r"autograd::engine::evaluate_function\b.*"
    r"|torch::autograd::(?:AccumulateGrad|CopySlices|GraphRoot|Error|CopyBackwards)"
    r"|(?:[\w:]+::)?\w*Backward\d*"
)
_AUTOGRAD_THREAD = re.compile(r"pt_autograd_\d+")
_SEQUENCE = re.compile(rb'"Sequence number"\s*:\s*"?(-?\d+)')
_FORWARD_THREAD = re.compile(rb'"Fwd thread id"\s*:\s*"?(-?\d+)')


def find_backward(trace: Trace, parent: I32) -> tuple[NDArray[np.bool_], I32]:
    """Find the host slices of the backward pass and their forward ops.

    Args:
        trace: The trace.
        parent: int32[n], the forest.

    Returns:
        bool[n]: whether a host slice is an autograd node, lies inside one, or runs on an autograd thread. int32[n]: row of the forward op of each
        slice of the backward pass (its own, else that of the nearest slice around it that has one), or -1.
    """
    s = trace.slices
    forward = np.full(len(s), ABSENT, dtype=np.int32)
    nodes = _nodes(trace)
    flag = nodes | _on_autograd_thread(trace)
    if not flag.any():
        return flag, forward
    flag = _spread(flag, parent)
    if not _by_flow(trace, flag, forward):
        _by_sequence(trace, nodes, flag, forward)
    _lift(forward, nodes, parent)
    _inherit(forward, flag, parent)
    return flag, forward


def _nodes(trace: Trace) -> NDArray[np.bool_]:
    s = trace.slices
    named = np.zeros(len(trace.strings), dtype=bool)
    named[trace.strings.ids_where(_NODE.fullmatch)] = True
    return np.asarray(named[s.name] & ((s.category == Category.CPU_OP) | (s.category == Category.USER_ANNOTATION)))


def _on_autograd_thread(trace: Trace) -> NDArray[np.bool_]:
    s = trace.slices
    ours = np.array([_AUTOGRAD_THREAD.fullmatch(thread.name.strip()) is not None for thread in trace.threads], dtype=bool)
    if not ours.any():
        return np.zeros(len(s), dtype=bool)
    return np.asarray(ours[s.thread] & s.is_any(IN_FOREST))


def _spread(flag: NDArray[np.bool_], parent: I32) -> NDArray[np.bool_]:
    """Return ``flag`` with everything inside a flagged slice flagged too: one round a level of the forest."""
    flag = flag.copy()
    todo = np.flatnonzero((parent >= 0) & ~flag)
    while len(todo):
        hit = flag[parent[todo]]
        if not hit.any():
            return flag
        flag[todo[hit]] = True
        todo = todo[~hit]
    return flag


def _lift(forward: I32, nodes: NDArray[np.bool_], parent: I32) -> None:
    """Give the engine's op around a node the node's forward op: flows end at the inner of the two."""
    rows = np.flatnonzero((forward >= 0) & (parent >= 0))
    rows = rows[nodes[parent[rows]] & (forward[parent[rows]] < 0)]
    forward[parent[rows]] = forward[rows]


def _inherit(forward: I32, flag: NDArray[np.bool_], parent: I32) -> None:
    """Give slices of the backward pass without a forward op of their own that of the slice around them."""
    todo = np.flatnonzero(flag & (parent >= 0) & (forward < 0))
    while len(todo):
        up = forward[parent[todo]]
        hit = up >= 0
        if not hit.any():
            return
        forward[todo[hit]] = up[hit]
        todo = todo[~hit]


def _by_flow(trace: Trace, flag: NDArray[np.bool_], forward: I32) -> bool:
    """Fill ``forward`` from the fwdbwd flows; return whether there are any."""
    flows, s = trace.flows, trace.slices
    accepted = rules().forward_backward_flows
    known = np.zeros(len(trace.strings) + 1, dtype=bool)
    known[trace.strings.ids_where(lambda text: text in accepted)] = True
    ours = np.flatnonzero(known[flows.raw_category] | known[flows.name])
    starts = ours[flows.phase[ours] == Phase.FLOW_START]
    stops = ours[flows.phase[ours] == Phase.FLOW_END]
    if not len(starts) or not len(stops):
        return False
    ops = s.rows(Category.CPU_OP)
    source = slice_starting(trace, ops, flows.thread[starts], flows.ts_ns[starts])
    target = slice_starting(trace, ops, flows.thread[stops], flows.ts_ns[stops])
    order = np.argsort(flows.id[starts], kind="stable")
    at = np.searchsorted(flows.id[starts][order], flows.id[stops], side="right") - 1
    hit = (at >= 0) & (flows.id[starts][order][np.maximum(at, 0)] == flows.id[stops]) & (target >= 0)
    source = source[order][np.maximum(at, 0)]
    hit &= source >= 0
    good = hit & (source < target)
    forward[target[good]] = source[good]
    return bool(good.any())


def _by_sequence(trace: Trace, nodes: NDArray[np.bool_], flag: NDArray[np.bool_], forward: I32) -> None:
    """Fill ``forward`` from sequence numbers: the node of a forward op carries the op's number.

    Numbers count per thread, so a node also names its forward thread, but by a number of torch's own that no other field shows; where ops of
    several threads have a node's number, the thread that has most of the numbers asked by that torch thread is taken.
    """
    s = trace.slices
    back = np.flatnonzero(nodes & (s.args_len > 0))
    ops = np.flatnonzero((s.category == Category.CPU_OP) & ~flag & (s.args_len > 0))
    back_sequence, back_thread = _numbers(trace, back, with_thread=True)
    op_sequence, _ = _numbers(trace, ops, with_thread=False)
    keep = op_sequence >= 0
    ops, op_sequence = ops[keep], op_sequence[keep]
    keep = back_sequence >= 0
    back, back_sequence, back_thread = back[keep], back_sequence[keep], back_thread[keep]
    if not len(ops) or not len(back):
        return
    for asked in np.unique(back_thread):
        mine = back_thread == asked
        best = np.full(int(mine.sum()), ABSENT, dtype=np.int64)
        most = 0
        for thread in np.unique(s.thread[ops]):
            on = s.thread[ops] == thread
            rows, numbers = ops[on], op_sequence[on]
            order = np.lexsort((rows, numbers))
            rows, numbers = rows[order], numbers[order]
            found = _latest_before(rows, numbers, back[mine], back_sequence[mine])
            if (found >= 0).sum() > most:
                most, best = int((found >= 0).sum()), found
        forward[back[mine]] = best


def _latest_before(rows: I64, numbers: I64, before: I64, wanted: I64) -> I64:
    """Return for each wanted number the last row with it that lies before the asking row, or -1: of nested ops that is the innermost."""
    base = int(max(rows.max(), before.max())) + 1
    at = np.searchsorted(numbers * base + rows, wanted * base + before) - 1
    hit = (at >= 0) & (numbers[np.maximum(at, 0)] == wanted)
    return np.where(hit, rows[np.maximum(at, 0)], ABSENT)


def _numbers(trace: Trace, rows: I64, *, with_thread: bool) -> tuple[I64, I64]:
    """Read the sequence number and forward thread of each row from its args, without parsing them (int64[k] each, -1 where absent)."""
    s = trace.slices
    sequence = np.full(len(rows), ABSENT, dtype=np.int64)
    thread = np.full(len(rows), ABSENT, dtype=np.int64)
    places = zip(s.args_at[rows].tolist(), s.args_len[rows].tolist(), strict=True)
    for i, (at, length) in enumerate(places):
        data = trace.content.read(at, length)
        if match := _SEQUENCE.search(data):
            sequence[i] = int(match[1])
            if with_thread and (match := _FORWARD_THREAD.search(data)):
                thread[i] = int(match[1])
    return sequence, thread
