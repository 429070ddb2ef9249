"""CPU ops with their host time and the GPU time that they launch: the `ops` command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.notices import notices
from tracekit.analysis.paths import module_of, op_stack, paths_of
from tracekit.errors import OptionError
from tracekit.linking import roll_up
from tracekit.trace import I32, Category

if TYPE_CHECKING:
    from tracekit.analysis.bundle import Analysis


@dataclass(frozen=True)
class OpRow:
    """Calls of one op, summed over the whole trace, as torch's ``key_averages`` does.

    Attributes:
        name: The op.
        calls: Number of calls.
        cpu_ns: Host time with everything inside; a call inside another of the same name is counted once.
        self_cpu_ns: Host time less that of the ops and calls directly inside.
        gpu_ns: Duration of the GPU events launched inside.
        self_gpu_ns: Of those launched by the calls directly inside.
        opaque_cpu_ns: Self time beyond what the dispatch of an op costs in this trace.
        exposed_ns: GPU idle time charged to its self time.
        shapes: Input shapes, with ``--by shape``; else None.
        module: nn.Module, with ``--by module``; else None.
        stack: Stack of ops, outer first, with ``--by stack``; else None.
    """

    name: str
    calls: int
    cpu_ns: int
    self_cpu_ns: int
    gpu_ns: int
    self_gpu_ns: int
    opaque_cpu_ns: int
    exposed_ns: int
    shapes: str | None = None
    module: str | None = None
    stack: str | None = None


@dataclass(frozen=True)
class OpNode:
    """A node of the op tree, calls of the same path merged; in order of first appearance, parents before children.

    Attributes:
        name: The op, annotation or call.
        depth: 0 for roots.
        calls, cpu_ns, self_cpu_ns, gpu_ns, self_gpu_ns: As for a row.
    """

    name: str
    depth: int
    calls: int
    cpu_ns: int
    self_cpu_ns: int
    gpu_ns: int
    self_gpu_ns: int


@dataclass(frozen=True)
class Ops:
    """The table.

    Attributes:
        by: ``name``, ``shape``, ``module`` or ``stack``.
        steps: Number of steps in the trace.
        dispatch_ns: What the dispatch of one launching op costs in this trace (the base of ``opaque_cpu_ns``).
        ops: Rows, most self GPU time first, then most self host time.
        tree: Nodes, where the tree was asked for; else ().
    """

    SCHEMA: ClassVar[str] = "tracekit.ops/1"

    by: str
    steps: int
    dispatch_ns: int
    ops: tuple[OpRow, ...]
    tree: tuple[OpNode, ...] = ()
    notices: tuple[str, ...] = ()


def op_table(analysis: Analysis, *, by: str = "name", tree: bool = False) -> Ops:
    """Return the ops of a trace.

    Args:
        analysis: The trace's analysis.
        by: What makes a row: ``name`` alone, or together with ``shape``, ``module`` or ``stack``.
        tree: Whether to add the tree of ops, annotations and calls.
    """
    trace, links = analysis.trace, analysis.links
    slices = trace.slices
    rows = slices.rows(Category.CPU_OP)
    self_gpu = np.zeros(len(slices), dtype=np.int64)
    has_op = links.op >= 0
    np.add.at(self_gpu, links.op[has_op], analysis.work.dur_ns[has_op])
    gpu = roll_up(links.parent, self_gpu)
    names = slices.name[rows].astype(np.int64)
    extra = _extra(analysis, rows, by)
    key = names * (len(extra.texts) + 1) + extra.id
    _, first, at = np.unique(key, return_index=True, return_inverse=True)
    outer = ~_inside_same_name(links.parent, slices.name, rows)

    def total(values: NDArray[np.int64]) -> list[int]:
        out = np.zeros(len(first), dtype=np.int64)
        np.add.at(out, at, values)
        return [int(value) for value in out]

    columns = zip(
        first.tolist(),
        np.bincount(at, minlength=len(first)).tolist(),
        total(np.where(outer, slices.dur_ns[rows], 0)),
        total(links.self_ns[rows]),
        total(np.where(outer, gpu[rows], 0)),
        total(self_gpu[rows]),
        total(analysis.host.opaque_ns[rows]),
        total(analysis.host.exposed_ns[rows]),
        strict=True,
    )
    table = [
        OpRow(trace.strings[names[i]], calls, *times, **({by_field: extra.texts[extra.id[i]]} if (by_field := _FIELDS.get(by)) else {}))
        for i, calls, *times in columns
    ]
    table.sort(key=lambda row: (-row.self_gpu_ns, -row.self_cpu_ns, row.name, row.shapes or "", row.module or "", row.stack or ""))
    return Ops(
        by, len(links.steps), analysis.host.dispatch_ns, tuple(table), _tree(analysis, self_gpu, gpu) if tree else (), notices(analysis)
    )


_FIELDS = {"shape": "shapes", "module": "module", "stack": "stack"}


@dataclass(frozen=True)
class _Extra:
    """What a row stands for beside the name: ids int64[m] into texts."""

    id: NDArray[np.int64]
    texts: tuple[str, ...]


def _extra(analysis: Analysis, rows: NDArray[np.int64], by: str) -> _Extra:
    trace, links = analysis.trace, analysis.links
    if by == "name":
        return _Extra(np.zeros(len(rows), dtype=np.int64), ("",))
    if by == "shape":
        texts = [shapes_text(trace.args(row)) for row in rows.tolist()]
    elif by == "module":
        texts = [module_of(trace, links, row) for row in rows.tolist()]
    elif by == "stack":
        paths = paths_of(trace, links)
        text_of: dict[int, str] = {}
        texts = []
        for row in rows.tolist():
            path = int(paths[row])
            if path not in text_of:
                text_of[path] = " > ".join(op_stack(trace, links, row))
            texts.append(text_of[path])
    else:
        raise OptionError("--by", f"there is no {by!r}", "Use name, shape, module or stack.")
    distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return _Extra(np.array([distinct[text] for text in texts], dtype=np.int64), tuple(distinct))


def shapes_text(args: Mapping[str, Any]) -> str:
    """Return the input shapes of an op as recorded: ``[8, 16], [], [16]``; "" where they weren't."""
    dims = args.get("Input Dims", args.get("Input dims"))
    return ", ".join(str(one).replace("'", "") for one in dims) if isinstance(dims, list) else ""


def _inside_same_name(parent: I32, name: I32, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether a slice of the same name encloses each row: torch counts such recursion once."""
    inside = np.zeros(len(rows), dtype=bool)
    up = parent[rows]
    while (up >= 0).any():
        inside |= (up >= 0) & (name[up] == name[rows])
        up = np.where(up >= 0, parent[up], -1)
    return inside


def _tree(analysis: Analysis, self_gpu: NDArray[np.int64], gpu: NDArray[np.int64]) -> tuple[OpNode, ...]:
    trace, links = analysis.trace, analysis.links
    slices = trace.slices
    paths = paths_of(trace, links)
    rows = np.flatnonzero(paths >= 0)
    count = int(paths.max(initial=-1)) + 1
    first = np.full(count, len(slices), dtype=np.int64)
    np.minimum.at(first, paths[rows], rows)

    def total(values: NDArray[np.int64]) -> NDArray[np.int64]:
        out = np.zeros(count, dtype=np.int64)
        np.add.at(out, paths[rows], values[rows])
        return out

    calls, cpu, self_cpu = np.bincount(paths[rows], minlength=count), total(slices.dur_ns), total(links.self_ns)
    gpu_sum, self_gpu_sum = total(gpu), total(self_gpu)
    up = links.parent[first]
    above = np.where(up >= 0, paths[up], -1)
    below: dict[int, list[int]] = {}
    for path in np.argsort(first, kind="stable").tolist():
        below.setdefault(int(above[path]), []).append(path)
    nodes: list[OpNode] = []
    stack = [(path, 0) for path in reversed(below.get(-1, []))]
    while stack:
        path, depth = stack.pop()
        name = trace.strings[slices.name[first[path]]]
        nodes.append(OpNode(name, depth, *(int(column[path]) for column in (calls, cpu, self_cpu, gpu_sum, self_gpu_sum))))
        stack.extend((child, depth + 1) for child in reversed(below.get(path, [])))
    return tuple(nodes)
