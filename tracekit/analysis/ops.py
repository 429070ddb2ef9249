"""CPU ops with their host time and the GPU time that they launch: the `ops` command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


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
