"""Attention regions: one logical attention call, however it was written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar


class Direction(Enum):
    """Pass that a region belongs to."""

    FORWARD = "forward"
    BACKWARD = "backward"


@dataclass(frozen=True)
class Stage:
    """GPU events of one stage of a region.

    Attributes:
        name: ``qk``, ``scale``, ``mask``, ``softmax``, ``pv``, ``cast``, ``copy``, ``fused`` or ``other``.
        count: Events.
        ns: Sum of their durations.
        kernels: Their names, each once, in order of launch.
    """

    name: str
    count: int
    ns: int
    kernels: tuple[str, ...]


@dataclass(frozen=True)
class Region:
    """One attention call.

    Attributes:
        backend: ``eager``, ``eager_inplace``, ``math``, ``efficient``, ``flash``, ``cudnn``, ``flex``, ``compiled``, ``other``.
        direction: Forward or backward.
        step: Name of its step, or None.
        op: The op (or annotation) that holds it, or that of its first part.
        ts_ns: Start of its first op on the host.
        cpu_ns: Host time of its ops, nested ones counted once.
        gpu_ns: Sum of the durations of its GPU events.
        gpu_events, kernels, memcpys, memsets: Their number.
        shapes: Shape of q, k and v where recorded: ``q[8,16,2048,64]``; else None.
        dtype: As recorded (``bfloat16``), or None.
        compute_dtype: Of the matrix products, where the kernels' names tell; else None.
        causal: Whether the mask is causal, where the trace tells; else None.
        useful_flops: Least floating point operations of the call, or None where shapes weren't recorded.
        least_bytes: Least bytes to read and write (q, k, v, out), or None.
        stages: Stages in order of first launch.
        notes: What is worth saying: fp32 products, mask rebuilt, safe softmax, …
        rows: Rows of its outermost ops in the trace.
        gpu_rows: Rows of its GPU events.
        gpu_stages: Stage of each of these.
        confidence: 0 to 1, how sure one is that it is attention with this backend.
    """

    backend: str
    direction: Direction
    step: str | None
    op: str
    ts_ns: int
    cpu_ns: int
    gpu_ns: int
    gpu_events: int
    kernels: int
    memcpys: int
    memsets: int
    shapes: str | None
    dtype: str | None
    compute_dtype: str | None
    causal: bool | None
    useful_flops: int | None
    least_bytes: int | None
    stages: tuple[Stage, ...]
    notes: tuple[str, ...]
    rows: tuple[int, ...]
    gpu_rows: tuple[int, ...]
    gpu_stages: tuple[str, ...]
    confidence: float


@dataclass(frozen=True)
class Regions:
    """Every region of a trace, in order of time."""

    SCHEMA: ClassVar[str] = "tracekit.attention/1"

    attention: tuple[Region, ...]
    notices: tuple[str, ...] = ()
