"""Copies from pageable host memory.

What it does
    Finds copies to the device whose name says that the host memory is pageable, inside the steps.

Why it matters
    The driver stages them through a pinned buffer, and the call waits: the host can't run ahead.

Example
    batch = batch.to('cuda')

Instead
    batch = batch.pin_memory().to('cuda', non_blocking=True)

When it stays silent
    Copies are pinned, or small (under 64 KiB), or cost less than 1 % of the step.

Evidence
    The copies.

Cost and saving
    Time of the copies, or what the GPU waits for their calls; the saving by replay with the copies as fast as the link and calls that don't wait.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.analysis.cuts import CALL_WEIGHT
from tracekit.analysis.kernels import device_of
from tracekit.analysis.replay import Change
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import Mend, cut, finding, line_of, longest, mend, pageable_inputs, per_step_ns, scaled, step_ns, steps
from tracekit.linking import Role, call_roles
from tracekit.units import ns_text, plural

RULE = Rule("TK102", "pageable-host-copy", "0.1.0")

LEAST_SHARE = 0.01

LINK_GB_S = {9: (40.0, 52.0, 57.0), 8: (16.0, 23.0, 26.0)}
"""What a copy from pinned memory reaches, by the device's compute capability: PCIe 5 (53 measured on an H200) and PCIe 4."""

OLDER_LINK_GB_S = (8.0, 12.0, 26.0)

CALL_NS = 6_000.0
"""A copy's call that doesn't wait, profiled."""


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where pageable copies take time in every step."""
    trace, links = analysis.trace, analysis.links
    mine = pageable_inputs(analysis) & (links.launch >= 0)
    if not mine.any():
        return
    calls = sorted({int(row) for row in links.launch[mine]})
    host = float(trace.slices.dur_ns[calls].sum()) / steps(analysis)
    gpu = per_step_ns(analysis, mine)
    mended = _pinned(analysis, mine, calls)
    cost = max(gpu, mended[1].won_ns)
    if cost < LEAST_SHARE * step_ns(analysis):
        return
    yield finding(
        analysis,
        RULE,
        "input is copied from pageable memory",
        f"{plural(int(mine.sum()) / steps(analysis), 'copy', 'copies')} a step from pageable host memory: {ns_text(gpu)} on the GPU, {ns_text(host)} in the calls{line_of(analysis, calls[0])}.",
        "A pageable copy is staged by the driver and its call waits for it, so that the host can't run ahead.",
        "Pin the memory (pin_memory=True in the DataLoader) and copy with non_blocking=True.",
        longest(analysis, mine),
        cost,
        Saving(
            min(one.saving.low_ns for one in mended),
            mended[1].saving.mid_ns,
            max(one.saving.high_ns for one in mended),
            f"{mended[1].saving.how} at {', '.join(f'{rate:.0f}' for rate in _rates(analysis))} GB/s, their calls not waiting",
        ),
        change=mended[1].change,
    )


def _rates(analysis: Analysis) -> tuple[float, float, float]:
    major = device_of(analysis, analysis.windows.device).get("computeMajor")
    return LINK_GB_S[min(major, 9)] if isinstance(major, int) and major >= 8 else OLDER_LINK_GB_S


def _pinned(analysis: Analysis, mine: NDArray[np.bool_], calls: list[int]) -> list[Mend]:
    """Return what pinning wins at each rate of the link. A copy never gets slower."""
    events = np.flatnonzero(mine)
    taken = np.maximum(analysis.work.dur_ns[events], 1)
    recorded = [analysis.trace.args(int(row)).get("bytes") for row in analysis.work.rows[events]]
    # Where sizes weren't recorded: pageable copies reach about 6 GB/s.
    sizes = np.array(
        [size if isinstance(size, int) else 6.0 * ns for size, ns in zip(recorded, taken.tolist(), strict=True)], dtype=np.float64
    )
    syncs = _waits_beside(analysis, calls)
    cuts = cut(analysis, [*calls, *syncs], added_at=calls, added_ns=CALL_NS, added_weight=CALL_WEIGHT)
    out = []
    for rate in _rates(analysis):
        factors = np.ones(len(analysis.work))
        factors[events] = np.minimum(sizes / rate / taken, 1.0)
        out.append(mend(analysis, Change(scaled(analysis, mine, factors[mine]), cuts), "with the copies"))
    return out


def _waits_beside(analysis: Analysis, calls: list[int]) -> list[int]:
    """Return the waits that follow these calls inside the same op: a copy that blocks ends with one."""
    roles, parent = call_roles(analysis.trace), analysis.links.parent
    out = []
    for row in calls:
        inside = range(row + 1, min(row + 8, len(parent)))
        out += [one for one in inside if roles[one] == Role.SYNC and parent[one] == parent[row] and parent[row] >= 0]
    return out
