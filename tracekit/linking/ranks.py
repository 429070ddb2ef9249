"""Which process launched what, in files that hold several: the ids of merged ranks clash.

Correlation ids count from the start in each process, so a file made of several ranks has each id several times. Rows of a GPU don't name the process
that used it; three things tell, in this order: labels that the merger put into the process ids (``[TP0] 1234``), the place in the file (one rank after
another), and which process's calls come before the GPU events that carry the same ids.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tracekit.linking.calls import Role
from tracekit.linking.ids import NOWHERE, pairs
from tracekit.trace import ABSENT, CALLS, GPU_WORK, I32, I64, U8, Trace

_TAIL = re.compile(r"\d+\s*$")
_BLOCKS_PER_PROCESS = 4  # a file in blocks changes process about once per rank; a file sorted by time does all the time
_SURE = 0.9
_SAMPLE_PAIRS = 4_000_000


def processes(trace: Trace) -> I32:
    """Return the number of the process of each thread (int32[t]): threads with the same raw pid share one."""
    numbers: dict[int | str, int] = {}
    return np.array([numbers.setdefault(t.pid, len(numbers)) for t in trace.threads], dtype=np.int32)


def calling_processes(trace: Trace, process: I32) -> I32:
    """Return the processes that made calls with a correlation (int32[p], rising)."""
    s = trace.slices
    calls = s.is_any(CALLS) & (s.correlation >= 0)
    return np.unique(process[s.thread[calls]])


def owners(trace: Trace, roles: U8, process: I32, callers: I32) -> I32:
    """Find the process that launched each GPU event, for a file with several calling processes.

    Args:
        trace: The trace.
        roles: uint8[n], ``Role`` of each slice.
        process: int32[t], process of each thread.
        callers: int32[p], the processes that made calls.

    Returns:
        int32[g]: a process, or -1 where nothing tells.
    """
    found = _by_label(trace, process, callers)
    if found is None:
        found = _by_place(trace, process, callers)
    return _by_causality(trace, roles, process, callers) if found is None else found


def _by_label(trace: Trace, process: I32, callers: I32) -> I32 | None:
    """Join by the text before the number in string pids, if every caller has its own and the GPU rows have them too."""
    label_of: dict[int, str] = {}
    for thread, number in zip(trace.threads, process.tolist(), strict=True):
        text = thread.pid if isinstance(thread.pid, str) else ""
        label_of[number] = _TAIL.sub("", text).strip()
    caller_of = {label_of[c]: c for c in callers.tolist()}
    if len(caller_of) < len(callers) or "" in caller_of:
        return None
    owner_of = np.array([caller_of.get(label_of[p], ABSENT) for p in range(len(label_of))], dtype=np.int32)
    found = owner_of[process[trace.slices.thread[trace.gpu_rows]]]
    return found if len(found) and (found >= 0).mean() >= _SURE else None


def _by_place(trace: Trace, process: I32, callers: I32) -> I32 | None:
    """Give each GPU event to the process whose host slices stand before it in the file, if the file is in blocks and the ids agree."""
    s = trace.slices
    gpu = trace.gpu_rows
    calls_here = np.zeros(int(process.max()) + 1, dtype=bool)
    calls_here[callers] = True
    host = np.flatnonzero(~s.is_any(GPU_WORK) & calls_here[process[s.thread]])
    host = host[np.argsort(s.index[host])]
    runs = process[s.thread[host]]
    if int((runs[1:] != runs[:-1]).sum()) > _BLOCKS_PER_PROCESS * len(callers):
        return None
    before = np.searchsorted(s.index[host], s.index[gpu]) - 1
    owner = runs[np.maximum(before, 0)]
    if len(np.unique(owner)) < 2:  # all GPU rows stand behind all hosts': the place says nothing
        return None
    calls = np.flatnonzero(s.is_any(CALLS) & (s.correlation >= 0))
    ids, call_id = np.unique(s.correlation[calls], return_inverse=True)
    at = np.minimum(np.searchsorted(ids, s.correlation[gpu]), len(ids) - 1)
    known = ids[at] == s.correlation[gpu]
    width = len(calls_here)
    explained = known & np.isin(at * width + owner, call_id * width + process[s.thread[calls]])
    return owner if known.any() and explained.sum() * 2 >= known.sum() else None


def _by_causality(trace: Trace, roles: U8, process: I32, callers: I32) -> I32:
    """Give each GPU row to the process most of whose equal ids were called before the GPU events started; -1 where two do equally well.

    A row that two ranks share (each calls its GPU 0) has most ids twice, from one plain launch in each: it belongs to neither.
    """
    s = trace.slices
    gpu = trace.gpu_rows
    rows, group = np.unique(s.thread[gpu], return_inverse=True)
    if len(rows) * len(callers) > _SAMPLE_PAIRS:
        return np.full(len(gpu), ABSENT, dtype=np.int32)
    crowd = 4 * len(callers)
    sample = np.arange(0, len(gpu), 1 + len(gpu) * crowd // _SAMPLE_PAIRS)
    calls = np.flatnonzero(s.is_any(CALLS) & (s.correlation >= 0))
    ids = s.correlation[gpu[sample]]
    event, call, _ = pairs(s.correlation[calls], np.where(ids >= 0, ids, NOWHERE), calls, crowd=crowd)
    event = sample[event]
    before = s.ts_ns[call] <= s.ts_ns[gpu[event]]
    caller = np.searchsorted(callers, process[s.thread[call]])
    votes = np.zeros((len(rows), len(callers)), dtype=np.int64)
    np.add.at(votes, (group[event[before]], caller[before]), 1)
    owner = _elect(votes, callers)
    owner[_shared(trace, roles, process, gpu, group, len(rows))] = ABSENT
    return np.asarray(owner[group], dtype=np.int32)


def _shared(trace: Trace, roles: U8, process: I32, gpu: I64, group: I64, rows: int) -> NDArray[np.bool_]:
    """Return bool[rows]: whether a GPU row has many ids twice that plain launches of several processes carry."""
    s = trace.slices
    calls = np.flatnonzero(s.is_any(CALLS) & (s.correlation >= 0) & (roles != Role.GRAPH_LAUNCH))
    ids, number = np.unique(s.correlation[calls], return_inverse=True)
    if not len(ids):
        return np.zeros(rows, dtype=bool)
    caller = process[s.thread[calls]]
    low, high = np.full(len(ids), np.iinfo(np.int32).max, dtype=np.int32), np.full(len(ids), ABSENT, dtype=np.int32)
    np.minimum.at(low, number, caller)
    np.maximum.at(high, number, caller)
    at = np.minimum(np.searchsorted(ids, s.correlation[gpu]), len(ids) - 1)
    clash = (ids[at] == s.correlation[gpu]) & (low[at] != high[at])
    _, first, count = np.unique(group[clash] * len(ids) + at[clash], return_index=True, return_counts=True)
    of_row = group[clash][first]
    twice = np.bincount(of_row, weights=count > 1, minlength=rows)
    return np.asarray(twice > (1 - _SURE) * np.bincount(of_row, minlength=rows))


def _elect(votes: I64, callers: I32) -> I32:
    """Return the process of each GPU row (int32[r]), or -1 where several do as well.

    A process that made calls has its GPU events somewhere: where several do as well, the only one that has no row yet is taken.

    Args:
        votes: int64[r, p], equal ids called in time, for each GPU row and process.
        callers: int32[p], the processes.
    """
    owner = np.full(len(votes), ABSENT, dtype=np.int32)
    good = (votes > 0) & (votes >= _SURE * votes.max(axis=1, keepdims=True, initial=1))
    taken = np.zeros(len(callers), dtype=bool)
    while True:
        fit = good & ((good.sum(axis=1) == 1)[:, None] | ~taken)
        choice = np.flatnonzero((owner < 0) & (fit.sum(axis=1) == 1))
        if not len(choice):
            return owner
        column = fit[choice].argmax(axis=1)
        owner[choice] = callers[column]
        taken[column] = True
