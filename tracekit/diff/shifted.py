"""Time that moved onto the CPU: work whose GPU time fell or held while its host time rose."""

from __future__ import annotations

import numpy as np

from tracekit.attention import Region
from tracekit.diff.result import Shifted
from tracekit.diff.sides import SideData
from tracekit.trace import I64, Category

LEAST_SHARE = 0.03
"""Of the step time: a smaller rise isn't worth a line."""

LEAST_NS = 20_000
HELD = 0.10
"""GPU time that rose by no more than this share of itself held."""


def shifted(a: SideData, b: SideData) -> tuple[Shifted, ...]:
    """Return what moved from the GPU to the CPU, largest rise first."""
    least = max(LEAST_NS, LEAST_SHARE * b.mean(b.analysis.windows.wall_ns))
    found = _attention(a, b, least)
    covered = {row.op for row in found}
    found += [row for row in _ops(a, b, least) if row.op not in covered]
    return tuple(sorted(found, key=lambda row: -row.cpu_delta_ns))


def _attention(a: SideData, b: SideData, least: float) -> list[Shifted]:
    out = []
    for direction in sorted({region.direction.value for region in (*a.regions, *b.regions)}):
        sides = [[region for region in side.regions if region.direction.value == direction] for side in (a, b)]
        if not all(sides):
            continue
        gpu, cpu = (
            [sum(getattr(region, name) for region in regions) / side.count for regions, side in zip(sides, (a, b), strict=True)]
            for name in ("gpu_ns", "cpu_ns")
        )
        if cpu[1] - cpu[0] < least or gpu[1] > gpu[0] * (1 + HELD):
            continue
        exposed = [_exposed(side, direction) for side in (a, b)]
        out.append(Shifted(f"attention {direction}", _worst_op(b, sides[1]), gpu[1] - gpu[0], cpu[1] - cpu[0], exposed[1] - exposed[0]))
    return out


def _exposed(side: SideData, direction: str) -> float:
    """Return the idle time per step that is charged to attention calls and all inside them.

    By the windows compared, not by the calls: the GPU waits for a call in the window of the step before it.
    """
    idle = side.analysis.idle
    inside = side.inside([region for region in side.analysis.attention.attention if region.direction.value == direction])
    mine = np.isin(idle.step, side.steps) & (idle.row >= 0)
    return float(idle.dur_ns[mine][inside[idle.row[mine]]].sum()) / side.count


def _worst_op(side: SideData, regions: list[Region]) -> str:
    """Return the op inside the regions with the most opaque time, or the most self time where none is opaque."""
    trace, links, host = side.analysis.trace, side.analysis.links, side.analysis.host
    rows = np.flatnonzero(side.inside(regions) & (trace.slices.category == Category.CPU_OP))
    weight = host.opaque_ns[rows] if host.opaque_ns[rows].any() else links.self_ns[rows]
    if not len(rows):
        return ""
    time = np.bincount(trace.slices.name[rows], weights=weight)
    return str(trace.strings[int(np.argmax(time))])


def _ops(a: SideData, b: SideData, least: float) -> list[Shifted]:
    before, after = _opaque(a), _opaque(b)
    out = []
    for name, (opaque, gpu, exposed) in after.items():
        was = before.get(name)
        if was is None or opaque - was[0] < least or gpu > was[1] * (1 + HELD):
            continue
        out.append(Shifted(name, name, gpu - was[1], opaque - was[0], exposed - was[2]))
    return out


def _opaque(side: SideData) -> dict[str, tuple[float, float, float]]:
    """Return opaque host time, GPU time launched and exposed time per step, by op."""
    analysis = side.analysis
    slices, links = analysis.trace.slices, analysis.links
    self_gpu: I64 = np.zeros(len(slices), dtype=np.int64)
    mine = side.in_steps & (links.op >= 0)
    np.add.at(self_gpu, links.op[mine], analysis.work.dur_ns[mine])
    rows = np.flatnonzero(side.hosts_in_steps & (slices.category == Category.CPU_OP))
    size = len(analysis.trace.strings)
    columns = [
        np.bincount(slices.name[rows], weights=values[rows], minlength=size)
        for values in (analysis.host.opaque_ns, self_gpu, analysis.host.exposed_ns)
    ]
    return {analysis.trace.strings[i]: tuple(float(column[i]) / side.count for column in columns) for i in np.unique(slices.name[rows])}  # type: ignore[misc]
