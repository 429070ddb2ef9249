"""Occupancy that the profiler didn't measure.

What it does
    Finds kernels that ran long with a recorded occupancy of 0, as those launched by ``cuLaunchKernelEx`` and its kin are recorded.

Why it matters
    0 % isn't true: a kernel that runs occupies something.

Example
    cudnn_generated_…_flash_fprop with est. achieved occupancy 0 %

Instead
    Read the computed value.

When it stays silent
    The launch is so small that its occupancy rounds to 0.

Evidence
    One launch of each kernel.

Cost and saving
    None.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.kernels import kernel_table
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import finding
from tracekit.kernels import short_name
from tracekit.units import plural

RULE = Rule("TK212", "occupancy-not-measured", "0.1.0")

LEAST_NS = 10_000
MOST = 3  # kernels named


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield one note for all kernels of which 0 was recorded and more is computed."""
    slices, work = analysis.trace.slices, analysis.work
    rows = [
        row
        for row in kernel_table(analysis).kernels
        if row.occupancy_source == "computed" and (row.occupancy_pct or 0) >= 1 and row.mean_ns >= LEAST_NS
    ]
    if not rows:
        return
    names = [analysis.trace.strings.id(row.name) for row in rows]
    mine = np.isin(slices.name[work.rows], names)
    launches = analysis.links.launch[mine]
    calls = sorted({analysis.trace.name(int(one)) for one in launches if one >= 0})
    told = "; ".join(f"{short_name(row.name)[:60]} {row.occupancy_pct:.3g} %, limited by {row.occupancy_limit}" for row in rows[:MOST])
    more = f"; and {len(rows) - MOST} more" if len(rows) > MOST else ""
    yield finding(
        analysis,
        RULE,
        f"the occupancy of {plural(len(rows), 'kernel')} wasn't measured",
        f"Recorded is 0 %. From registers, shared memory and block size: {told}{more}.",
        f"The profiler records none for launches through {', '.join(calls[:4]) or 'this call'}: a limit of the measurement, not of the kernels.",
        "Nothing: read the computed values (tracekit kernels).",
        [int(work.rows[np.flatnonzero(slices.name[work.rows] == name)[0]]) for name in names[:MOST]],
        0.0,
        cap="info",
    )
