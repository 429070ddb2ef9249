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

from tracekit.analysis import Analysis
from tracekit.analysis.kernels import kernel_table
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import finding
from tracekit.kernels import short_name

RULE = Rule("TK212", "occupancy-not-measured", "0.1.0")

LEAST_NS = 10_000


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a note for each kernel of which 0 was recorded and more is computed."""
    slices, work = analysis.trace.slices, analysis.work
    for row in kernel_table(analysis).kernels:
        if row.occupancy_source != "computed" or (row.occupancy_pct or 0) < 1 or row.mean_ns < LEAST_NS:
            continue
        mine = slices.name[work.rows] == analysis.trace.strings.id(row.name)
        launches = analysis.links.launch[mine]
        calls = sorted({analysis.trace.name(int(one)) for one in launches if one >= 0})
        yield finding(
            analysis,
            RULE,
            f"the occupancy of {short_name(row.name)[:60]} wasn't measured",
            f"Recorded is 0 %; from registers, shared memory and block size it is {row.occupancy_pct:.3g} %, limited by {row.occupancy_limit}.",
            f"The profiler records none for launches through {', '.join(calls) or 'this call'}: a limit of the measurement, not of the kernel.",
            "Nothing: read the computed value.",
            [int(one) for one in work.rows[mine][:1]],
            0.0,
            cap="info",
        )
