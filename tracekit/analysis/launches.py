"""Which call launched which GPU event: the `links` command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


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
