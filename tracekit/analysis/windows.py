"""The window of each step: when it runs, on the host and on the device."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.work import Work
from tracekit.intervals import covered
from tracekit.linking import Links
from tracekit.trace import I64, Trace

_NUMBER = re.compile(r"#(\d+)$")


@dataclass(frozen=True)
class Windows:
    """Windows of the steps, arrays of length k.

    Attributes:
        start_ns, end_ns: Window in which busy and idle are taken; its length is the step time.
        host_ns: From the start of the mark to the start of the next step's, or to the mark's own end where another step is missing between or none follows.
        on_device: Whether the window is the period on the device; else it is host time, as the step launches nothing.
        device: The device meant, or -1.
        busy_ns: Time in the window in which the device works.
    """

    start_ns: I64
    end_ns: I64
    host_ns: I64
    on_device: NDArray[np.bool_]
    device: int
    busy_ns: I64

    @property
    def wall_ns(self) -> I64:
        """Step times, int64[k]."""
        return self.end_ns - self.start_ns

    @property
    def idle_ns(self) -> I64:
        """Idle time, int64[k]: busy + idle = wall."""
        return self.wall_ns - self.busy_ns


def step_windows(trace: Trace, links: Links, work: Work) -> Windows:
    """Return the windows.

    A step's period runs from the start of the first GPU event launched in it to the start of the first one launched in the next step; that of the
    last step, or of one whose successor is missing, to the end of its last GPU event or of its mark, whichever is later. In a trace whose GPU never
    waits that is what CUDA events measure without the profiler, however far the host runs ahead.
    """
    steps, k = links.steps, len(links.steps)
    device = work.main_device
    first = np.full(k, np.iinfo(np.int64).max)
    last = np.full(k, np.iinfo(np.int64).min)
    mine = (links.step >= 0) & (work.device == device)
    np.minimum.at(first, links.step[mine], work.start_ns[mine])
    np.maximum.at(last, links.step[mine], work.end_ns[mine])
    on_device = last > np.iinfo(np.int64).min
    follows = _followed(steps.names) if steps.marked else np.zeros(k, dtype=bool)
    next_mark = np.append(steps.start_ns[1:], 0)
    host_end = np.where(follows, next_mark, steps.end_ns)
    start, end = steps.start_ns.copy(), host_end.copy()
    for i in np.flatnonzero(on_device):
        start[i] = first[i]
        if not steps.marked:
            end[i] = max(int(last[i]), int(start[i]))
        elif follows[i] and i + 1 < k and on_device[i + 1] and first[i + 1] >= first[i]:
            end[i] = first[i + 1]
        else:
            end[i] = max(int(last[i]), int(steps.end_ns[i]), int(first[i]))
    on = work.device == device
    busy = covered(work.start_ns[on], work.end_ns[on], start, end)
    return Windows(start, end, np.maximum(host_end - steps.start_ns, 0), on_device, device, busy)


def _followed(names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return whether each step is followed by its successor: the next number, or any next one where the names have none."""
    numbers = [int(match[1]) if (match := _NUMBER.search(name)) else None for name in names]
    pairs = zip(numbers, [*numbers[1:], None], strict=True)
    follows = [b is not None and a is not None and b == a + 1 if a is not None else i + 1 < len(names) for i, (a, b) in enumerate(pairs)]
    if follows:
        follows[-1] = False
    return np.array(follows, dtype=bool)
