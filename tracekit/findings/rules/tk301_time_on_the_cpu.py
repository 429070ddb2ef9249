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
    The GPU doesn't wait for it, or waits less than 2 % of the step.

Evidence
    The calls, longest first.

Cost and saving
    GPU idle time charged to the op per step; the saving by replay without its opaque time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tracekit.analysis import Analysis
from tracekit.findings.finding import Finding, Rule, Saving
from tracekit.findings.making import finding, idle_steps, line_of, step_ns
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
    slices, host = analysis.trace.slices, analysis.host
    step, count = step_ns(analysis), idle_steps(analysis)
    in_step = (analysis.links.slice_step >= 0) & (host.opaque_ns > 0)
    for name in np.unique(slices.name[in_step]).tolist():
        rows = np.flatnonzero(in_step & (slices.name == name))
        exposed, opaque = float(host.exposed_ns[rows].sum()) / count, float(host.opaque_ns[rows].sum()) / count
        cost = min(exposed, opaque)
        gpu = float(analysis.work.dur_ns[np.isin(analysis.links.op, rows)].sum()) / count
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
            Saving(0.8 * cost, cost, 1.05 * exposed, "the idle time charged to it"),
        )
