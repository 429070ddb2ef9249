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

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule
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
        remove(analysis, mine, "without the copies and their calls", hosts=calls),
    )
