"""What changed and why, in sentences: the most important first, each number from the ledgers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracekit.analysis.work import KERNEL, MEMCPY
from tracekit.diff.result import IdleDelta, LedgerRow, Shifted, StepDelta
from tracekit.diff.sides import SideData
from tracekit.units import count_text, ns_text, pct_text, plural, ratio_text

SPEAKS = 0.02
"""Of the larger step time: a smaller change has no sentence of its own."""

_MOST = 7  # parts that one sentence lists


def summary(
    a: SideData, b: SideData, step: StepDelta, rows: Sequence[LedgerRow], idle: Sequence[IdleDelta], moved: Sequence[Shifted]
) -> tuple[str, ...]:
    """Return the sentences."""
    out = [_verdict(a, b, step)]
    scale = max(step.wall_ns.a, step.wall_ns.b, 1.0)
    out += _counts(a, b)
    out += _attention(a, b)
    out += _gpu(step, rows, scale)
    out += [_moved(row) for row in moved]
    out += _idle(step, idle, scale)
    return tuple(out)


def _verdict(a: SideData, b: SideData, step: StepDelta) -> str:
    wall = step.wall_ns
    if not wall.a or not wall.b:
        return "At least one of the traces has no step with a duration, so there is nothing to compare."
    times = f"{ns_text(wall.b)} a step against {ns_text(wall.a)} ({ns_text(wall.delta, signed=True)})"
    if wall.significant is False:
        return f"No difference that these traces can show: {b.label} takes {times}, within the noise of the steps and between runs."
    if wall.significant is None and abs(wall.delta) < SPEAKS * wall.a:
        return f"About the same: {b.label} takes {times}. With one step a side, noise can't be told from change."
    ratio = wall.b / wall.a
    word = f"{ratio_text(ratio)} as slow as" if ratio > 1 else f"{ratio_text(1 / ratio)} as fast as"
    busy, idle = step.gpu_busy_ns.delta, step.gpu_idle_ns.delta
    parts = f"GPU busy {ns_text(busy, signed=True)}, GPU idle {ns_text(idle, signed=True)}"
    caution = "" if wall.significant else " With one step a side, noise can't be told from change."
    return f"{b.label} is {word} {a.label}: {times}; {parts}.{caution}"


def _per_step(side: SideData, kind: int) -> float:
    return float((side.in_steps & (side.analysis.work.kind == kind)).sum()) / side.count


def _counts(a: SideData, b: SideData) -> list[str]:
    out = []
    before, after = _per_step(a, KERNEL), _per_step(b, KERNEL)
    if before != after:
        out.append(f"{plural(round(after, 2), 'kernel')} a step against {count_text(round(before, 2))}")
    for name in sorted({label for side in (a, b) for label in side.analysis.work.classes if label.startswith("memcpy")}):
        one, two = (_class_per_step(side, name) for side in (a, b))
        if one != two:
            what = f"Memcpy {name.split('.')[1]}"
            if not two:
                out.append(f"{plural(round(one, 2), what, what + 's')} a step gone")
            elif not one:
                out.append(f"{plural(round(two, 2), what, what + 's')} a step new")
            else:
                out.append(f"{count_text(round(two, 2))} {what}s a step against {count_text(round(one, 2))}")
    if not out:
        return []
    text = "; ".join(out) + "."
    return [text[0].upper() + text[1:]]


def _class_per_step(side: SideData, name: str) -> float:
    work = side.analysis.work
    if name not in work.classes:
        return 0.0
    return float((side.in_steps & (work.class_id == work.classes.index(name)) & (work.kind == MEMCPY)).sum()) / side.count


def _attention(a: SideData, b: SideData) -> list[str]:
    out = []
    for direction in ("forward", "backward"):
        words = []
        for side in (a, b):
            regions = [region for region in side.regions if region.direction.value == direction]
            backends = list(dict.fromkeys(region.backend for region in regions))
            if not regions:
                words.append("")
                continue
            events = float(np.mean([region.kernels for region in regions]))
            words.append(f"{' and '.join(backends)} ({plural(round(events, 1), 'kernel')} a call)")
        if all(words) and words[0] != words[1]:
            out.append(f"Attention {direction}: {words[0]} became {words[1]}.")
    return out


def _gpu(step: StepDelta, rows: Sequence[LedgerRow], scale: float) -> list[str]:
    """Say where the change of busy time comes from: parts with their µs that add up to it."""
    total = step.gpu_busy_ns.delta
    groups: dict[str, list[LedgerRow]] = {}
    for row in rows:
        groups.setdefault(_what(row), []).append(row)
    parts = sorted(
        ((_told(name, ones), sum(row.delta_ns for row in ones)) for name, ones in groups.items()), key=lambda part: -abs(part[1])
    )
    shown = [part for part in parts if abs(part[1]) >= SPEAKS * 0.25 * scale][:_MOST]
    if not shown:
        return []
    rest = total - sum(ns for _, ns in shown)
    listed = [f"{name} {ns_text(ns, signed=True)}" for name, ns in shown]
    if abs(rest) >= 500:
        listed.append(f"the rest {ns_text(rest, signed=True)}")
    return [f"GPU time per step: {'; '.join(listed)}; together {ns_text(total, signed=True)}."]


_STAGES = {
    "qk": "matrix product QKᵀ",
    "pv": "matrix product PV",
    "scale": "scaling",
    "mask": "masking",
    "softmax": "softmax",
    "cast": "casts between number formats",
    "copy": "copies",
    "fused": "fused attention",
    "other": "other attention work",
}


def _what(row: LedgerRow) -> str:
    """Return what a row is told as: an attention stage, whatever the class of its kernels, or a place."""
    if row.match == "overlap":
        return "overlap and other steps' work"
    if not row.stage:
        return row.region
    name = (
        f"Memcpy {row.class_.split('.')[1]}"
        if row.stage == "copy" and row.class_.startswith("memcpy")
        else _STAGES.get(row.stage, row.stage)
    )
    return f"{name} (backward)" if row.region.endswith("backward") else name


def _told(name: str, rows: Sequence[LedgerRow]) -> str:
    """Return a name with the cause of its largest row that has one; a row that is small beside the others speaks for none of them."""
    largest = max(abs(row.delta_ns) for row in rows)
    causes = [row.cause for row in sorted(rows, key=lambda row: -abs(row.delta_ns)) if row.cause and abs(row.delta_ns) >= 0.5 * largest]
    return f"{name} ({causes[0]})" if causes else name


def _moved(row: Shifted) -> str:
    gpu = f"{ns_text(-row.gpu_delta_ns)} less" if row.gpu_delta_ns < 0 else f"{ns_text(row.gpu_delta_ns)} more"
    where = f" inside {row.op}" if row.op and row.op != row.region else ""
    waits = f"; the GPU waits for {ns_text(row.exposed_delta_ns)} of it" if row.exposed_delta_ns > 0 else "; the GPU doesn't wait for it"
    return f"Time moved onto the CPU: {row.region} takes {gpu} on the GPU and {ns_text(row.cpu_delta_ns)} more on the CPU{where}, a step{waits}."


_IDLE = {
    "op": "in {}",
    "runtime": "in the call {}",
    "sync": "waiting for the GPU in {}",
    "python": "in Python, {}",
    "annotation": "within {}",
    "no_host_event": "with nothing recorded on the launching thread",
    "queue": "between launch and start",
    "unlinked": "before work whose launch isn't known",
    "after_last": "after the step's last GPU work",
    "not_used": "in steps that launch nothing",
}


def _idle(step: StepDelta, idle: Sequence[IdleDelta], scale: float) -> list[str]:
    total = step.gpu_idle_ns.delta
    if abs(total) < SPEAKS * scale:
        return []
    shown = [row for row in idle if abs(row.delta_ns) >= 0.1 * abs(total)][:3]
    listed = [f"{_IDLE.get(row.kind, row.kind).format(row.name[:80])} {ns_text(row.delta_ns, signed=True)}" for row in shown]
    rest = total - sum(row.delta_ns for row in shown)
    if listed and abs(rest) >= 0.05 * abs(total):
        listed.append(f"the rest {ns_text(rest, signed=True)}")
    share = f"GPU idle time: {ns_text(step.gpu_idle_ns.b)} a step ({pct_text(step.gpu_idle_ns.b / scale)}) against {ns_text(step.gpu_idle_ns.a)}"
    return [f"{share}: {'; '.join(listed)}." if listed else f"{share}."]
