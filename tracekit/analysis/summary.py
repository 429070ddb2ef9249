"""What a trace holds, in one page: the `summary` command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar


class Bound(Enum):
    """What the steps wait for."""

    GPU = "gpu"
    HOST = "host"
    INPUT = "input"
    COMMUNICATION = "communication"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class DeviceInfo:
    """A GPU that the trace has work of.

    Attributes:
        id: Device number.
        name: Model name, or "" where the file doesn't say.
        vendor: ``NVIDIA``, ``AMD``, ``Intel``, … or "" where nothing in the trace tells.
        listed: Whether the file's device list has it.
    """

    id: int
    name: str
    vendor: str
    listed: bool


@dataclass(frozen=True)
class TraceInfo:
    """The file and what was recorded.

    Attributes:
        path: The file's name as given.
        bytes: Its size on disk.
        span_ns: From the first event's start to the last one's end.
        devices: The GPUs.
        host_threads: Number of threads with host events.
        profiler: What the file says about the recording (``record_shapes``, ``with_stack``, …).
    """

    path: str
    bytes: int
    span_ns: int
    devices: tuple[DeviceInfo, ...]
    host_threads: int
    profiler: Mapping[str, Any]


@dataclass(frozen=True)
class ReadInfo:
    """How the file was read.

    Attributes:
        events_in_file: Elements of the event array.
        events_kept: Those that are in the trace.
        dropped: Number lost, by reason.
        repaired: Number mended, by kind.
        places: Where each happened first, in words.
    """

    events_in_file: int
    events_kept: int
    dropped: Mapping[str, int]
    repaired: Mapping[str, int]
    places: tuple[str, ...]


@dataclass(frozen=True)
class GpuInfo:
    """The GPU's work in the whole trace.

    Attributes:
        events: Kernels, copies and sets.
        kernels, memcpys, memsets: Of each.
        linked: Events whose launch was found.
        unlinked: Events without one.
        unlinked_reasons: Number of these, by reason.
        unlinked_ns: Their summed duration.
        linked_ns: That of the linked ones.
        sum_ns: Plain sum of the durations of all (of those that are credible, see ``suspect``).
        busy_ns_by_device: Union of the intervals on each device.
        outside_steps_ns: Summed duration of events launched in no step.
        suspect: Events whose recorded duration can't be true (they cover later events of their own stream); counted with the credible part only.
        suspect_ns: What was taken off them.
    """

    events: int
    kernels: int
    memcpys: int
    memsets: int
    linked: int
    unlinked: int
    unlinked_reasons: Mapping[str, int]
    unlinked_ns: int
    linked_ns: int
    sum_ns: int
    busy_ns_by_device: Mapping[str, int]
    outside_steps_ns: int
    suspect: int
    suspect_ns: int


@dataclass(frozen=True)
class StepRow:
    """One step.

    Attributes:
        name: ``ProfilerStep#5``.
        wall_ns: Step time: the step's period on the device; host time where it launches nothing.
        host_ns: From the start of its mark to the start of the next.
        gpu_ns: Plain sum of the durations of the GPU events launched in the step.
        gpu_busy_ns: Time in the step's window in which the GPU worked.
        gpu_idle_ns: The rest of the window: busy + idle = wall.
        gpu_events, kernels, memcpys, memsets: Events launched in the step.
    """

    name: str
    wall_ns: int
    host_ns: int
    gpu_ns: int
    gpu_busy_ns: int
    gpu_idle_ns: int
    gpu_events: int
    kernels: int
    memcpys: int
    memsets: int


@dataclass(frozen=True)
class ClassRow:
    """GPU time of one kernel class in the whole trace: its events and the plain sum of their durations."""

    class_: str
    count: int
    ns: int


@dataclass(frozen=True)
class AttentionRow:
    """Attention calls of one backend and direction; means per call."""

    backend: str
    direction: str
    calls: int
    gpu_events_per_call: float
    kernels_per_call: float
    gpu_ns_per_call: float
    cpu_ns_per_call: float


@dataclass(frozen=True)
class IdleRow:
    """Idle time of the GPU within the steps, by what the launching thread was doing.

    Attributes:
        kind: ``op``, ``runtime``, ``sync``, ``python``, ``annotation``, ``no_host_event``, ``queue``, ``unlinked`` or ``after_last``.
        name: Name of the op, call, frame or annotation; "" where there is none.
        count: Number of gaps it has a part in.
        ns: Idle time charged to it.
    """

    kind: str
    name: str
    count: int
    ns: int


@dataclass(frozen=True)
class Verdict:
    """What the steps wait for, and why one thinks so."""

    bound: Bound
    text: str


@dataclass(frozen=True)
class Summary:
    """The page. ``per_step`` figures are means over ``steps``."""

    SCHEMA: ClassVar[str] = "tracekit.summary/1"

    trace: TraceInfo
    read: ReadInfo
    gpu: GpuInfo
    steps: tuple[StepRow, ...]
    classes: tuple[ClassRow, ...]
    idle: tuple[IdleRow, ...]
    attention: tuple[AttentionRow, ...]
    verdict: Verdict
    notices: tuple[str, ...] = field(default=())
