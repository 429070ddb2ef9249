"""``find_regions``: every attention call of a trace."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tracekit.attention.eager import by_hand, by_kernels
from tracekit.attention.facts import inputs_of, least_bytes, useful_flops
from tracekit.attention.match import Draft, by_ops, region_of_rows
from tracekit.attention.regions import Direction, Region, Regions, Stage
from tracekit.attention.stages import fill_stages, path, stage
from tracekit.kernels import decode
from tracekit.linking import Links, Reason
from tracekit.trace import ABSENT, I64, Category, Trace

_AUXILIARY = re.compile(r"dot_do_o|convert_dq|combine|reduce|merge|convert|preprocess|postprocess")
_BACKWARD = re.compile(r"bwd|backward|bprop|cutlassB|dgrad|dk_dv|_dq")
_OF_CLASS = {"attention.flash": "flash", "attention.efficient": "efficient", "attention.cudnn": "cudnn", "attention.flex": "flex"}


def find_regions(trace: Trace, links: Links, classes: Sequence[str], dur_ns: I64) -> Regions:
    """Return every attention call, in order of time; a GPU event belongs to one at most.

    Args:
        trace: The trace.
        links: Its links.
        classes: Kernel class of each GPU event, in the order of ``links.gpu``.
        dur_ns: int64[g], credible durations of the GPU events.
    """
    drafts = by_ops(trace, links)
    taken = region_of_rows(links, {row: i for i, draft in enumerate(drafts) for row in draft.rows}, len(trace.slices))
    for draft in by_hand(trace, links, taken):
        if all(taken[row] < 0 for row in draft.rows):
            taken[draft.rows] = len(drafts)
            drafts.append(draft)
    taken = region_of_rows(links, {row: i for i, draft in enumerate(drafts) for row in draft.rows}, len(trace.slices))
    region = np.where(links.op >= 0, taken[np.maximum(links.op, 0)], ABSENT) if len(taken) else np.full(len(links.gpu), ABSENT)
    for g in np.flatnonzero(region >= 0).tolist():
        drafts[int(region[g])].gpu.append(g)
    for draft in drafts:
        fill_stages(trace, links, draft, classes)
    drafts += _backward(trace, links, drafts, taken, region, classes)
    drafts += _without_ops(trace, links, classes, region)
    made = [_region(trace, links, draft, classes, dur_ns) for draft in drafts]
    made.sort(key=lambda one: (one.ts_ns, one.rows, one.gpu_rows))
    return Regions(tuple(made), ())


def _backward(trace: Trace, links: Links, drafts: Sequence[Draft], taken: I64, region: I64, classes: Sequence[str]) -> list[Draft]:
    """Return the backward passes of regions that aren't one op: by the forward op that each op of the backward pass belongs to."""
    made: dict[int, Draft] = {}
    for g in np.flatnonzero((region < 0) & (links.op >= 0)).tolist():
        op = int(links.op[g])
        if not links.backward[op]:
            continue
        chain = [op, *links.ancestors(op)]
        forward = next((int(links.forward[row]) for row in chain if links.forward[row] >= 0), ABSENT)
        source = int(taken[forward]) if forward >= 0 else ABSENT
        if source < 0 or drafts[source].backward:
            continue
        of = drafts[source]
        top = [row for row in chain if trace.slices.category[row] == Category.CPU_OP][-1]
        draft = made.setdefault(
            source, Draft([], of.backend, True, of.mains, confidence=of.confidence, qk=of.qk, softmax=of.softmax, pv=of.pv)
        )
        if top not in draft.rows:
            draft.rows.append(top)
        draft.gpu.append(g)
        # What it takes back says which stage it is.
        names = path(trace, links, forward, of.rows)
        second = of.softmax >= 0 and forward > of.softmax
        draft.stage.append(
            stage([*names, trace.name(op)], classes[g], trace.name(int(links.gpu[g])), second=second)
            if classes[g] != "softmax"
            else "softmax"
        )
        region[g] = len(drafts) + list(made).index(source)
    return list(made.values())


def _without_ops(trace: Trace, links: Links, classes: Sequence[str], region: I64) -> list[Draft]:
    """Return the regions that only their kernels show: in a graph's replay, or below an op that no table knows."""
    drafts: list[Draft] = []
    last: dict[tuple[int, str], Draft] = {}
    for g in np.flatnonzero(region < 0).tolist():
        if not classes[g].startswith("attention.") or links.reason[g] == Reason.LAUNCHED_BEFORE_TRACE:
            continue
        name, op = trace.name(int(links.gpu[g])), int(links.op[g])
        key = (op if op >= 0 else -int(links.launch[g]) - 2, classes[g])
        backward = bool(_BACKWARD.search(name[:200]))
        auxiliary = bool(_AUXILIARY.search(name[:200]))
        draft = last.get(key)
        if draft is None or (
            op < 0 and not auxiliary and any(not _AUXILIARY.search(trace.name(int(links.gpu[x]))[:200]) for x in draft.gpu)
        ):
            draft = Draft([op] if op >= 0 else [], _OF_CLASS.get(classes[g], "other"), backward, [op] if op >= 0 else [], confidence=0.8)
            if op < 0:
                draft.notes.append("known by its kernels alone: no op was recorded around its launch")
            drafts.append(draft)
            last[key] = draft
        draft.gpu.append(g)
        draft.stage.append("fused")
        region[g] = ABSENT - 1
    order = np.flatnonzero((region == ABSENT) & (links.op < 0) & (links.launch >= 0))
    order = order[np.argsort(trace.slices.ts_ns[links.gpu[order]], kind="stable")]
    for qk, softmax, pv in by_kernels(classes, links.launch, order.tolist()):
        draft = Draft([], "eager", False, confidence=0.5, notes=["known by its kernels alone: no op was recorded around its launch"])
        for place in range(qk, pv + 1):
            g = int(order[place])
            draft.gpu.append(g)
            draft.stage.append(stage([], classes[g], trace.name(int(links.gpu[g])), second=place > softmax))
        drafts.append(draft)
    return drafts


def _region(trace: Trace, links: Links, draft: Draft, classes: Sequence[str], dur_ns: I64) -> Region:
    slices = trace.slices
    inputs = inputs_of(trace, links, draft)
    rows = sorted(draft.rows)
    gpu_rows = [int(links.gpu[g]) for g in draft.gpu]
    kinds = ["memcpy" if classes[g].startswith("memcpy") else "memset" if classes[g] == "memset" else "kernel" for g in draft.gpu]
    steps = [int(links.step[g]) for g in draft.gpu if links.step[g] >= 0] or [int(links.slice_step[row]) for row in rows]
    step = steps[0] if steps and steps[0] >= 0 else ABSENT
    stages = _stages(trace, draft, gpu_rows, dur_ns)
    return Region(
        backend=draft.backend,
        direction=Direction.BACKWARD if draft.backward else Direction.FORWARD,
        step=links.steps.names[step] if step >= 0 else None,
        op=trace.name(rows[0]) if rows else trace.name(gpu_rows[0])[:200],
        ts_ns=int(slices.ts_ns[rows[0]]) if rows else int(slices.ts_ns[gpu_rows[0]]),
        cpu_ns=int(slices.dur_ns[rows].sum()) if rows else 0,
        gpu_ns=int(dur_ns[draft.gpu].sum()) if draft.gpu else 0,
        gpu_events=len(gpu_rows),
        kernels=kinds.count("kernel"),
        memcpys=kinds.count("memcpy"),
        memsets=kinds.count("memset"),
        shapes=inputs.text,
        dtype=inputs.dtype,
        compute_dtype=_compute_dtype(trace, draft, gpu_rows, dur_ns),
        causal=inputs.causal,
        useful_flops=useful_flops(inputs, backward=draft.backward),
        least_bytes=least_bytes(inputs, backward=draft.backward),
        stages=stages,
        notes=tuple(dict.fromkeys((*draft.notes, *_notes(trace, links, draft, inputs.dtype, gpu_rows)))),
        rows=tuple(rows),
        gpu_rows=tuple(gpu_rows),
        gpu_stages=tuple(draft.stage),
        confidence=draft.confidence,
    )


def _stages(trace: Trace, draft: Draft, gpu_rows: Sequence[int], dur_ns: I64) -> tuple[Stage, ...]:
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(draft.stage):
        groups.setdefault(name, []).append(i)
    return tuple(
        Stage(
            name,
            len(at),
            int(sum(int(dur_ns[draft.gpu[i]]) for i in at)),
            tuple(dict.fromkeys(trace.name(gpu_rows[i]) for i in at)),
        )
        for name, at in groups.items()
    )


def _compute_dtype(trace: Trace, draft: Draft, gpu_rows: Sequence[int], dur_ns: I64) -> str | None:
    """Return the number format of the products, by the longest kernel that makes one."""
    products = [i for i, name in enumerate(draft.stage) if name in {"qk", "pv", "fused"}]
    if not products:
        return None
    longest = max(products, key=lambda i: int(dur_ns[draft.gpu[i]]))
    return decode(trace.name(gpu_rows[longest])).dtype


def _notes(trace: Trace, links: Links, draft: Draft, dtype: str | None, gpu_rows: Sequence[int]) -> list[str]:
    notes = []
    products = [decode(trace.name(row)) for row, name in zip(gpu_rows, draft.stage, strict=True) if name in {"qk", "pv"}]
    if any(one.tensor_cores is False for one in products):
        notes.append("fp32 matrix products without tensor cores")
    launches = {trace.name(int(links.launch[g])) for g in draft.gpu if links.launch[g] >= 0}
    paths = [path(trace, links, int(links.op[g]), draft.rows) for g in draft.gpu]
    if dtype in {"bfloat16", "float16"} and draft.backend == "math" and draft.stage.count("cast"):
        notes.append(f"{dtype} is upcast to float32: {draft.stage.count('cast')} casts")
    built = sum("aten::tril" in names or "aten::ones" in names or "aten::triu" in names for names in paths)
    if built:
        notes.append("the mask is built anew in the call")
    if any("aten::_safe_softmax" in names for names in paths):
        notes.append("safe softmax (_safe_softmax): extra passes over the scores for rows that are masked entirely")
    if any("aten::masked_fill" in names and "aten::clone" in names for names in paths):
        notes.append("masked_fill out of place clones the scores first")
    if draft.backend == "cudnn" and any("LaunchKernelEx" in name for name in launches):
        notes.append("launched with cuLaunchKernelEx, for which the profiler records an occupancy of 0")
    return notes
