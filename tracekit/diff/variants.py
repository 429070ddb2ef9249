"""Several traces against the first: one row each, to see variants of a program side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.kernels import launch_shape
from tracekit.analysis.work import KERNEL, MEMCPY
from tracekit.attention import Direction, Region
from tracekit.diff.comparing import step_delta
from tracekit.diff.sides import SideData, labels, side


@dataclass(frozen=True)
class VariantRow:
    """One trace; means per step, and per attention call of the forward pass.

    Attributes:
        label: Short name, distinct from the others'.
        path: File.
        steps: Steps that count.
        step_ns: Step time.
        ratio: Step time over that of the first trace; None where that has none.
        significant: Whether the difference from the first is more than noise; None where that can't be told, or for the first itself.
        gpu_busy_ns, gpu_idle_ns: Of a step.
        kernels, memcpys: A step.
        backend: Attention backends, joined by " and "; "" without attention.
        kernels_per_call, gpu_ns_per_call, cpu_ns_per_call: Of a forward attention call.
        exposed_ns_per_step: GPU idle time charged to ops within attention calls.
        tflop_s: Useful operations over GPU time, 10¹² a second; None where shapes weren't recorded.
        occupancy_pct: Of the kernel that takes most of a call; None if unknown.
        occupancy_source: ``recorded``, ``computed`` or ``unknown``.
        notes: What the calls do too much.
    """

    label: str
    path: str
    steps: int
    step_ns: float
    ratio: float | None
    significant: bool | None
    gpu_busy_ns: float
    gpu_idle_ns: float
    kernels: float
    memcpys: float
    backend: str
    kernels_per_call: float | None
    gpu_ns_per_call: float | None
    cpu_ns_per_call: float | None
    exposed_ns_per_step: float
    tflop_s: float | None
    occupancy_pct: float | None
    occupancy_source: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Variants:
    """The rows, in the order given; the first is what the others are held against."""

    SCHEMA: ClassVar[str] = "tracekit.variants/1"

    variants: tuple[VariantRow, ...]
    notices: tuple[str, ...] = ()


def compare_variants(analyses: Sequence[Analysis]) -> Variants:
    """Return one row for each trace.

    Args:
        analyses: The traces' analyses, at least one; the first is the base.
    """
    names = labels([one.trace.path for one in analyses])
    sides = [side(one, name) for one, name in zip(analyses, names, strict=True)]
    rows = tuple(_row(one, sides[0]) for one in sides)
    out = [f"{one.label}: left out {', '.join(one.left_out)}." for one in sides if one.left_out]
    devices = sorted({one.device for one in sides if one.device})
    if len(devices) > 1:
        out.append(f"The devices differ: {', '.join(devices)}. Times aren't normalised.")
    return Variants(rows, tuple(out))


def _row(data: SideData, base: SideData) -> VariantRow:
    windows, work = data.analysis.windows, data.analysis.work
    wall = step_delta(base, data).wall_ns
    forward = [region for region in data.regions if region.direction is Direction.FORWARD]
    count = len(forward)
    pct, source = _occupancy(data, forward)
    flops = [region.useful_flops for region in forward]
    gpu = sum(region.gpu_ns for region in forward)
    known = all(flops) and gpu > 0 and count > 0
    return VariantRow(
        label=data.label,
        path=data.analysis.trace.path,
        steps=len(data.steps),
        step_ns=wall.b,
        ratio=wall.ratio,
        significant=None if data is base else wall.significant,
        gpu_busy_ns=data.mean(windows.busy_ns),
        gpu_idle_ns=data.mean(windows.idle_ns),
        kernels=float((data.in_steps & (work.kind == KERNEL)).sum()) / data.count,
        memcpys=float((data.in_steps & (work.kind == MEMCPY)).sum()) / data.count,
        backend=" and ".join(dict.fromkeys(region.backend for region in forward)),
        kernels_per_call=sum(region.kernels for region in forward) / count if count else None,
        gpu_ns_per_call=gpu / count if count else None,
        cpu_ns_per_call=sum(region.cpu_ns for region in forward) / count if count else None,
        exposed_ns_per_step=_exposed(data),
        tflop_s=sum(one or 0 for one in flops) / gpu / 1000 if known else None,
        occupancy_pct=pct,
        occupancy_source=source,
        notes=tuple(dict.fromkeys(note for region in forward for note in region.notes)),
    )


def _exposed(data: SideData) -> float:
    idle = data.analysis.idle
    inside = data.inside(data.analysis.attention.attention)
    mine = np.isin(idle.step, data.steps) & (idle.row >= 0)
    return float(idle.dur_ns[mine][inside[idle.row[mine]]].sum()) / data.count


def _occupancy(data: SideData, regions: Sequence[Region]) -> tuple[float | None, str]:
    """Return the occupancy of the kernel that takes most of the calls' time."""
    work, slices = data.analysis.work, data.analysis.trace.slices
    rows = np.array([row for region in regions for row in region.gpu_rows], dtype=np.int64)
    if not len(rows):
        return None, "unknown"
    mine = np.flatnonzero(np.isin(work.rows, rows))
    names = slices.name[work.rows[mine]]
    worst = int(np.argmax(np.bincount(names, weights=work.dur_ns[mine])))
    shape = launch_shape(data.analysis, mine[names == worst])
    return shape.occupancy_pct, shape.occupancy_source
