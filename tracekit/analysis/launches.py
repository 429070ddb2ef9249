"""Which call launched which GPU event: the `links` command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tracekit.analysis.notices import notices
from tracekit.analysis.paths import module_of, op_stack, python_line
from tracekit.analysis.work import KINDS
from tracekit.linking import Method, NoGpu, Reason
from tracekit.trace import ABSENT, Category

if TYPE_CHECKING:
    from tracekit.analysis.bundle import Analysis


@dataclass(frozen=True)
class LaunchRef:
    """A launch call."""

    name: str
    pid: int | str
    tid: int | str
    correlation: int | None


@dataclass(frozen=True)
class LinkRow:
    """One GPU event.

    Attributes:
        name: Its name.
        kind: ``kernel``, ``memcpy`` or ``memset``.
        class_: Kernel class.
        device, stream: Where it ran; None where the file doesn't say.
        ts_ns: Start, since the trace's base.
        dur_ns: Duration as recorded.
        launch: The call that launched it, or None.
        op: Innermost op around the launch, or None.
        stack: Ops around the launch, outer first; the op is the last.
        module: nn.Module around the launch, or None.
        python: Innermost python frame of the user's around the launch, or None.
        step: Name of the step in which it was launched, or None.
        method: How it was linked.
        reason: Why it wasn't, or None.
    """

    name: str
    kind: str
    class_: str
    device: int | None
    stream: int | None
    ts_ns: int
    dur_ns: int
    launch: LaunchRef | None
    op: str | None
    stack: tuple[str, ...]
    module: str | None
    python: str | None
    step: str | None
    method: str
    reason: str | None


@dataclass(frozen=True)
class LostLaunch:
    """A launch call without a GPU event."""

    name: str
    correlation: int | None
    ts_ns: int
    reason: str


@dataclass(frozen=True)
class LinkTable:
    """Every GPU event in order of time, and every launch that left none."""

    SCHEMA: ClassVar[str] = "tracekit.links/1"

    links: tuple[LinkRow, ...]
    launches_without_gpu: tuple[LostLaunch, ...]
    notices: tuple[str, ...] = ()


def link_table(analysis: Analysis) -> LinkTable:
    """Return every GPU event with its launch, and every launch call without one."""
    trace, links, work = analysis.trace, analysis.links, analysis.work
    slices = trace.slices
    around = _Around(analysis)
    rows = []
    columns = (links.gpu, links.launch, links.op, links.step, links.method, links.reason, work.class_id, work.kind)
    for row, launch, op, step, method, reason, class_id, kind in zip(*(column.tolist() for column in columns), strict=True):
        stack, module, python = around.of(op, launch)
        rows.append(
            LinkRow(
                name=trace.name(row),
                kind=KINDS[kind],
                class_=work.classes[class_id],
                device=_known(slices.device[row]),
                stream=_known(slices.stream[row]),
                ts_ns=int(slices.ts_ns[row]),
                dur_ns=int(slices.dur_ns[row]),
                launch=_launch(analysis, launch) if launch >= 0 else None,
                op=trace.name(op) if op >= 0 else None,
                stack=stack,
                module=module or None,
                python=python or None,
                step=links.steps.names[step] if step >= 0 else None,
                method=Method(method).name.lower(),
                reason=Reason(reason).name.lower() if reason else None,
            )
        )
    lost = tuple(
        LostLaunch(trace.name(row), _known(slices.correlation[row]), int(slices.ts_ns[row]), NoGpu(reason).name.lower())
        for row, reason in zip(links.lost_launches.tolist(), links.lost_reason.tolist(), strict=True)
    )
    return LinkTable(tuple(rows), lost, notices(analysis))


def _known(value: np.int64) -> int | None:
    return None if value == ABSENT else int(value)


def _launch(analysis: Analysis, row: int) -> LaunchRef:
    trace = analysis.trace
    thread = trace.threads[trace.slices.thread[row]]
    return LaunchRef(trace.name(row), thread.pid, thread.tid, _known(trace.slices.correlation[row]))


class _Around:
    """What stands around a launch, looked up once an op: a graph's thousand kernels share it."""

    def __init__(self, analysis: Analysis) -> None:
        self._trace, self._links = analysis.trace, analysis.links
        self._seen: dict[int, tuple[tuple[str, ...], str, str]] = {}

    def of(self, op: int, launch: int) -> tuple[tuple[str, ...], str, str]:
        """Return op stack, module and python line of an op, or of the launch where it has none."""
        row = op if op >= 0 else launch
        if row < 0:
            return (), "", ""
        if row not in self._seen:
            trace, links = self._trace, self._links
            stack = tuple(name for name in op_stack(trace, links, row)) if trace.slices.category[row] == Category.CPU_OP else ()
            self._seen[row] = (stack, module_of(trace, links, row), python_line(trace, links, row))
        return self._seen[row]
