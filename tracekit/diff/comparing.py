"""``compare``: two traces in, what changed out."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tracekit.analysis import Analysis, analyze
from tracekit.analysis.idle import Cause
from tracekit.analysis.notices import notices
from tracekit.diff.ledger import cpu_rows, gpu_rows, idle_rows
from tracekit.diff.result import Diff, Quantity, Side, StepDelta
from tracekit.diff.sentences import summary
from tracekit.diff.shifted import shifted
from tracekit.diff.sides import SideData, labels, side
from tracekit.diff.statistics import BUSY_NOISE, HOST_NOISE, quantity
from tracekit.trace import I64

_HOST = (Cause.OP, Cause.RUNTIME, Cause.SYNC, Cause.PYTHON, Cause.ANNOTATION, Cause.NO_HOST_EVENT)


def compare(a: Analysis | str | Path, b: Analysis | str | Path, *, step_name: str | None = None) -> Diff:
    """Return what changed from ``a`` to ``b``, per step.

    Args:
        a: The first trace: its analysis, or a path.
        b: The second.
        step_name: Name of the annotation that marks a step, for paths; None for ``ProfilerStep#N``.

    Raises:
        InputError: A file can't be read, or is no trace.
        OptionError: No annotation has the name ``step_name``.
    """
    one, two = (given if isinstance(given, Analysis) else analyze(str(given), step_name=step_name) for given in (a, b))
    names = labels([one.trace.path, two.trace.path])
    first, second = side(one, names[0]), side(two, names[1])
    step = step_delta(first, second)
    rows, idle, moved = gpu_rows(first, second), idle_rows(first, second), shifted(first, second)
    explained = sum(row.delta_ns for row in rows) + sum(row.delta_ns for row in idle)
    return Diff(
        a=_side(first),
        b=_side(second),
        step=step,
        rows=rows,
        idle_rows=idle,
        cpu_rows=cpu_rows(first, second),
        shifted_to_cpu=moved,
        residue_ns=step.wall_ns.delta - explained,
        summary=summary(first, second, step, rows, idle, moved),
        notices=_notices(first, second),
    )


def _side(data: SideData) -> Side:
    return Side(data.label, data.analysis.trace.path, data.device, len(data.steps), len(data.left_out))


def step_delta(a: SideData, b: SideData) -> StepDelta:
    """Return the step's times on both sides, with the band of their difference."""
    noise = [_noise(side) for side in (a, b)]
    busy, waits = (max(one[i] for one in noise) for i in (0, 1))
    gpu = [_gpu(side) for side in (a, b)]

    def of(name: str, noise_ns: float) -> Quantity:
        samples = [np.asarray(getattr(side.analysis.windows, name)[side.steps], dtype=np.float64) for side in (a, b)]
        return quantity(samples[0], samples[1], noise_ns)

    both = float(np.hypot(busy, waits))
    return StepDelta(
        wall_ns=of("wall_ns", both),
        host_ns=of("host_ns", HOST_NOISE * max(side.mean(side.analysis.windows.host_ns) for side in (a, b))),
        gpu_busy_ns=of("busy_ns", busy),
        gpu_idle_ns=of("idle_ns", both),
        gpu_ns=quantity(gpu[0].astype(np.float64), gpu[1].astype(np.float64), busy),
    )


def _noise(side: SideData) -> tuple[float, float]:
    """Return what two runs of this program may differ by: in busy time, and in time that the GPU waits for the host."""
    idle = side.analysis.idle
    waits = idle.dur_ns[np.isin(idle.step, side.steps) & np.isin(idle.cause, _HOST)].sum() / side.count
    return BUSY_NOISE * side.mean(side.analysis.windows.busy_ns), HOST_NOISE * float(waits)


def _gpu(side: SideData) -> I64:
    total = np.zeros(len(side.analysis.links.steps), dtype=np.int64)
    mine = side.in_steps
    np.add.at(total, side.analysis.links.step[mine], side.analysis.work.dur_ns[mine])
    return total[side.steps]


def _notices(a: SideData, b: SideData) -> tuple[str, ...]:
    out = []
    for data in (a, b):
        if data.left_out:
            out.append(f"{data.label}: left out {', '.join(data.left_out)}.")
        out += [f"{data.label}: {text}" for text in notices(data.analysis)]
    if a.device and b.device and a.device != b.device:
        out.append(f"The devices differ: {a.device} and {b.device}. Times aren't normalised.")
    return tuple(out)
