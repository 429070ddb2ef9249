"""Who launched what: the types that ``link`` makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tracekit.trace import ABSENT, I32, I64, U8, Trace


class Method(IntEnum):
    """How a GPU event was joined to its launch."""

    NONE = 0
    CORRELATION = 1
    GRAPH = 2  # by correlation, to the call that launched a whole graph
    FLOW = 3
    EXTERNAL_ID = 4


class Reason(IntEnum):
    """Why a GPU event has no launch."""

    NONE = 0  # it has one
    LAUNCHED_BEFORE_TRACE = 1  # its correlation is smaller than that of any recorded call
    NO_CORRELATION = 2  # the file gives no id to join by
    LAUNCH_NOT_RECORDED = 3  # the id is known, but no recorded call has it
    AMBIGUOUS = 4  # several calls have the id, and nothing tells which it was


class NoGpu(IntEnum):
    """Why a launch call has no GPU event."""

    NO_RECORD = 0  # the trace doesn't say; a memset of no bytes leaves none either
    GRAPH_CAPTURE = 1  # called while a graph was captured: nothing runs
    NO_GPU_RECORDS = 2  # the file has no GPU events at all
    AFTER_LAST_RECORD = 3  # launched when the recording of the GPU had already ended


@dataclass(frozen=True)
class Steps:
    """The steps of a trace, in order of time. Arrays of length k.

    Attributes:
        names: ``ProfilerStep#5``, or ``trace`` where the whole trace is the only step.
        row: Row of the step's mark, or -1 where the whole trace is the step.
        start_ns: Start of the mark.
        end_ns: End of the mark.
        marked: False where the trace has no marks and the whole of it is one step.
        notices: What a user should know about the marks (a number that is missing, …).
    """

    names: tuple[str, ...]
    row: I64
    start_ns: I64
    end_ns: I64
    marked: bool
    notices: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def at(self, ts_ns: I64) -> I32:
        """Return the index of the step whose mark ``[start, end)`` holds each time, or -1 (int32[m])."""
        if not len(self):
            return np.full(len(ts_ns), ABSENT, dtype=np.int32)
        i = np.searchsorted(self.start_ns, ts_ns, side="right") - 1
        inside = (i >= 0) & (ts_ns < self.end_ns[np.maximum(i, 0)])
        return np.where(inside, i, ABSENT).astype(np.int32)


@dataclass(frozen=True)
class Links:
    """Launches, ops and steps of every GPU event, and the forests of host slices.

    Arrays over GPU events have length g (``gpu`` holds their rows, in order of time); arrays over all slices have length n.

    Attributes:
        gpu: int64[g], rows of GPU work.
        launch: int64[g], row of the call that launched it, or -1.
        op: int64[g], row of the innermost cpu_op on the launch's thread that encloses the whole launch, or -1.
        step: int32[g], index into ``steps`` of the step in which it was launched, or -1.
        method: uint8[g], ``Method``.
        reason: uint8[g], ``Reason``.
        parent: int32[n], the forest of ops, annotations and calls: row of the nearest slice on the same thread that encloses the whole slice, or -1.
        self_ns: int64[n], for ops, annotations and calls: duration less that of the direct children in the forest, as torch's key_averages reckons
            it; for python frames: less all that lies directly inside, frames included; 0 for other slices.
        frame: int32[n], row of the innermost python frame on the same thread that encloses the slice, or -1 (also the parent of a frame).
        forward: int32[n], for an op of the backward pass: row of its forward op, or -1.
        backward: bool[n], whether a host slice belongs to the backward pass.
        slice_step: int32[n], for host slices: index of the step whose mark holds their start (on any thread), or -1.
        steps: The steps.
        lost_launches: int64[l], rows of launch calls that no GPU event was joined to.
        lost_reason: uint8[l], ``NoGpu``.
        notices: What a user should know (several ranks in one file, CPU ops not recorded, …).
    """

    gpu: I64
    launch: I64
    op: I64
    step: I32
    method: U8
    reason: U8
    parent: I32
    self_ns: I64
    frame: I32
    forward: I32
    backward: NDArray[np.bool_]
    slice_step: I32
    steps: Steps
    lost_launches: I64
    lost_reason: U8
    notices: tuple[str, ...] = ()

    @property
    def linked(self) -> int:
        """Number of GPU events with a launch."""
        return int((self.launch >= 0).sum())

    @property
    def unlinked(self) -> int:
        """Number of GPU events without one."""
        return int((self.launch < 0).sum())

    def ancestors(self, row: int) -> Iterator[int]:
        """Yield the rows that enclose ``row`` in the forest, inner to outer, ``row`` itself left out."""
        at = int(self.parent[row])
        while at >= 0:
            yield at
            at = int(self.parent[at])

    def frames(self, row: int) -> Iterator[int]:
        """Yield the rows of the python frames around ``row``, inner to outer."""
        at = int(self.frame[row])
        while at >= 0:
            yield at
            at = int(self.frame[at])

    def check(self, trace: Trace) -> None:
        """Raise ``AssertionError`` unless every GPU event is accounted for and the forests are forests."""
        assert self.linked + self.unlinked == len(trace.gpu_rows) == len(self.gpu)
        assert ((self.launch < 0) == (self.reason != Reason.NONE)).all(), "an unlinked GPU event without a reason"
        assert ((self.launch < 0) == (self.method == Method.NONE)).all(), "a linked GPU event without a method"
        assert (self.op[self.launch < 0] < 0).all(), "an op without a launch"
        for up in (self.parent, self.frame):
            has = np.flatnonzero(up >= 0)
            assert (up[has] < has).all(), "a forest with a row above its parent"
            above = up[has]
            s = trace.slices
            assert (s.ts_ns[above] <= s.ts_ns[has]).all(), "a parent that starts later"
            assert (s.thread[above] == s.thread[has]).all(), "a parent on another thread"
        assert (self.self_ns >= 0).all(), "a negative self time"
