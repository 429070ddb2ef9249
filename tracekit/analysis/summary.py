"""What a trace holds, in one page: the `summary` command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracekit.analysis.idle import Cause
from tracekit.analysis.memory import MemoryRow, memory
from tracekit.analysis.notices import notices
from tracekit.analysis.overhead import unprofiled_step_ns
from tracekit.analysis.picture import Picture, step_picture
from tracekit.analysis.verdict import Verdict, verdict
from tracekit.analysis.work import KERNEL, MEMCPY, MEMSET
from tracekit.attention import Region
from tracekit.intervals import total
from tracekit.linking import Reason
from tracekit.trace import ABSENT, CALLS, Category

if TYPE_CHECKING:
    from tracekit.analysis.bundle import Analysis


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
        suspect: Events whose recorded duration can't be true: they cover later events of their own stream. Counted with their credible part only.
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
class UnprofiledStep:
    """The mean step that the same program would have without the profiler, with its range; see TK906."""

    low_ns: float
    mid_ns: float
    high_ns: float


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
    unprofiled_step: UnprofiledStep | None = None
    memory: tuple[MemoryRow, ...] = ()
    picture: Picture | None = field(default=None, metadata={"json": False})
    notices: tuple[str, ...] = field(default=())


def summarize(analysis: Analysis) -> Summary:
    """Return the page of a trace."""
    return Summary(
        trace=_trace(analysis),
        read=_read(analysis),
        gpu=_gpu(analysis),
        steps=_steps(analysis),
        classes=_classes(analysis),
        idle=_idle(analysis),
        attention=_attention(analysis.attention.attention),
        verdict=verdict(analysis),
        unprofiled_step=_unprofiled(analysis),
        memory=memory(analysis.trace),
        picture=step_picture(analysis),
        notices=(*notices(analysis), *analysis.attention.notices),
    )


def _unprofiled(analysis: Analysis) -> UnprofiledStep | None:
    if not len(analysis.work):
        return None
    free = unprofiled_step_ns(analysis)
    return UnprofiledStep(free.low_ns, free.mid_ns, free.high_ns)


def _trace(analysis: Analysis) -> TraceInfo:
    trace, work = analysis.trace, analysis.work
    start, end = trace.span_ns
    listed = {device.id: device.name for device in trace.devices}
    used = [int(device) for device in np.unique(work.device) if device != ABSENT]
    vendor = vendor_of(analysis)
    host = trace.slices.is_any((Category.CPU_OP, Category.USER_ANNOTATION, Category.PYTHON_FUNCTION, *CALLS))
    keep = ("record_shapes", "with_stack", "with_flops", "with_modules", "profile_memory", "distributedInfo", "trace_id", "schemaVersion")
    return TraceInfo(
        path=trace.path,
        bytes=trace.log.file_bytes,
        span_ns=end - start,
        devices=tuple(DeviceInfo(device, listed.get(device, ""), vendor, device in listed) for device in used),
        host_threads=len(np.unique(trace.slices.thread[host])),
        profiler={key: trace.metadata[key] for key in keep if key in trace.metadata},
    )


_VENDORS = (
    ("cuda", "NVIDIA"),
    ("cu", "NVIDIA"),
    ("hip", "AMD"),
    ("roc", "AMD"),
    ("ur", "Intel"),
    ("ze", "Intel"),
    ("musa", "Moore Threads"),
    ("acl", "Huawei"),
)


def vendor_of(analysis: Analysis) -> str:
    """Return whose GPU it is by the calls that launched its work (a device list may be empty or wrong in a container); "" where nothing tells."""
    links = analysis.links
    calls = analysis.trace.slices.name[links.launch[links.launch >= 0]]
    if len(calls):
        name = analysis.trace.strings[int(np.argmax(np.bincount(calls)))]
        for prefix, vendor in _VENDORS:
            if name.startswith(prefix):
                return vendor
    return ""


def _read(analysis: Analysis) -> ReadInfo:
    log = analysis.trace.log
    return ReadInfo(
        log.in_file,
        log.kept,
        {reason.value: n for reason, n in log.dropped.items()},
        {reason.value: n for reason, n in log.repaired.items()},
        tuple(f"{place.reason.value} at byte {place.offset_bytes}: {place.excerpt}" for place in log.places),
    )


def _gpu(analysis: Analysis) -> GpuInfo:
    links, work = analysis.links, analysis.work
    kinds = np.bincount(work.kind, minlength=3)
    lost = links.launch < 0
    reasons = {reason.name.lower(): int(n) for reason in Reason if reason and (n := (links.reason == reason).sum())}
    busy = {
        str(device): total(work.start_ns[on], work.end_ns[on]) for device in np.unique(work.device) if (on := work.device == device).any()
    }
    recorded = analysis.trace.slices.dur_ns[work.rows]
    return GpuInfo(
        events=len(work),
        kernels=int(kinds[KERNEL]),
        memcpys=int(kinds[MEMCPY]),
        memsets=int(kinds[MEMSET]),
        linked=links.linked,
        unlinked=links.unlinked,
        unlinked_reasons=reasons,
        unlinked_ns=int(work.dur_ns[lost].sum()),
        linked_ns=int(work.dur_ns[~lost].sum()),
        sum_ns=int(work.dur_ns.sum()),
        busy_ns_by_device=busy,
        outside_steps_ns=int(work.dur_ns[~lost & (links.step < 0)].sum()),
        suspect=int(work.suspect.sum()),
        suspect_ns=int((recorded - work.dur_ns).sum()),
    )


def _steps(analysis: Analysis) -> tuple[StepRow, ...]:
    links, work, windows = analysis.links, analysis.work, analysis.windows
    k = len(links.steps)
    mine = links.step >= 0
    step, kind = links.step[mine], work.kind[mine]
    gpu = np.zeros(k, dtype=np.int64)
    np.add.at(gpu, step, work.dur_ns[mine])
    counts = [np.bincount(step[kind == one], minlength=k) for one in (KERNEL, MEMCPY, MEMSET)]
    return tuple(
        StepRow(
            name=name,
            wall_ns=int(windows.wall_ns[i]),
            host_ns=int(windows.host_ns[i]),
            gpu_ns=int(gpu[i]),
            gpu_busy_ns=int(windows.busy_ns[i]),
            gpu_idle_ns=int(windows.idle_ns[i]),
            gpu_events=sum(int(count[i]) for count in counts),
            kernels=int(counts[0][i]),
            memcpys=int(counts[1][i]),
            memsets=int(counts[2][i]),
        )
        for i, name in enumerate(links.steps.names)
    )


def _classes(analysis: Analysis) -> tuple[ClassRow, ...]:
    work = analysis.work
    time = np.zeros(len(work.classes), dtype=np.int64)
    np.add.at(time, work.class_id, work.dur_ns)
    count = np.bincount(work.class_id, minlength=len(work.classes))
    rows = [ClassRow(name, int(n), int(ns)) for name, n, ns in zip(work.classes, count, time, strict=True)]
    return tuple(sorted(rows, key=lambda row: (-row.ns, row.class_)))


def _idle(analysis: Analysis) -> tuple[IdleRow, ...]:
    idle, slices = analysis.idle, analysis.trace.slices
    name = np.where(idle.row >= 0, slices.name[idle.row], ABSENT).astype(np.int64) if len(slices) else idle.row
    key = idle.cause.astype(np.int64) * (len(analysis.trace.strings) + 2) + name + 1
    _, first, at = np.unique(key, return_index=True, return_inverse=True)
    time = np.zeros(len(first), dtype=np.int64)
    np.add.at(time, at, idle.dur_ns)
    part_of = np.unique(np.stack((at, idle.gap)), axis=1)[0] if len(at) else at
    gaps = np.bincount(part_of, minlength=len(first))
    rows = [
        IdleRow(Cause(int(idle.cause[i])).name.lower(), analysis.trace.strings[int(name[i])] if name[i] >= 0 else "", int(n), int(ns))
        for i, n, ns in zip(first, gaps, time, strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: (-row.ns, row.kind, row.name)))


def _attention(regions: tuple[Region, ...]) -> tuple[AttentionRow, ...]:
    groups: dict[tuple[str, str], list[Region]] = {}
    for region in regions:
        groups.setdefault((region.backend, region.direction.value), []).append(region)
    return tuple(
        AttentionRow(
            backend,
            direction,
            len(group),
            sum(region.gpu_events for region in group) / len(group),
            sum(region.kernels for region in group) / len(group),
            sum(region.gpu_ns for region in group) / len(group),
            sum(region.cpu_ns for region in group) / len(group),
        )
        for (backend, direction), group in groups.items()
    )
