"""Loading, compiling or autotuning inside the measured steps.

What it does
    Finds launches that take many times as long as usual, and module loading that the profiler recorded.

Why it matters
    It happens once: a mean over the steps makes it look like a steady cost.

Example
    profiling without warm-up

Instead
    Warm up every shape before the recording starts.

When it stays silent
    Every launch takes about as long as the others.

Evidence
    The calls.

Cost and saving
    Host time beyond a usual call, spread over the steps.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import finding, steps
from tracekit.linking import Role, call_roles
from tracekit.units import ns_text, plural

RULE = Rule("TK306", "first-use-in-steps", "0.1.0")

TIMES, LEAST_NS = 50, 500_000


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding where first uses stand inside the steps."""
    trace, links = analysis.trace, analysis.links
    slices = trace.slices
    calls = np.flatnonzero(np.isin(call_roles(trace), (Role.LAUNCH, Role.MODULE, Role.GRAPH_LAUNCH)) & (links.slice_step >= 0))
    if len(calls) < 3:
        return
    usual = float(np.median(slices.dur_ns[calls]))
    long = calls[slices.dur_ns[calls] > max(TIMES * usual, LEAST_NS)]
    # A launch that is long because the queue is full isn't a first use: those come again and again.
    if not len(long) or len(long) > 0.02 * len(calls) + 1 + len(np.unique(slices.name[links.gpu])):
        return
    names = np.unique(slices.name[long])
    again = np.isin(slices.name[calls], names) & ~np.isin(calls, long)
    if not again.any():
        return
    cost = float((slices.dur_ns[long] - usual).sum()) / steps(analysis)
    where = sorted({links.steps.names[i] for i in links.slice_step[long].tolist()})
    yield finding(
        analysis,
        RULE,
        "code is loaded or compiled inside the measured steps",
        f"{plural(len(long), 'call')} of {len(calls):,} took {ns_text(float(slices.dur_ns[long].max()))} at most, where a usual one takes {ns_text(usual)}: in {', '.join(where[:3])}.",
        "The first use of a kernel loads its module (CUDA_MODULE_LOADING=LAZY), and compilers and autotuners run once: a one-time cost, not one of every step.",
        "Warm up every shape before the recording, or leave these steps out of what you compare.",
        long[np.argsort(-slices.dur_ns[long], kind="stable")].tolist(),
        cost,
        Saving(0.0, 0.0, cost, "it is gone by itself after the first use"),
        cap="warning" if links.steps.marked else "info",
    )
