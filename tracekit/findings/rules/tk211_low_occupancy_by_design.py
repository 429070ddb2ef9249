"""Fused attention with a low occupancy, as it is meant.

What it does
    Finds fused attention kernels that keep few warps on an SM.

Why it matters
    It isn't a fault: such kernels hold their tiles in registers and hide latency by issuing copies ahead, not by switching warps.

Example
    flash_fwd_kernel at 12.5 %

Instead
    Nothing to change.

When it stays silent
    The occupancy is above 25 %, or unknown.

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

RULE = Rule("TK211", "low-occupancy-by-design", "0.1.0")

LOW_PCT = 25.0


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a note for each fused attention kernel."""
    for row in kernel_table(analysis).kernels:
        if (
            not row.class_.startswith("attention.")
            or row.occupancy_pct is None
            or row.occupancy_pct >= LOW_PCT
            or row.occupancy_limit == "grid"
        ):
            continue
        name = analysis.trace.strings.id(row.name)
        rows = [int(one) for one in analysis.work.rows[analysis.trace.slices.name[analysis.work.rows] == name][:1]]
        yield finding(
            analysis,
            RULE,
            f"{short_name(row.name)[:60]} has a low occupancy by design",
            f"{row.occupancy_pct:.3g} % ({row.occupancy_source}): {row.registers} registers a thread, {row.shared_memory_bytes or 0:,} bytes of shared memory a block.",
            "Fused attention keeps its tiles in registers and shared memory, and hides latency without many warps.",
            "Nothing: judge it by its TFLOP/s, not by its occupancy.",
            rows,
            0.0,
            cap="info",
        )
