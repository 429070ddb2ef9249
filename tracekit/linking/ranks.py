"""Which process launched what, in files that hold several: the ids of merged ranks clash.

Correlation ids count from the start in each process, so a file made of several ranks has each id several times. Rows of a GPU don't name the process
that used it; three things tell, in this order: labels that the merger put into the process ids (``[TP0] 1234``), the place in the file (one rank after
another), and which process's calls come before the GPU events that carry the same ids.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tracekit.trace import ABSENT, CALLS, GPU_WORK, I32, I64, Trace

_TAIL = re.compile(r"\d+\s*$")
_BLOCKS_PER_PROCESS = 4  # a file in blocks changes process about once per rank; a file sorted by time does all the time
_SURE = 0.9


def processes(trace: Trace) -> I32:
    """Return the number of the process of each thread (int32[t]): threads with the same raw pid share one."""
    numbers: dict[int | str, int] = {}
    return np.array([numbers.setdefault(t.pid, len(numbers)) for t in trace.threads], dtype=np.int32)


def calling_processes(trace: Trace, process: I32) -> I32:
    """Return the processes that made calls with a correlation (int32[p], rising)."""
    s = trace.slices
    calls = s.is_any(CALLS) & (s.correlation >= 0)
    return np.unique(process[s.thread[calls]])


def owners(trace: Trace, process: I32, callers: I32) -> I32:
    """Find the process that launched each GPU event, for a file with several calling processes.

    Args:
        trace: The trace.
        process: int32[t], process of each thread.
        callers: int32[p], the processes that made calls.

    Returns:
        int32[g]: a process, or -1 where nothing tells.
    """
    labelled = _by_label(trace, process, callers)
    if labelled is not None:
        return labelled
    blocks = _by_place(trace, process, callers)
    if blocks is not None:
        return blocks
    return _by_causality(trace, process, callers)


def _by_label(trace: Trace, process: I32, callers: I32) -> I32 | None:
    """Join by the text before the number in string pids, if every caller has its own and the GPU rows have them too."""
    label_of: dict[int, str] = {}
    for thread, number in zip(trace.threads, process.tolist(), strict=True):
        text = thread.pid if isinstance(thread.pid, str) else ""
        label_of[number] = _TAIL.sub("", text).strip()
    caller_of = {label_of[c]: c for c in callers.tolist()}
    if len(caller_of) < len(callers) or "" in caller_of:
        return None
    gpu = trace.gpu_rows
    owner_of = np.array([caller_of.get(label_of[p], ABSENT) for p in range(int(process.max()) + 1)], dtype=np.int32)
    found = owner_of[process[trace.slices.thread[gpu]]]
    return found if len(found) and (found >= 0).mean() >= _SURE else None


def _by_place(trace: Trace, process: I32, callers: I32) -> I32 | None:
    """Give each GPU event to the process whose host slices stand before it in the file, if the file is in blocks and the ids agree."""
    s = trace.slices
    gpu = trace.gpu_rows
    host = np.flatnonzero(~s.is_any(GPU_WORK) & np.isin(process[s.thread], callers))
    host = host[np.argsort(s.index[host])]
    runs = process[s.thread[host]]
    changes = int((runs[1:] != runs[:-1]).sum())
    if changes > _BLOCKS_PER_PROCESS * len(callers):
        return None
    before = np.searchsorted(s.index[host], s.index[gpu]) - 1
    owner = np.where(before >= 0, runs[np.maximum(before, 0)], runs[0]).astype(np.int32)
    event, call = same_correlation(trace, gpu)
    if not len(event):
        return None
    agrees = process[s.thread[call]] == owner[event]
    explained, matched = len(np.unique(event[agrees])), len(np.unique(event))
    return owner if explained * 2 >= matched else None


def _by_causality(trace: Trace, process: I32, callers: I32) -> I32:
    """Give each GPU row to the process most of whose equal ids were called before the GPU events started; -1 where two do equally well."""
    s = trace.slices
    gpu = trace.gpu_rows
    _, group = np.unique(s.thread[gpu], return_inverse=True)
    event, call = same_correlation(trace, gpu)
    before = s.ts_ns[call] <= s.ts_ns[gpu[event]]
    caller = np.searchsorted(callers, process[s.thread[call]])
    votes = np.zeros((int(group.max()) + 1 if len(group) else 0, len(callers)), dtype=np.int64)
    np.add.at(votes, (group[event[before]], caller[before]), 1)
    owner = _elect(votes, callers)
    return np.asarray(owner[group], dtype=np.int32)


def _elect(votes: I64, callers: I32) -> I32:
    """Return the process of each GPU row (int32[r]), or -1 where several do as well.

    A process that made calls has its GPU events somewhere: where several do as well, the only one that has no row yet is taken.

    Args:
        votes: int64[r, p], equal ids called in time, for each GPU row and process.
        callers: int32[p], the processes.
    """
    owner = np.full(len(votes), ABSENT, dtype=np.int32)
    good = (votes > 0) & (votes >= _SURE * votes.max(axis=1, keepdims=True, initial=1))
    taken: set[int] = set()
    settled = True
    while settled:
        settled = False
        for row in np.flatnonzero(owner < 0).tolist():
            fit = np.flatnonzero(good[row]).tolist()
            free = [column for column in fit if column not in taken]
            choice = fit if len(fit) == 1 else free
            if len(choice) == 1:
                owner[row] = callers[choice[0]]
                taken.add(choice[0])
                settled = True
    return owner


def same_correlation(trace: Trace, gpu: I64) -> tuple[I64, I64]:
    """Return all pairs of a GPU event and a call with the same correlation, whatever the process: positions in ``gpu``, and rows of calls."""
    s = trace.slices
    calls = np.flatnonzero(s.is_any(CALLS) & (s.correlation >= 0))
    calls = calls[np.argsort(s.correlation[calls], kind="stable")]
    wanted = np.where(s.correlation[gpu] >= 0, s.correlation[gpu], -2)
    return pairs(s.correlation[calls], wanted, calls)


def pairs(keys: I64, wanted: I64, values: I64) -> tuple[I64, I64]:
    """Return all matches of ``wanted`` in the sorted ``keys``: positions in ``wanted`` and the ``values`` of the keys."""
    low = np.searchsorted(keys, wanted, side="left")
    count = np.searchsorted(keys, wanted, side="right") - low
    event = np.repeat(np.arange(len(wanted)), count)
    at = np.arange(len(event)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)
    return event, values[at]


def clashes(event: I64, owner: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return bool[k]: whether a pair's GPU event is paired with calls of several processes.

    Args:
        event: int64[k], the GPU event of each pair, rising.
        owner: int32[k], the process of each pair's call.
    """
    if not len(event):
        return np.empty(0, dtype=bool)
    starts = np.flatnonzero(np.concatenate(([True], event[1:] != event[:-1])))
    low, high = np.minimum.reduceat(owner, starts), np.maximum.reduceat(owner, starts)
    return np.repeat(low != high, np.diff(np.append(starts, len(event))))
