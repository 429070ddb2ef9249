"""Time that has moved onto the CPU.

What it does
    Finds ops whose opaque host time exceeds the GPU time that they launch, and that the GPU waits for.

Why it matters
    The op does something on the CPU that no event shows: planning, compiling, autotuning, loading, allocating.

Example
    cuDNN attention with another sequence length in each step

Instead
    Pad to few lengths, so that plans are found again; warm up every shape.

When it stays silent
    The GPU doesn't wait for it, or waits less than 2 % of the step; or the call launches nothing: then it isn't the GPU's work (TK304).

Evidence
    The calls, longest first.

Cost and saving
    GPU idle time charged to the op per step; the saving is that, give or take a quarter: planning takes a different time in each run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.analysis.replay import Change
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import cut, finding, idle_steps, launched_within, line_of, step_ns
from tracekit.units import ns_text, plural

RULE = Rule("TK301", "time-on-the-cpu", "0.1.0")

LEAST_SHARE = 0.02
_CAUSES = (
    (
        re.compile(r"cudnn_attention"),
        "cuDNN picks and prepares a plan for a shape that it hasn't seen",
        "Pad sequences to a few lengths, so that plans are found again, or use the flash backend.",
    ),
    (
        re.compile(r"cudnn_convolution|miopen_convolution"),
        "the library searches for or prepares an algorithm",
        "Keep shapes constant, and warm them up; see torch.backends.cudnn.benchmark.",
    ),
    (
        re.compile(r"Compiled|Dynamo|Inductor|AOTDispatcher|triton"),
        "compiled code: guards, wrappers, or compiling anew",
        "Look for recompilations (TORCH_LOGS=recompiles); keep shapes constant or mark them dynamic.",
    ),
)


def check(analysis: Analysis) -> Iterator[Finding]:
    """Yield a finding for each op that holds the GPU up."""
    slices, links, host = analysis.trace.slices, analysis.links, analysis.host
    step, count = step_ns(analysis), idle_steps(analysis)
    gpu_ns = launched_within(analysis)
    in_step = (links.slice_step >= 0) & (host.opaque_ns > 0) & (gpu_ns > 0)
    for name in np.unique(slices.name[in_step]).tolist():
        rows = np.flatnonzero(in_step & (slices.name == name))
        exposed, opaque = float(host.exposed_ns[rows].sum()) / count, float(host.opaque_ns[rows].sum()) / count
        cost = min(exposed, opaque)
        gpu = float(gpu_ns[rows].sum()) / count
        if cost < LEAST_SHARE * step or opaque <= gpu:
            continue
        op = analysis.trace.strings[name]
        cause, fix = next(
            ((why, mend) for pattern, why, mend in _CAUSES if pattern.search(op)),
            ("something that no event shows", "Record with stacks, or sample the process, to see what it does."),
        )
        worst = rows[np.argsort(-host.opaque_ns[rows], kind="stable")]
        yield finding(
            analysis,
            RULE,
            f"{op[:80]} spends its time on the CPU",
            f"{plural(len(rows) / count, 'call')} a step with {ns_text(opaque)} of CPU time that nothing inside explains, for {ns_text(gpu)} on the GPU; the GPU waits for {ns_text(exposed)} of it{line_of(analysis, int(worst[0]))}.",
            f"Likely {cause}.",
            fix,
            worst.tolist(),
            cost,
            Saving(0.75 * cost, cost, 1.35 * exposed, "the idle time charged to it"),
            change=_without(analysis, rows),
            # Where the whole trace is one step, a first use can't be told from what every step pays.
            cap="error" if links.steps.marked else "warning",
        )


def _without(analysis: Analysis, rows: NDArray[np.int64]) -> Change:
    """Return the change in which the self time of these ops is a usual one."""
    links = analysis.links
    children = np.flatnonzero(np.isin(links.parent, rows))
    share = float(analysis.host.opaque_ns[rows].sum()) / max(float(links.self_ns[rows].sum()), 1.0)
    return Change(cuts=cut(analysis, rows.tolist(), kept=children.tolist(), share=min(share, 1.0)))
