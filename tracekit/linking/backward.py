"""The backward pass: which host slices belong to it, and which forward op each of its ops goes back to."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tracekit.linking.calls import rules
from tracekit.linking.forest import IN_FOREST, inherited
from tracekit.linking.ids import flow_ends, pairs, slice_at
from tracekit.trace import ABSENT, I32, I64, Category, Trace

# evaluate_function is the engine's own op around a node since torch 1.9; before, and for custom functions, there is the node alone.
_NODE = re.compile(
    r"autograd::engine::evaluate_function\b.*"
    r"|torch::autograd::(?:AccumulateGrad|CopySlices|GraphRoot|Error|CopyBackwards)"
    r"|(?:[\w:]+::)?\w*Backward\d*"
)
_AUTOGRAD_THREAD = re.compile(r"pt_autograd_\d+")
_FORWARD_THREADS = 64
_SEQUENCE = re.compile(rb'"Sequence number"\s*:\s*"?(-?\d+)')
_FORWARD_THREAD = re.compile(rb'"Fwd thread id"\s*:\s*"?(-?\d+)')


def find_backward(trace: Trace, process: I32, parent: I32) -> tuple[NDArray[np.bool_], I32]:
    """Find the host slices of the backward pass and their forward ops.

    Args:
        trace: The trace.
        process: int32[t], process of each thread.
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
    flag = inherited(parent, np.where(flag, 1, ABSENT).astype(np.int32)) >= 0
    if not _by_flow(trace, process, forward):
        _by_sequence(trace, nodes, flag, forward)
    _lift(forward, nodes, parent)
    return flag, np.where(flag, inherited(parent, forward), ABSENT).astype(np.int32)


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


def _lift(forward: I32, nodes: NDArray[np.bool_], parent: I32) -> None:
    """Give the engine's op around a node the node's forward op: flows end at the inner of the two."""
    rows = np.flatnonzero((forward >= 0) & (parent >= 0))
    rows = rows[nodes[parent[rows]] & (forward[parent[rows]] < 0)]
    forward[parent[rows]] = forward[rows]


def _by_flow(trace: Trace, process: I32, forward: I32) -> bool:
    """Fill ``forward`` from the fwdbwd flows, ids taken within a process; return whether there are any."""
    flows = trace.flows
    starts, stops = flow_ends(trace, rules().forward_backward_flows)
    ops = trace.slices.rows(Category.CPU_OP)
    source = slice_at(trace, ops, flows.thread[starts], flows.ts_ns[starts])
    target = slice_at(trace, ops, flows.thread[stops], flows.ts_ns[stops])
    starts, source = starts[source >= 0], source[source >= 0]
    stops, target = stops[target >= 0], target[target >= 0]
    width = int(process.max(initial=0)) + 1
    _, number = np.unique(np.concatenate((flows.id[starts], flows.id[stops])), return_inverse=True)
    keys = number[: len(starts)] * width + process[flows.thread[starts]]
    at, origin, _ = pairs(keys, number[len(starts) :] * width + process[flows.thread[stops]], source)
    good = origin < target[at]
    forward[target[at[good]]] = origin[good]
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
    order = np.lexsort((ops, op_sequence, s.thread[ops]))
    by_thread = np.split(order, np.flatnonzero(np.diff(s.thread[ops[order]])) + 1)
    by_thread = sorted(by_thread, key=len, reverse=True)[:_FORWARD_THREADS]
    for mine in np.split(np.argsort(back_thread, kind="stable"), np.flatnonzero(np.diff(np.sort(back_thread))) + 1):
        found = [_latest_before(ops[on], op_sequence[on], back[mine], back_sequence[mine]) for on in by_thread]
        forward[back[mine]] = max(found, key=lambda rows: int((rows >= 0).sum()))


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
