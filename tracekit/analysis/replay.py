"""Replays the launch queue with something changed: what a step would take then.

The model. A GPU event starts when its launch has reached the device and what it followed there has ended, whichever is later, each with the latency that
it had. The host runs as recorded, earlier by what is taken away before, and where it waited for the GPU it goes on when the GPU is done: so a copy hidden
behind a host that stalls anyway wins nothing when it goes, and a wait that goes wins what the GPU then doesn't idle. With nothing changed every event
starts when it did, to the nanosecond.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.cuts import Cuts, Recorded, no_cuts
from tracekit.linking import Role, call_roles
from tracekit.trace import ABSENT, I64

if TYPE_CHECKING:
    from tracekit.analysis.bundle import Analysis

F64 = NDArray[np.float64]

SERIAL_SLACK_NS = 50
"""An event that starts so little before the end of the one before it still followed it: clocks of two units differ by as much."""

WAIT_TAIL_NS, WAIT_TAIL_SHARE = 100_000, 0.1
"""A call that ends so long after a GPU event at most, or so small a share of its own time, waited for it: cudaFree goes on for 0.1 ms after its wait."""

FULL_QUEUE = 512
"""A launch that takes long with so much work queued waits for a place in the queue (1 024 places on current devices)."""

LONG_LAUNCH_NS = 100_000

MOST_EVENTS = 200_000
"""Of a longer trace the first steps are replayed: what a mend wins in them it wins in the others."""

_BLOCKING = (Role.SYNC, Role.ALLOC, Role.FREE)


@dataclass(frozen=True)
class Change:
    """What is different in the replay.

    Attributes:
        gpu_scale: float64[g], factor of each GPU event's duration; 0 removes it, with its latency. None changes none.
        cuts: Host time that goes.
    """

    gpu_scale: F64 | None = None
    cuts: Cuts = field(default_factory=no_cuts)


NOTHING = Change()


@dataclass(frozen=True)
class Run:
    """A replay: when each event of ``Replay.order`` runs, float64[m] ns since ``Replay.origin_ns``."""

    start_ns: F64
    end_ns: F64

    @property
    def last_ns(self) -> float:
        """When the last event ends."""
        return float(self.end_ns.max(initial=0.0))


@dataclass(frozen=True)
class Waits:
    """Calls in which the host waited for the GPU, in order of time; int64[w] each. ``place`` is the event waited for."""

    row: I64
    begin_ns: I64
    end_ns: I64
    place: I64


class Replay:
    """The launch queue of a trace on its main device.

    Attributes:
        order: int64[m], the GPU events replayed, as indices into ``Work``, in order of their start.
        steps: Number of steps that they are of.
        follows: int64[m], place of the event that each one followed on the device, or -1.
        launch_ns: int64[m], start of its launch.
        arrives_ns: int64[m], end of its launch, or its own start where that was earlier.
        host_latency_ns, gpu_latency_ns: float64[m], how long after its launch, and after what it followed, it starts at the earliest.
        waits: Calls in which the host waited for the GPU.
        origin_ns: Start of the first of them: a float that counts from 1970 is 256 ns wide.
    """

    def __init__(self, analysis: Analysis) -> None:
        """Prepare the queue: linear in the events."""
        work, links, slices = analysis.work, analysis.links, analysis.trace.slices
        self._analysis = analysis
        self.order, self.steps = self._chosen(analysis)
        self._start, self._dur = work.start_ns[self.order], work.dur_ns[self.order]
        self._end = self._start + self._dur
        self.origin_ns = int(self._start[0]) if len(self.order) else 0
        launch = links.launch[self.order]
        self.follows: I64 = np.array(self._predecessors(slices.stream[work.rows[self.order]]), dtype=np.int64)
        never = np.iinfo(np.int64).min // 4
        launched = np.maximum(launch, 0)
        # A kernel may start before the call that launches it returns. An event of which neither launch nor predecessor is known starts when it did.
        known = np.minimum(slices.end_ns[launched], self._start) if len(slices) else self._start
        self.arrives_ns: I64 = np.where(launch >= 0, known, np.where(self.follows >= 0, never, self._start))
        self.launch_ns: I64 = np.where(launch >= 0, slices.ts_ns[launched], never) if len(slices) else self._start
        self.host_latency_ns, self.gpu_latency_ns = self._latencies(never)
        self.waits = self._waits_of_host(launch)
        self._unchanged: dict[float, float] = {}

    @cached_property
    def recorded(self) -> Recorded:
        """What the profiler recorded on the launching threads."""
        return Recorded(self._analysis.trace, self._analysis.links)

    @staticmethod
    def _chosen(analysis: Analysis) -> tuple[I64, int]:
        work, links = analysis.work, analysis.links
        # Work launched before the recording keeps the device busy at first, so it is in the queue too.
        mine = np.flatnonzero(work.device == analysis.windows.device)
        steps = max(len(links.steps), 1)
        if len(mine) > MOST_EVENTS and steps > 1:
            count = np.cumsum(np.bincount(np.maximum(links.step[mine], 0), minlength=steps))
            steps = max(int(np.searchsorted(count, MOST_EVENTS, side="right")), 1)
            mine = mine[links.step[mine] < steps]
        return mine[np.argsort(work.start_ns[mine], kind="stable")], steps

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

    def _latencies(self, never: int) -> tuple[F64, F64]:
        """Return how long after its launch, and how long after its predecessor, each event starts at the earliest (float64[m] ns).

        Only the one that came last tells; of the other one knows no more than that it is shorter, and takes what is usual.
        """
        behind = np.where(self.follows >= 0, self._end[np.maximum(self.follows, 0)], never) if len(self.follows) else self._start
        after_host, after_gpu = (self._start - self.arrives_ns).astype(np.float64), (self._start - behind).astype(np.float64)
        by_host = (self.arrives_ns > behind) & (self.arrives_ns > never)
        usual_host = float(np.median(after_host[by_host])) if by_host.any() else 0.0
        by_gpu = ~by_host & (behind > never)
        usual_gpu = float(np.median(after_gpu[by_gpu])) if by_gpu.any() else usual_host
        return np.where(by_host, after_host, np.minimum(after_host, usual_host)), np.where(
            by_host, np.minimum(after_gpu, usual_gpu), after_gpu
        )

    def _waits_of_host(self, launch: I64) -> Waits:
        """Return the calls that waited: those that end with a GPU event that ran before, copies that return when they are done, launches into a full queue."""
        trace = self._analysis.trace
        slices, roles = trace.slices, call_roles(trace)
        none = np.empty(0, np.int64)
        if not len(self.order):
            return Waits(none, none, none, none)
        by_end = np.argsort(self._end, kind="stable")
        ends = self._end[by_end]
        calls = np.flatnonzero(np.isin(roles, _BLOCKING))
        long = np.flatnonzero((roles == Role.LAUNCH) & (slices.dur_ns > LONG_LAUNCH_NS))
        queued = np.searchsorted(np.sort(self.launch_ns), slices.ts_ns[long]) - np.searchsorted(ends, slices.ts_ns[long])
        rows = np.sort(np.concatenate((calls, long[queued > FULL_QUEUE])))
        begin, finish = slices.ts_ns[rows], slices.end_ns[rows]
        at = np.searchsorted(ends, finish, side="right") - 1
        last = ends[np.maximum(at, 0)]
        waited = (at >= 0) & (last > begin) & (finish - last < np.maximum(WAIT_TAIL_NS, WAIT_TAIL_SHARE * (finish - begin)))
        rows, places = rows[waited], by_end[np.maximum(at, 0)][waited]
        # A copy from or to pageable memory: its call returns when it is done, whatever its name promises.
        known = np.flatnonzero(launch >= 0)
        own = known[(roles[launch[known]] == Role.MEMCPY) & (slices.end_ns[launch[known]] >= self._end[known])]
        rows, places = np.concatenate((rows, launch[own])), np.concatenate((places, own))
        order = np.argsort(slices.end_ns[rows], kind="stable")
        rows, places = rows[order], places[order]
        return Waits(rows, slices.ts_ns[rows], slices.end_ns[rows], places)

    def saving_ns(self, change: Change, *, recording_ns: float = 0.0) -> float:
        """Return how much earlier the last event ends, ns per step; below 0 where it would end later.

        Args:
            change: What is changed.
            recording_ns: Host time that recording an op costs: with it, both sides are those of a program that isn't profiled.
        """
        if not len(self.order):
            return 0.0
        return (self._unchanged_ns(recording_ns) - self.run(change, recording_ns=recording_ns).last_ns) / self.steps

    def _unchanged_ns(self, recording_ns: float) -> float:
        if recording_ns not in self._unchanged:
            self._unchanged[recording_ns] = self.run(recording_ns=recording_ns).last_ns
        return self._unchanged[recording_ns]

    def unprofiled_saving_ns(self, recording_ns: float) -> float:
        """Return what a step would be shorter by if recording an op took that much less, ns; 0 where nothing would."""
        return max(self._unchanged_ns(0.0) - self._unchanged_ns(recording_ns), 0.0) / self.steps

    def run(self, change: Change = NOTHING, *, recording_ns: float = 0.0) -> Run:
        """Replay the queue."""
        scale = np.ones(len(self.order)) if change.gpu_scale is None else change.gpu_scale[self.order]
        waits, slices = self.waits, self._analysis.trace.slices
        stays = ~change.cuts.covers(slices.thread[waits.row].astype(np.int64), waits.begin_ns, waits.end_ns)
        recording_ns = min(recording_ns, self.recorded.most_ns) if recording_ns > 0 else 0.0
        earlier = [self._earlier(at, change.cuts, recording_ns) for at in (self.launch_ns, waits.begin_ns[stays], waits.end_ns[stays])]
        pending = list(
            zip(
                (waits.begin_ns[stays] - self.origin_ns).tolist(),
                (waits.end_ns[stays] - self.origin_ns).tolist(),
                waits.place[stays].tolist(),
                earlier[1].tolist(),
                earlier[2].tolist(),
                strict=True,
            )
        )
        return self._simulate(scale, earlier[0].tolist(), pending)

    def _earlier(self, at_ns: I64, cuts: Cuts, recording_ns: float) -> F64:
        out = cuts.before(at_ns, recording_ns) if cuts else np.zeros(len(at_ns))
        if recording_ns > 0:
            out += recording_ns * self.recorded.before(at_ns)
        return out

    def _simulate(self, scale: F64, earlier: list[float], waits: list[tuple[int, int, int, float, float]]) -> Run:
        starts, ends = [0.0] * len(self.order), [0.0] * len(self.order)
        # Since the last wait: how much later the host is than recorded, and how much it had been cut by then.
        late, cut, wait = 0.0, 0.0, 0
        old_end = (self._end - self.origin_ns).tolist()
        columns = zip(
            (self.launch_ns - self.origin_ns).tolist(),
            (self.arrives_ns - self.origin_ns).tolist(),
            self.host_latency_ns.tolist(),
            self.gpu_latency_ns.tolist(),
            self._dur.tolist(),
            scale.tolist(),
            self.follows.tolist(),
            earlier,
            strict=True,
        )
        for i, (launched, host, host_latency, gpu_latency, dur, factor, follows, taken) in enumerate(columns):
            while wait < len(waits) and waits[wait][1] <= launched:
                begin, finish, place, taken_begin, taken_finish = waits[wait]
                wait += 1
                if place >= i:
                    continue
                tail = finish - max(begin, old_end[place])
                arrives = begin + late - (taken_begin - cut)
                late, cut = max(arrives, ends[place]) + tail - finish, taken_finish
            ready = host + late - (taken - cut) + host_latency
            if follows >= 0:
                if factor == 0:
                    ready = ends[follows]
                else:
                    ready = max(ready, ends[follows] + gpu_latency)
            starts[i] = ready
            ends[i] = ready + dur * factor
        return Run(np.array(starts), np.array(ends))
