"""The profiler slows the host.

What it does
    Estimates what the recording itself costs in a step that waits for the host.

Why it matters
    A step that is host bound may be so only because it was profiled.

Example
    record_shapes and with_stack on a step of thousands of ops

Instead
    Compare with the unprofiled step time, or record less.

When it stays silent
    The GPU is the limit, or the overhead is under 2 % of the step.

Evidence
    None.

Cost and saving
    Events of the host times the cost of recording one: 0.5 to 2.5 µs (measured on this project's own traces).
"""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.analysis import Analysis
from tracekit.analysis.overhead import Unprofiled, unprofiled_step_ns
from tracekit.findings.finding import Finding, Rule
from tracekit.findings.making import finding, step_ns
from tracekit.units import ns_text, plural

RULE = Rule("TK906", "profiler-overhead", "0.1.0")

LEAST_SHARE = 0.02


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where the recording costs the step something."""
    free, step = unprofiled_step_ns(analysis), step_ns(analysis)
    cost = step - free.mid_ns
    if not len(analysis.work) or cost < LEAST_SHARE * step:
        return
    yield finding(
        analysis,
        RULE,
        "the profiler itself slows the host",
        f"Without it the step of {ns_text(step)} may take {_range(free)}: {plural(free.host_events_per_step, 'host event')} a step were recorded.",
        "Recording an event costs the host about a microsecond, more with shapes and stacks, and the GPU waits for the host here.",
        "Measure step times without the profiler; record fewer steps, without shapes and stacks, where times of the host matter.",
        [],
        cost,
        cap="info",
        confidence=0.6,
    )


def _range(free: Unprofiled) -> str:
    if free.high_ns - free.low_ns < 0.01 * free.mid_ns:
        return f"about {ns_text(free.mid_ns)}"
    return f"{ns_text(free.low_ns)} to {ns_text(free.high_ns)} (about {ns_text(free.mid_ns)})"
