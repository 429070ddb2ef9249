"""Joins GPU events to the calls that launched them, and says how, or why not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.linking.calls import LAUNCHING, Role, base_name, rules
from tracekit.linking.ids import NOWHERE, first_of_runs, flow_ends, pairs, slice_at
from tracekit.linking.links import Method, NoGpu, Reason
from tracekit.linking.ranks import calling_processes, owners
from tracekit.trace import ABSENT, CALLS, I32, I64, U8, Category, Trace


@dataclass(frozen=True)
class Joined:
    """What joining gave. Arrays of length g.

    Attributes:
        gpu: Rows of GPU work.
        launch: Row of the call that launched each, or -1.
        method: ``Method``.
        reason: ``Reason``.
        processes: Number of processes that made calls.
    """

    gpu: I64
    launch: I64
    method: U8
    reason: U8
    processes: int


def join(trace: Trace, roles: U8, process: I32) -> Joined:
    """Join every GPU event to its launch.

    By correlation within the process; where an event has no correlation, by the launch flow that ends at it; where it has none either, by the
    External id, if exactly one call carries the same. Correlation and External id are two number spaces and never mixed.

    Args:
        trace: The trace.
        roles: uint8[n], ``Role`` of each slice.
        process: int32[t], process of each thread.
    """
    s = trace.slices
    gpu = trace.gpu_rows
    callers = calling_processes(trace, process)
    owner = owners(trace, roles, process, callers) if len(callers) > 1 and len(gpu) else None
    launch = np.full(len(gpu), ABSENT, dtype=np.int64)
    method = np.zeros(len(gpu), dtype=np.uint8)
    has_id = s.correlation[gpu] >= 0
    at, call, unsure = _by_correlation(trace, roles, process, gpu, owner)
    launch[at], method[at] = call, Method.CORRELATION
    reason = np.where(has_id, _reasons(trace, process, gpu, owner), Reason.NO_CORRELATION).astype(np.uint8)
    reason[unsure] = Reason.AMBIGUOUS
    rest = np.flatnonzero(~has_id)
    if len(rest):
        found = _by_flow(trace, gpu[rest])
        launch[rest], method[rest] = found, np.where(found >= 0, Method.FLOW, Method.NONE)
        rest = rest[found < 0]
        mine = owner[rest] if owner is not None else None
        at, call, unsure = _by_external_id(trace, roles, process, gpu[rest], mine)
        launch[rest[at]], method[rest[at]] = call, Method.EXTERNAL_ID
        reason[rest[unsure]] = Reason.AMBIGUOUS
    linked = launch >= 0
    method[linked & (roles[np.maximum(launch, 0)] == Role.GRAPH_LAUNCH)] = Method.GRAPH
    reason[linked] = Reason.NONE
    return Joined(gpu, launch, method, reason, len(callers))


def lost(trace: Trace, roles: U8, parent: I32, joined: Joined) -> tuple[I64, U8]:
    """Find the launch calls that no GPU event was joined to, and why.

    A driver call inside a runtime call is the same launch seen in two APIs: if either is joined, neither is lost.

    Args:
        trace: The trace.
        roles: uint8[n], ``Role`` of each slice.
        parent: int32[n], the forest.
        joined: What joining gave.

    Returns:
        int64[l] rows in order of time, and uint8[l] ``NoGpu``.
    """
    s = trace.slices
    met = np.zeros(len(s), dtype=bool)
    met[joined.launch[joined.launch >= 0]] = True
    launching = np.isin(roles, LAUNCHING)
    inner = np.flatnonzero((s.category == Category.DRIVER) & launching & (parent >= 0))
    inner = inner[s.category[parent[inner]] == Category.RUNTIME]
    outer = parent[inner]
    met[inner] |= met[outer]
    met[outer] |= met[inner]
    gone = np.flatnonzero(launching & ~met)
    why = np.full(len(gone), NoGpu.NO_RECORD, dtype=np.uint8)
    if len(joined.gpu):
        why[s.ts_ns[gone] >= s.end_ns[joined.gpu].max()] = NoGpu.AFTER_LAST_RECORD
    else:
        why[:] = NoGpu.NO_GPU_RECORDS
    why[_captured(trace, gone)] = NoGpu.GRAPH_CAPTURE
    return gone, why


def _by_correlation(trace: Trace, roles: U8, process: I32, gpu: I64, owner: I32 | None) -> tuple[I64, I64, I64]:
    """Join GPU events to calls with the same correlation, within the process if there are several.

    Returns:
        Positions in ``gpu`` and rows of calls, joined; and the positions where several calls fit and nothing tells which.
    """
    s = trace.slices
    calls = np.flatnonzero(s.is_any(CALLS) & (s.correlation >= 0))
    keys, wanted = s.correlation[calls], np.where(s.correlation[gpu] >= 0, s.correlation[gpu], NOWHERE)
    unsure = np.empty(0, np.int64)
    if owner is not None:
        keys, wanted, unsure = _within_process(keys, wanted, process[s.thread[calls]], owner)
    event, call, crowded = pairs(keys, wanted, calls)
    unsure = np.union1d(unsure, crowded)
    if first_of_runs(event).all():
        return event, call, unsure
    event, call, doubtful = _best(trace, roles, gpu, event, call)
    return event, call, np.union1d(unsure, doubtful)


def _within_process(keys: I64, wanted: I64, caller: I32, owner: I32) -> tuple[I64, I64, I64]:
    """Turn ids into ids of one process: equal only where both id and process are.

    Args:
        keys: int64[m], ids of calls.
        wanted: int64[g], ids of GPU events.
        caller: int32[m], process of each call.
        owner: int32[g], process that launched each event, or -1.

    Returns:
        The new keys and wanted keys, and the positions of events of unknown process whose id calls of several processes have.
    """
    ids, at_call = np.unique(keys, return_inverse=True)
    if not len(ids):
        return keys, wanted, np.empty(0, np.int64)
    width = int(max(caller.max(), owner.max(initial=0))) + 1
    low, high = np.full(len(ids), width, dtype=np.int64), np.full(len(ids), ABSENT, dtype=np.int64)
    np.minimum.at(low, at_call, caller)
    np.maximum.at(high, at_call, caller)
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    hit = ids[at] == wanted
    single = low[at] == high[at]
    process = np.where(owner >= 0, owner, np.where(single, low[at], ABSENT))
    unsure = np.flatnonzero(hit & (process < 0))
    return at_call * width + caller, np.where(hit & (process >= 0), at * width + process, NOWHERE), unsure


def _best(trace: Trace, roles: U8, gpu: I64, event: I64, call: I64) -> tuple[I64, I64, I64]:
    """Choose one call where several have the id: the one that truly launches.

    First those that start before the event; then those whose role fits (a copy call for a copy, a launch for a kernel), then any that launch; then
    the runtime call rather than the driver call inside it; then the one that ends last: the outer of nested ones, the last of several in a row.
    Where equals stand on different threads nothing tells.

    Returns:
        As ``_by_correlation``.
    """
    s = trace.slices
    fits = _fit(roles[call], s.category[gpu[event]]) * 2 + (s.category[call] == Category.RUNTIME)
    late = s.ts_ns[call] > s.ts_ns[gpu[event]]
    order = np.lexsort((call, -s.end_ns[call], -fits, late, event))
    event, call, fits, late = event[order], call[order], fits[order], late[order]
    starts = np.flatnonzero(first_of_runs(event))
    leader = np.repeat(starts, np.diff(np.append(starts, len(event))))
    equal = (fits == fits[leader]) & (late == late[leader])
    thread = np.where(equal, s.thread[call], s.thread[call[leader]])
    sure = np.minimum.reduceat(thread, starts) == np.maximum.reduceat(thread, starts)
    return event[starts[sure]], call[starts[sure]], event[starts[~sure]]


def _fit(role: U8, category: U8) -> I64:
    """Return how well a call's role fits an event's category (int64[k], more is better)."""
    kind = np.full(256, int(Role.LAUNCH))
    kind[Category.MEMCPY], kind[Category.MEMSET] = Role.MEMCPY, Role.MEMSET
    exact = (role == kind[category]) | (role == Role.GRAPH_LAUNCH)
    return np.where(exact, 3, np.where(np.isin(role, LAUNCHING), 2, np.where(role == Role.OTHER, 1, 0)))


def _reasons(trace: Trace, process: I32, gpu: I64, owner: I32 | None) -> U8:
    """Return why each GPU event would have no launch, if its correlation led nowhere (uint8[g]).

    Ids only rise, so one below that of every recorded call was given before the recording began; the order of time doesn't tell, for several
    streams run at once.
    """
    s = trace.slices
    calls = np.flatnonzero(s.is_any(CALLS) & (s.correlation >= 0))
    if not len(calls):
        return np.full(len(gpu), Reason.LAUNCH_NOT_RECORDED, dtype=np.uint8)
    lowest = np.full(int(process.max()) + 2, s.correlation[calls].min(), dtype=np.int64)
    if owner is not None:
        per_process = np.full(len(lowest), np.iinfo(np.int64).max)
        np.minimum.at(per_process, process[s.thread[calls]], s.correlation[calls])
        known = per_process < np.iinfo(np.int64).max
        lowest[known] = per_process[known]
        first = lowest[owner]  # -1 (unknown) takes the last, which is the lowest of all
    else:
        first = np.full(len(gpu), lowest[-1])
    return np.where(s.correlation[gpu] < first, Reason.LAUNCHED_BEFORE_TRACE, Reason.LAUNCH_NOT_RECORDED).astype(np.uint8)


def _by_flow(trace: Trace, gpu: I64) -> I64:
    """Return the call from which a launch flow leads to each GPU event, or -1 (int64[k]).

    A flow ends at the start of the GPU event, on its row, and starts at the start of the call, on its thread.
    """
    s, flows = trace.slices, trace.flows
    found = np.full(len(gpu), ABSENT, dtype=np.int64)
    starts, stops = flow_ends(trace, rules().launch_flows)
    source = slice_at(trace, s.rows(*CALLS), flows.thread[starts], flows.ts_ns[starts])
    target = slice_at(trace, gpu, flows.thread[stops], flows.ts_ns[stops])
    starts, source = starts[source >= 0], source[source >= 0]
    stops, target = stops[target >= 0], target[target >= 0]
    at, call, _ = pairs(flows.id[starts], flows.id[stops], source)
    # The same flow id in two ranks: what stands nearest in the file was written together. It comes last here, and the last one stays.
    order = np.lexsort((-np.abs(flows.index[stops[at]] - s.index[call]), target[at]))
    found[np.searchsorted(gpu, target[at[order]])] = call[order]
    return found


def _by_external_id(trace: Trace, roles: U8, process: I32, gpu: I64, owner: I32 | None) -> tuple[I64, I64, I64]:
    """Join GPU events without correlation and flow to the one launching call with their External id; as ``_by_correlation``.

    An op's id stands on all of its launches, so where several carry it nothing tells which it was.
    """
    s = trace.slices
    calls = np.flatnonzero(np.isin(roles, LAUNCHING) & (s.external_id > 0))
    wanted = np.where(s.external_id[gpu] > 0, s.external_id[gpu], NOWHERE)
    event, call, crowded = pairs(s.external_id[calls], wanted, calls)
    if owner is not None and len(event):
        keep = (owner[event] < 0) | (owner[event] == process[s.thread[call]])
        event, call = event[keep], call[keep]
    count = np.bincount(event, minlength=len(gpu))
    single = count[event] == 1
    return event[single], call[single], np.union1d(np.flatnonzero(count > 1), crowded)


def _captured(trace: Trace, rows: I64) -> NDArray[np.bool_]:
    """Return bool[k]: whether a graph was being captured on the thread when each call was made."""
    s = trace.slices
    table = rules()
    begin = trace.strings.ids_where(lambda name: base_name(name) in table.begin_capture)
    end = trace.strings.ids_where(lambda name: base_name(name) in table.end_capture)
    if not len(begin):
        return np.zeros(len(rows), dtype=bool)
    calls = s.rows(*CALLS)
    opens, closes = calls[np.isin(s.name[calls], begin)], calls[np.isin(s.name[calls], end)]
    every = np.concatenate((opens, closes, rows))
    kind = np.repeat([1, 0, ABSENT], [len(opens), len(closes), len(rows)])
    order = np.lexsort((every, s.thread[every]))
    every, kind = every[order], kind[order]
    # Each place takes the state of the last begin or end before it, if that is on its thread.
    last = np.maximum.accumulate(np.where(kind >= 0, np.arange(len(kind)), ABSENT))
    state = (last >= 0) & (kind[np.maximum(last, 0)] == 1) & (s.thread[every[np.maximum(last, 0)]] == s.thread[every])
    inside = np.empty(len(order), dtype=bool)
    inside[order] = state
    return inside[len(order) - len(rows) :]
