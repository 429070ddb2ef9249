"""What changed between two traces: the result of `compare`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True)
class Side:
    """One of the two traces.

    Attributes:
        label: Short name, distinct from the other's.
        path: File.
        device: Name of the device, or "".
        steps: Steps that were compared.
        steps_left_out: Steps left out as warm-up.
    """

    label: str
    path: str
    device: str
    steps: int
    steps_left_out: int


@dataclass(frozen=True)
class Quantity:
    """A time of a step on both sides, in ns: means per step, since means add up; the band and the medians beside them.

    The names are short because the field that holds a quantity carries the unit: ``wall_ns.delta``.

    Attributes:
        a, b: Mean per step.
        delta: b - a.
        ratio: b / a, or None where a is 0.
        low, high: Band in which the difference of the means lies (95 %), or None with fewer than two steps a side.
        significant: Whether the band leaves 0 out; None where there is no band.
        a_median, b_median: Median step.
    """

    a: float
    b: float
    delta: float
    ratio: float | None = field(metadata={"ns": False})
    low: float | None
    high: float | None
    significant: bool | None
    a_median: float
    b_median: float


@dataclass(frozen=True)
class StepDelta:
    """The step: ``wall = gpu_busy + gpu_idle`` on both sides and in the difference."""

    wall_ns: Quantity
    host_ns: Quantity
    gpu_busy_ns: Quantity
    gpu_idle_ns: Quantity
    gpu_ns: Quantity


@dataclass(frozen=True)
class LedgerRow:
    """GPU work of one matched pair (or of one side only), per step. The rows add up to the difference of GPU busy time.

    Attributes:
        region: Where in the program: ``attention``, an annotation, a module or an op path.
        match: ``matched``, ``only_a``, ``only_b`` or ``overlap`` (what concurrent kernels hide, so that sums become busy time).
        stage: Stage of an attention region, or None.
        class_: Kernel class.
        a_ns, b_ns: GPU time per step.
        delta_ns: b - a.
        a_count, b_count: GPU events per step.
        a_kernels, b_kernels: Names, most time first.
        cause: Why, in a few words, where a rule knows (``fp32 without tensor cores``); else "".
        confidence: 0 to 1, of the match.
    """

    region: str
    match: str
    stage: str | None
    class_: str
    a_ns: float
    b_ns: float
    delta_ns: float
    a_count: float
    b_count: float
    a_kernels: tuple[str, ...]
    b_kernels: tuple[str, ...]
    cause: str
    confidence: float


@dataclass(frozen=True)
class IdleDelta:
    """Idle GPU time per step by cause. The rows add up to the difference of GPU idle time."""

    kind: str
    name: str
    a_ns: float
    b_ns: float
    delta_ns: float


@dataclass(frozen=True)
class CpuRow:
    """Host time of one op or call per step.

    Attributes:
        kind: ``op``, ``call``, ``sync``.
        name: Op or call.
        a_ns, b_ns: Self time per step.
        delta_ns: b - a.
        a_count, b_count: Calls per step.
        a_opaque_ns, b_opaque_ns: Opaque part of the self time.
    """

    kind: str
    name: str
    a_ns: float
    b_ns: float
    delta_ns: float
    a_count: float
    b_count: float
    a_opaque_ns: float
    b_opaque_ns: float


@dataclass(frozen=True)
class Shifted:
    """A matched region whose GPU time fell or held while its CPU time rose; per step.

    Attributes:
        region: Which.
        op: Op with the opaque time.
        gpu_delta_ns: Change of its GPU time.
        cpu_delta_ns: Change of its host time.
        exposed_delta_ns: Change of the GPU idle time that it causes.
    """

    region: str
    op: str
    gpu_delta_ns: float
    cpu_delta_ns: float
    exposed_delta_ns: float


@dataclass(frozen=True)
class Diff:
    """The comparison. All times are means per step.

    Attributes:
        a, b: The sides.
        step: The step's times.
        rows: The GPU ledger, largest change first.
        idle_rows: The idle ledger, largest change first.
        cpu_rows: The CPU ledger, largest change first.
        shifted_to_cpu: Time that moved onto the CPU.
        residue_ns: What the GPU and idle rows fail to explain of the difference of the step time (within 1 ns).
        summary: What changed and why, sentences, the most important first.
        notices: What the reader should know.
    """

    SCHEMA: ClassVar[str] = "tracekit.diff/1"

    a: Side
    b: Side
    step: StepDelta
    rows: tuple[LedgerRow, ...]
    idle_rows: tuple[IdleDelta, ...]
    cpu_rows: tuple[CpuRow, ...]
    shifted_to_cpu: tuple[Shifted, ...]
    residue_ns: float
    summary: tuple[str, ...]
    notices: tuple[str, ...] = ()
