"""Copies from or to pageable host memory.

What it does
    Finds copies whose name says that the host memory is pageable, inside the steps.

Why it matters
    The driver stages them through a pinned buffer, and the call waits: the host can't run ahead.

Example
    batch = batch.to('cuda')

Instead
    batch = batch.pin_memory().to('cuda', non_blocking=True)

When it stays silent
    Copies are pinned, or small (under 64 KiB in a step).

Evidence
    The copies.

Cost and saving
    Time of the copies, and the time their calls take from the host where the GPU waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import finding, launched, line_of, longest, per_step_ns, remove, step_ns, steps
from tracekit.units import ns_text, plural

RULE = Rule("TK102", "pageable-host-copy", "0.1.0")

LEAST_NS = 20_000


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where pageable copies take time in every step."""
    trace, links, work = analysis.trace, analysis.links, analysis.work
    ids = trace.strings.ids_where(lambda name: name.startswith("Memcpy HtoD") and "Pageable" in name)
    mine = np.isin(trace.slices.name[work.rows], ids) & launched(analysis)
    if not mine.any():
        return
    calls = [int(row) for row in links.launch[mine] if row >= 0]
    cost = per_step_ns(analysis, mine)
    host = float(trace.slices.dur_ns[calls].sum()) / steps(analysis)
    if max(cost, host) < LEAST_NS:
        return
    exposed = float(analysis.host.exposed_ns[calls].sum()) / steps(analysis)
    yield finding(
        analysis,
        RULE,
        "input is copied from pageable memory",
        f"{plural(int(mine.sum()) / steps(analysis), 'copy', 'copies')} a step from pageable host memory: {ns_text(cost)} on the GPU, {ns_text(host)} in the calls{line_of(analysis, calls[0])}.",
        "A pageable copy is staged by the driver and its call waits for it, so that the host can't run ahead.",
        "Pin the memory (pin_memory=True in the DataLoader) and copy with non_blocking=True.",
        longest(analysis, mine),
        max(exposed, min(cost, step_ns(analysis) - cost)),
        _pinned(analysis, mine, calls),
    )


LINK_GB_S = (20.0, 40.0, 55.0)
"""What a copy from pinned memory reaches over PCIe 4, and over PCIe 5 as measured (53 GB/s on an H200)."""


def _pinned(analysis: Analysis, mine: NDArray[np.bool_], calls: list[int]) -> Saving | None:
    """Return what pinning wins: the copies as fast as the link, and their calls without the wait."""
    events = np.flatnonzero(mine)
    sizes = [analysis.trace.args(int(row)).get("bytes") for row in analysis.work.rows[events]]
    if not all(isinstance(size, int) for size in sizes):
        return None
    taken = np.maximum(analysis.work.dur_ns[events], 1)
    wins = []
    for rate in LINK_GB_S:
        scale = np.minimum(np.array(sizes, dtype=np.float64) / rate / taken, 1.0)
        wins.append(remove(analysis, mine, "", scale=scale, hosts=calls).mid_ns)
    low, mid, high = sorted(wins)
    return Saving(0.8 * low, mid, high, "replay with the copies at 20, 40 and 55 GB/s and their calls without waiting")
