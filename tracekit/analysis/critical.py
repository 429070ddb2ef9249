"""The critical path of a step: the chain of GPU work, launches and host time that its length hangs on.

The model is that of the replay, as a graph. Its longest path is the step itself: what isn't on it could be faster without the step becoming shorter.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracekit.analysis.idle import Cause, Part, causes_of, host_parts
from tracekit.analysis.notices import notices
from tracekit.analysis.timeline import host_timeline
from tracekit.errors import OptionError
from tracekit.linking import call_roles
from tracekit.trace import ABSENT, I64, Category

if TYPE_CHECKING:
    import networkx as nx

    from tracekit.analysis.bundle import Analysis

MOST_EVENTS = 50_000
"""GPU events of a step at most: a graph of Python objects takes a kilobyte for each."""

# What an edge of the graph is: GPU work, the gap after the event before, what a launch takes to reach the device, host time.
GPU, GAP, LATENCY, HOST, AFTER = "gpu", "gap", "latency", "host", "after"

Node = tuple[str, int]
BEGIN: Node = ("begin", 0)
OVER: Node = ("over", 0)


@dataclass(frozen=True)
class PathRow:
    """One kind of thing on the path.

    Attributes:
        kind: ``gpu``, ``gap``, ``latency``, ``after``; of host time ``op``, ``runtime``, ``sync``, ``python``, ``annotation``, ``no_host_event``.
        name: The kernel's, op's or call's name; "" where there is none.
        count: Stretches.
        ns: Their time.
    """

    kind: str
    name: str
    count: int
    ns: int


@dataclass(frozen=True)
class Critical:
    """The critical path of one step.

    Attributes:
        trace: The file's name as given.
        step: The step's name.
        wall_ns: Its time: the sum of the rows.
        gpu_ns, host_ns, queue_ns: GPU work, host time, and latency and gaps of the queue on the path; with ``outside_ns`` they make the step.
        outside_ns: After the last GPU event of the step, where its mark goes on.
        hidden_gpu_ns: GPU time of the step that isn't on the path: it hides behind what is.
        rows: By kind and name, most time first.
        notices: What a user should know.
    """

    SCHEMA: ClassVar[str] = "tracekit.critical/1"

    trace: str
    step: str
    wall_ns: int
    gpu_ns: int
    host_ns: int
    queue_ns: int
    outside_ns: int
    hidden_gpu_ns: int
    rows: tuple[PathRow, ...]
    notices: tuple[str, ...]


def critical_path(analysis: Analysis, step: int | None = None) -> Critical:
    """Return the critical path of a step.

    Args:
        analysis: The trace's analysis.
        step: Index of the step; None for the one whose time is the median.

    Raises:
        OptionError: There is no such step, it has no GPU work, or more than ``MOST_EVENTS`` of it.
    """
    import networkx as nx

    at = chosen_step(analysis, step)
    graph, _ = step_graph(analysis, at)
    try:
        path = nx.dag_longest_path(graph, weight="ns")
    except nx.NetworkXUnfeasible as error:
        raise OptionError(
            analysis.trace.path, "the step's times contradict each other: work waits for itself", "Take another step with --nth."
        ) from error
    edges = [(int(graph.nodes[a]["at_ns"]), int(graph.nodes[b]["at_ns"]), graph.edges[a, b]) for a, b in itertools.pairwise(path)]
    rows = list(_rows(analysis, at, edges))
    by_kind = {kind: sum(row.ns for row in rows if row.kind == kind) for kind in {row.kind for row in rows}}
    gpu, queue = by_kind.get(GPU, 0), by_kind.get(GAP, 0) + by_kind.get(LATENCY, 0)
    outside = by_kind.get(AFTER, 0)
    windows, work = analysis.windows, analysis.work
    wall = int(windows.wall_ns[at])
    all_gpu = int(work.dur_ns[(analysis.links.step == at) & (work.device == windows.device)].sum())
    rows.sort(key=lambda row: (-row.ns, row.kind, row.name))
    name = analysis.links.steps.names[at]
    return Critical(
        analysis.trace.path,
        name,
        wall,
        gpu,
        wall - gpu - queue - outside,
        queue,
        outside,
        max(all_gpu - gpu, 0),
        tuple(rows),
        notices(analysis),
    )


def chosen_step(analysis: Analysis, step: int | None) -> int:
    """Return the index of a step with GPU work: the one asked for, or the median."""
    windows = analysis.windows
    usable = np.flatnonzero(windows.on_device & (windows.wall_ns > 0))
    if not len(usable):
        raise OptionError(analysis.trace.path, "no step has GPU work, so there is no path to follow", "Record CUDA activities too.")
    if step is None:
        return int(usable[np.argsort(windows.wall_ns[usable], kind="stable")[(len(usable) - 1) // 2]])
    if step not in usable.tolist():
        known = ", ".join(map(str, usable.tolist()[:20]))
        raise OptionError(f"--nth {step}", "there is no such step with GPU work", f"Steps are counted from 0; there are {known}.")
    return step


def step_graph(analysis: Analysis, step: int) -> tuple[nx.DiGraph[Any], Node]:
    """Return the graph of what a step's end hangs on, and the node at which the step ends.

    Nodes are ``("start", row)`` and ``("end", row)`` of a GPU event, ``("launch", row)``, ``("wait", row)`` and ``("waited", row)`` of a call; each has
    ``at_ns``. An edge says how long after the one node the other one comes at the earliest (``ns``), why (``kind``), and of which slice (``row``).

    Raises:
        OptionError: The step has more than ``MOST_EVENTS`` GPU events.
    """
    import networkx as nx

    replay, windows, work = analysis.replay, analysis.windows, analysis.work
    low, high = int(windows.start_ns[step]), int(windows.end_ns[step])
    start, end = work.start_ns[replay.order], work.end_ns[replay.order]
    places = np.flatnonzero((end > low) & (start <= high))
    if len(places) > MOST_EVENTS:
        raise OptionError(
            analysis.trace.path, f"the step has more than {MOST_EVENTS:,} GPU events", "Cut it with `tracekit slice --time A:B`."
        )
    graph: nx.DiGraph[Any] = nx.DiGraph()
    graph.add_node(BEGIN, at_ns=low)
    _add_gpu(graph, analysis, places, low)
    _add_hosts(graph, analysis, low, high)
    over = _end_of(graph, analysis, step, places, high)
    return graph.subgraph(nx.ancestors(graph, over) | {over}), over


def _add_gpu(graph: nx.DiGraph[Any], analysis: Analysis, places: I64, low: int) -> None:
    """Add the GPU events, each after its launch and after what it followed."""
    replay, work, launches = analysis.replay, analysis.work, analysis.links.launch
    rows, inside = work.rows[replay.order].tolist(), set(places.tolist())
    ended = np.sort(work.end_ns[replay.order[places]])
    by_end = places[np.argsort(work.end_ns[replay.order[places]], kind="stable")]
    for at in places.tolist():
        event = int(replay.order[at])
        row, begin, end = rows[at], int(work.start_ns[event]), int(work.end_ns[event])
        first, last = ("start", row), ("end", row)
        graph.add_node(last, at_ns=end)
        if begin < low:
            graph.add_edge(BEGIN, last, ns=end - low, kind=GPU, row=row)
            continue
        graph.add_node(first, at_ns=begin)
        graph.add_edge(first, last, ns=end - begin, kind=GPU, row=row)
        followed, launch, called = int(replay.follows[at]), int(launches[event]), int(replay.launch_ns[at])
        earliest = low
        if followed in inside and int(work.end_ns[replay.order[followed]]) <= begin:
            latency = int(replay.gpu_latency_ns[at])
            graph.add_edge(("end", rows[followed]), first, ns=latency, kind=GAP, row=row)
            earliest = int(work.end_ns[replay.order[followed]]) + latency
        if launch >= 0 and low <= called <= begin:
            inside_call, latency = int(replay.arrives_ns[at]) - called, int(replay.host_latency_ns[at])
            graph.add_node(("launch", launch), at_ns=called)
            graph.add_edge(("launch", launch), first, ns=inside_call + latency, kind=LATENCY, row=launch, called_ns=inside_call)
            earliest = max(earliest, called + inside_call + latency)
        if earliest < begin or graph.in_degree(first) == 0:
            # Neither its launch nor its stream explains when it starts: it waits for another stream, most likely for what ended last.
            before = int(np.searchsorted(ended, begin, side="right")) - 1
            known = before >= 0 and by_end[before] != at and ended[before] >= low
            source, then = (("end", rows[by_end[before]]), int(ended[before])) if known else (BEGIN, low)
            graph.add_edge(source, first, ns=begin - then, kind=GAP, row=row)


def _add_hosts(graph: nx.DiGraph[Any], analysis: Analysis, low: int, high: int) -> None:
    """Add the host threads: launches one after the other, and the waits between them."""
    thread, waits, replay = analysis.trace.slices.thread, analysis.replay.waits, analysis.replay
    chains: dict[int, list[tuple[int, int, Node]]] = {}
    for node, at in list(graph.nodes(data="at_ns")):
        if node[0] == "launch":
            chains.setdefault(int(thread[node[1]]), []).append((at, 0, node))
    for row, begin, end, place in zip(*(one.tolist() for one in (waits.row, waits.begin_ns, waits.end_ns, waits.place)), strict=True):
        chain = chains.get(int(thread[row]))
        if chain is None or not low <= end <= high:
            continue
        done = ("end", int(analysis.work.rows[replay.order[place]]))
        graph.add_node(("waited", row), at_ns=end)
        chain.append((end, 2, ("waited", row)))
        if begin >= low:
            graph.add_node(("wait", row), at_ns=begin)
            chain.append((begin, 1, ("wait", row)))
        if done in graph and replay.launch_ns[place] <= begin:
            graph.add_edge(done, ("waited", row), ns=end - max(begin, graph.nodes[done]["at_ns"]), kind=HOST, row=row)
    for chain in chains.values():
        chain.sort()
        before, then = BEGIN, low
        for at, _, node in chain:
            # How long the host waits within a call depends on the GPU: only what is left then is the host's.
            waited = node[0] == "waited" and before == ("wait", node[1]) and graph.in_degree(node) > 0
            ns = min(edge["ns"] for _, _, edge in graph.in_edges(node, data=True)) if waited else at - then
            graph.add_edge(before, node, ns=ns, kind=HOST, row=node[1])
            before, then = node, at


def _end_of(graph: nx.DiGraph[Any], analysis: Analysis, step: int, places: I64, high: int) -> Node:
    """Return where the step ends: the first GPU event of the next one, or the last of its own."""
    replay, work = analysis.replay, analysis.work
    events = replay.order[places]
    following = events[(work.start_ns[events] == high) & (analysis.links.step[events] == step + 1)]
    if len(following):
        return ("start", int(work.rows[following[0]]))
    mine = events[work.end_ns[events] <= high]
    if not len(mine):
        graph.add_node(OVER, at_ns=high)
        graph.add_edge(BEGIN, OVER, ns=high - graph.nodes[BEGIN]["at_ns"], kind=AFTER, row=ABSENT)
        return OVER
    last = mine[np.argmax(work.end_ns[mine])]
    graph.add_node(OVER, at_ns=high)
    graph.add_edge(("end", int(work.rows[last])), OVER, ns=high - int(work.end_ns[last]), kind=AFTER, row=ABSENT)
    return OVER


def _rows(analysis: Analysis, step: int, edges: list[tuple[int, int, dict[str, Any]]]) -> Iterator[PathRow]:
    """Yield the rows of a path of (start, end, edge), unsorted; their times add up to the path's length."""
    counts: Counter[tuple[str, str]] = Counter()
    times: Counter[tuple[str, str]] = Counter()
    host: list[tuple[int, int, int]] = []
    for start, end, edge in edges:
        kind, split = edge["kind"], start
        if kind == HOST:
            host.append((start, end, edge["row"]))
            continue
        if kind == LATENCY:
            split = start + edge["called_ns"]
            host.append((start, split, edge["row"]))
        key = (kind, analysis.trace.name(edge["row"]) if kind == GPU else "")
        counts[key] += 1
        times[key] += end - split
    for key, ns in _charged(analysis, step, host):
        counts[key] += 1
        times[key] += ns
    for key, count in counts.items():
        if times[key]:
            yield PathRow(*key, count, times[key])


def _charged(analysis: Analysis, step: int, host: list[tuple[int, int, int]]) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield who had the host's time on the path, with how much."""
    if not host:
        return
    start, end, row = (np.array(column, dtype=np.int64) for column in zip(*host, strict=True))
    parts = host_parts(analysis.trace, analysis.links, np.arange(len(start)), start, end, row, np.full(len(start), step, dtype=np.int64))
    for part in _elsewhere(analysis, step, parts):
        for cause, slice_, ns in zip(part.cause.tolist(), part.row.tolist(), (part.end_ns - part.start_ns).tolist(), strict=True):
            if ns:
                yield (Cause(cause).name.lower(), analysis.trace.name(slice_) if slice_ >= 0 else ""), ns


def _elsewhere(analysis: Analysis, step: int, parts: list[Part]) -> Iterator[Part]:
    """Yield the parts, those without an op charged to the op of another thread that launches work for the step, if there was one.

    While autograd's thread runs the backward pass, the one that called it only waits, and records nothing or one long frame.
    """
    trace, links = analysis.trace, analysis.links
    launches = links.launch[(links.step == step) & (links.launch >= 0)]
    roles = call_roles(trace)
    lines = [host_timeline(trace, links, int(thread)) for thread in np.unique(trace.slices.thread[launches])]
    for part in parts:
        left = part
        for line in lines:
            idle = np.isin(left.cause, (Cause.NO_HOST_EVENT, Cause.PYTHON, Cause.ANNOTATION))
            yield left.only(~idle)
            left = left.only(idle)
            piece, owner, begin, end = line.split(left.start_ns, left.end_ns)
            busy = (owner >= 0) & (trace.slices.category[np.maximum(owner, 0)] != Category.USER_ANNOTATION)
            row = np.where(busy, owner, left.row[piece])
            cause = left.cause[piece]
            cause[busy] = causes_of(trace, roles, owner[busy])
            left = Part(left.gap[piece], begin, end, cause, row)
        yield left
