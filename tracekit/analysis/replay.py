"""Replays the launch queue with some work removed or shortened: what a step would take then.

The model: an event starts when its launch has ended, when what it followed on the device has ended, and after the latency that it had. The host runs as
recorded, earlier by what is removed from it before, and no earlier than the GPU lets it where it waited for the GPU. So a copy hidden behind a host that
stalls anyway wins nothing when it goes, and a wait that goes wins what the GPU then doesn't idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracekit.linking import Role, call_roles
from tracekit.trace import ABSENT, I64

if TYPE_CHECKING:
    from tracekit.analysis.bundle import Analysis

SERIAL_SLACK_NS = 50
"""An event that starts so little before the end of the one before it still followed it: clocks of two units differ by as much."""

WAIT_TAIL_NS = 100_000
"""A wait that ends so long after a GPU event at most was a wait for it."""


@dataclass(frozen=True)
class Change:
    """What is different in the replay.

    Attributes:
        gpu_scale: float64[g], factor of each GPU event's duration; 0 removes it, with its latency.
        host_removed: Rows of host slices whose time goes.
        waits_removed: Whether the waits among these let the host run on.
    """

    gpu_scale: NDArray[np.float64]
    host_removed: Sequence[int] = field(default=())


class Replay:
    """The launch queue of a trace on its main device."""

    def __init__(self, analysis: Analysis) -> None:
        """Prepare the queue: linear in the events."""
        work, links, windows = analysis.work, analysis.links, analysis.windows
        self._analysis = analysis
        # Work launched before the recording keeps the device busy at first, so it is in the queue too.
        mine = np.flatnonzero(work.device == windows.device)
        self.order: I64 = mine[np.argsort(work.start_ns[mine], kind="stable")]
        start, dur = work.start_ns[self.order], work.dur_ns[self.order]
        launch, slices = links.launch[self.order], analysis.trace.slices
        self._dur = dur.astype(np.float64)
        self._start, self._end = start, start + dur
        self._follows = self._predecessors(slices.stream[work.rows[self.order]])
        follows = np.array(self._follows, dtype=np.int64)
        never = np.iinfo(np.int64).min // 4
        behind = np.where(follows >= 0, self._end[np.maximum(follows, 0)], never) if len(follows) else follows
        # An event of which neither is known starts when it started.
        self._host = np.where(launch >= 0, slices.end_ns[np.maximum(launch, 0)], np.where(follows >= 0, never, start))
        self._launch_ts = np.where(launch >= 0, slices.ts_ns[np.maximum(launch, 0)], never)
        self._latency = start - np.maximum(np.minimum(behind, start), np.minimum(self._host, start))
        self._waits = self._waits_of_host()

    def _predecessors(self, stream: I64) -> list[int]:
        """Return for each event the place of the one that it followed: the one that ended last before it, else the last of its stream."""
        out: list[int] = []
        latest, latest_end = ABSENT, np.iinfo(np.int64).min
        last_of: dict[int, int] = {}
        for i, (begin, end, on) in enumerate(zip(self._start.tolist(), self._end.tolist(), stream.tolist(), strict=True)):
            if latest >= 0 and latest_end <= begin + SERIAL_SLACK_NS:
                out.append(latest)
            else:
                out.append(last_of.get(on, ABSENT))
            if end >= latest_end:
                latest, latest_end = i, end
            last_of[on] = i
        return out

    def _waits_of_host(self) -> list[tuple[int, int, int]]:
        """Return (end of the wait, place of the GPU event waited for, row) of each call that waited, in order of time."""
        trace = self._analysis.trace
        rows = np.flatnonzero(call_roles(trace) == Role.SYNC)
        if not len(rows) or not len(self.order):
            return []
        ends = np.maximum.accumulate(self._end)
        begin, finish = trace.slices.ts_ns[rows], trace.slices.end_ns[rows]
        at = np.searchsorted(ends, finish, side="right") - 1
        waited = (at >= 0) & (ends[np.maximum(at, 0)] > begin) & (finish - ends[np.maximum(at, 0)] < WAIT_TAIL_NS)
        return sorted((int(f), int(i), int(r)) for f, i, r in zip(finish[waited], at[waited], rows[waited], strict=True))

    def saving_ns(self, change: Change) -> float:
        """Return how much earlier the last event ends, ns per step; below 0 where it would end later."""
        steps = max(len(self._analysis.links.steps), 1)
        if not len(self.order):
            return 0.0
        base, changed = self._run(np.ones(len(self.order)), ()), self._run(change.gpu_scale[self.order], change.host_removed)
        return (base - changed) / steps

    def _run(self, scale: NDArray[np.float64], host_removed: Sequence[int]) -> float:
        slices = self._analysis.trace.slices
        removed = sorted(set(host_removed))
        gone = set(removed)
        # How much earlier the host is: a step down at the end of each slice that is removed.
        cuts = sorted((int(slices.end_ns[row]), int(slices.dur_ns[row])) for row in removed)
        waits = [one for one in self._waits if one[2] not in gone]
        ends = [0.0] * len(self.order)
        shift, cut, wait, last = 0.0, 0, 0, -np.inf
        columns = zip(
            self._launch_ts.tolist(),
            self._host.tolist(),
            self._latency.tolist(),
            self._dur.tolist(),
            scale.tolist(),
            self._follows,
            strict=True,
        )
        for i, (launched, host, latency, dur, factor, follows) in enumerate(columns):
            while cut < len(cuts) and cuts[cut][0] <= launched:
                shift -= cuts[cut][1]
                cut += 1
            while wait < len(waits) and waits[wait][0] <= launched:
                # The host waited for the GPU here: it can't be earlier than the GPU is.
                place = waits[wait][1]
                if place < i:
                    shift = max(shift, ends[place] - float(self._end[place]))
                wait += 1
            ready = max(ends[follows] if follows >= 0 else -np.inf, host + shift)
            # What is removed still has its place in the host's order: it takes no time and has no latency.
            ends[i] = ready + latency + dur * factor if factor > 0 else ready
            last = max(last, ends[i])
        return float(last)
