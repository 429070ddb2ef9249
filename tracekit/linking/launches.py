"""Joins GPU events to the calls that launched them, and says how, or why not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.linking.calls import LAUNCHING, Role, rules
from tracekit.linking.links import Method, NoGpu, Reason
from tracekit.linking.ranks import calling_processes, clashes, owners, pairs
from tracekit.trace import ABSENT, CALLS, I32, I64, U8, Category, Phase, Trace


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
    owner = owners(trace, process, callers) if len(callers) > 1 and len(gpu) else None
    launch = np.full(len(gpu), ABSENT, dtype=np.int64)
    method = np.zeros(len(gpu), dtype=np.uint8)
    has_id = s.correlation[gpu] >= 0
    at, call, unsure = _by_key(trace, roles, process, gpu, s.correlation, owner)
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


def _by_key(
    trace: Trace, roles: U8, process: I32, gpu: I64, keys: I64, owner: I32 | None, among: NDArray[np.bool_] | None = None
) -> tuple[I64, I64, I64]:
    """Join GPU events to calls with the same key (correlation or External id).

    Returns:
        Positions in ``gpu`` and rows of calls, joined; and the positions where several calls fit and nothing tells which.
    """
    s = trace.slices
    calls = np.flatnonzero((s.is_any(CALLS) if among is None else among) & (keys >= 0))
    calls = calls[np.argsort(keys[calls], kind="stable")]
    wanted = np.where(keys[gpu] >= 0, keys[gpu], -2)
    event, call = pairs(keys[calls], wanted, calls)
    unsure = np.empty(0, np.int64)
    if owner is not None and len(event):
        mine = process[s.thread[call]]
        unknown = (owner[event] < 0) & clashes(event, mine)
        unsure = np.unique(event[unknown])
        keep = ~unknown & ((owner[event] < 0) | (owner[event] == mine))
        event, call = event[keep], call[keep]
    if not len(event) or (event[1:] != event[:-1]).all():
        return event, call, unsure
    event, call, doubtful = _best(trace, roles, gpu, event, call)
    return event, call, np.union1d(unsure, doubtful)


def _best(trace: Trace, roles: U8, gpu: I64, event: I64, call: I64) -> tuple[I64, I64, I64]:
    """Choose one call where several have the id: the one that truly launches.

    First those that start before the event; then those whose role fits (a copy call for a copy, a launch for a kernel), then any that launch; then
    the runtime call rather than the driver call inside it; then the one that ends last: the outer of nested ones, the last of several in a row.
    Where equals stand on different threads nothing tells.

    Returns:
        As ``_by_key``.
    """
    s = trace.slices
    fits = _fit(roles[call], s.category[gpu[event]]) * 2 + (s.category[call] == Category.RUNTIME)
    late = s.ts_ns[call] > s.ts_ns[gpu[event]]
    order = np.lexsort((call, -s.end_ns[call], -fits, late, event))
    event, call, fits, late = event[order], call[order], fits[order], late[order]
    starts = np.flatnonzero(np.concatenate(([True], event[1:] != event[:-1])))
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
    accepted = rules().launch_flows
    known = np.zeros(len(trace.strings) + 1, dtype=bool)
    known[trace.strings.ids_where(lambda text: text in accepted)] = True
    ours = np.flatnonzero(known[flows.raw_category] | known[flows.name])
    starts = ours[flows.phase[ours] == Phase.FLOW_START]
    stops = ours[flows.phase[ours] == Phase.FLOW_END]
    if not len(starts) or not len(stops):
        return found
    calls = s.rows(*CALLS)
    call_of_start = slice_starting(trace, calls, flows.thread[starts], flows.ts_ns[starts])
    event_of_stop = slice_starting(trace, gpu, flows.thread[stops], flows.ts_ns[stops])
    starts, call_of_start = starts[call_of_start >= 0], call_of_start[call_of_start >= 0]
    stops, event_of_stop = stops[event_of_stop >= 0], event_of_stop[event_of_stop >= 0]
    order = np.argsort(flows.id[starts], kind="stable")
    at, call = pairs(flows.id[starts][order], flows.id[stops], call_of_start[order])
    # The same flow id in two ranks: the pair that stands nearest in the file is the one that was written together.
    far = np.abs(flows.index[stops[at]] - s.index[call])
    at, call = at[np.lexsort((-far, at))], call[np.lexsort((-far, at))]
    found[np.searchsorted(gpu, event_of_stop[at])] = call
    return found


def slice_starting(trace: Trace, rows: I64, thread: I32, ts_ns: I64) -> I64:
    """Return the row of ``rows`` that starts on the thread at exactly that time, the innermost if several do, or -1 (int64[k]).

    Args:
        trace: The trace.
        rows: int64[m], rows in order of time.
        thread, ts_ns: int32[k], int64[k], where and when.
    """
    s = trace.slices
    if not len(rows) or not len(ts_ns):
        return np.full(len(ts_ns), ABSENT, dtype=np.int64)
    order = np.lexsort((rows, s.ts_ns[rows], s.thread[rows]))
    rows = rows[order]
    _, rank = np.unique(np.concatenate((s.ts_ns[rows], ts_ns)), return_inverse=True)
    width = int(rank.max()) + 1
    have = s.thread[rows].astype(np.int64) * width + rank[: len(rows)]
    want = thread.astype(np.int64) * width + rank[len(rows) :]
    at = np.searchsorted(have, want, side="right") - 1
    hit = (at >= 0) & (have[np.maximum(at, 0)] == want)
    return np.where(hit, rows[np.maximum(at, 0)], ABSENT)


def _by_external_id(trace: Trace, roles: U8, process: I32, gpu: I64, owner: I32 | None) -> tuple[I64, I64, I64]:
    """Join GPU events without correlation and flow to the one launching call with their External id; as ``_by_key``.

    An op's id stands on all of its launches, so where several carry it nothing tells which it was.
    """
    s = trace.slices
    launching = np.isin(roles, LAUNCHING)
    calls = np.flatnonzero(launching & (s.external_id > 0))
    calls = calls[np.argsort(s.external_id[calls], kind="stable")]
    event, call = pairs(s.external_id[calls], np.where(s.external_id[gpu] > 0, s.external_id[gpu], -2), calls)
    if owner is not None and len(event):
        keep = (owner[event] < 0) | (owner[event] == process[s.thread[call]])
        event, call = event[keep], call[keep]
    count = np.bincount(event, minlength=len(gpu))
    single = count[event] == 1
    return event[single], call[single], np.flatnonzero(count > 1)


def _captured(trace: Trace, rows: I64) -> NDArray[np.bool_]:
    """Return bool[k]: whether a graph was being captured on the thread when each call was made."""
    s = trace.slices
    table = rules()
    inside = np.zeros(len(rows), dtype=bool)
    begin, end = (trace.strings.ids_where(names.__contains__) for names in (table.begin_capture, table.end_capture))
    if not len(begin):
        return inside
    calls = s.rows(*CALLS)
    opens, closes = calls[np.isin(s.name[calls], begin)], calls[np.isin(s.name[calls], end)]
    for row in opens.tolist():
        same = closes[(s.thread[closes] == s.thread[row]) & (s.ts_ns[closes] >= s.ts_ns[row])]
        until = int(s.ts_ns[same[0]]) if len(same) else int(s.end_ns.max())
        inside |= (s.thread[rows] == s.thread[row]) & (s.ts_ns[rows] >= s.ts_ns[row]) & (s.ts_ns[rows] <= until)
    return inside
