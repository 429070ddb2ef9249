"""What every GPU event gains in an annotated trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.kernels import LaunchShape, launch_shape
from tracekit.analysis.paths import module_of, op_stack, python_line
from tracekit.errors import escape_control
from tracekit.linking import Method
from tracekit.trace import GPU_WORK, Category
from tracekit.units import us

LONGEST = 200
"""Characters of a name of ours."""

_LONGEST_STACK = 1000


def safe(text: str) -> str:
    """Return text that no viewer chokes on: no control character, and no backslash at its end (Perfetto 52 loses every event then)."""
    return escape_control(text).rstrip("\\")


def gpu_args(analysis: Analysis) -> dict[int, dict[str, object]]:
    """Return what every GPU event gains, by row: class, op, stack, module, python line, step, launch, latency, occupancy, rates."""
    trace, links, work = analysis.trace, analysis.links, analysis.work
    slices = trace.slices
    seen: dict[int, dict[str, str]] = {}
    shapes, rates = _shapes(analysis), _rates(analysis)
    out: dict[int, dict[str, object]] = {}
    columns = zip(links.gpu.tolist(), links.op.tolist(), links.launch.tolist(), links.step.tolist(), links.method.tolist(), strict=True)
    for g, (row, op, launch, step, method) in enumerate(columns):
        args: dict[str, object] = {"tracekit.class": work.classes[work.class_id[g]], "tracekit.linked_by": Method(method).name.lower()}
        source = op if op >= 0 else launch
        if source >= 0:
            if source not in seen:
                seen[source] = _source(analysis, source, is_op=op >= 0)
            args |= seen[source]
        if launch >= 0:
            args["tracekit.launch"] = safe(trace.name(launch)[:LONGEST])
            args["tracekit.launch_to_start_us"] = us(int(slices.ts_ns[row] - slices.ts_ns[launch]))
        if step >= 0:
            args["tracekit.step"] = safe(links.steps.names[step][:LONGEST])
        out[row] = args | shapes[slices.name[row]] | rates.get(row, {})
    return out


def _source(analysis: Analysis, row: int, *, is_op: bool) -> dict[str, str]:
    trace, links = analysis.trace, analysis.links
    known = {
        "tracekit.op": trace.name(row)[:LONGEST] if is_op else "",
        "tracekit.op_stack": " > ".join(op_stack(trace, links, row))[-_LONGEST_STACK:],
        "tracekit.module": module_of(trace, links, row) or "",
        "tracekit.python": python_line(trace, links, row) or "",
    }
    return {key: safe(value) for key, value in known.items() if value}


def _shapes(analysis: Analysis) -> dict[Any, dict[str, object]]:
    """Return the occupancy of the kernels of each name, with where it is from."""
    slices, work = analysis.trace.slices, analysis.work
    names = slices.name[work.rows]
    order = np.argsort(names, kind="stable")
    out: dict[Any, dict[str, object]] = {}
    for group in np.split(order, np.flatnonzero(np.diff(names[order])) + 1) if len(order) else []:
        is_kernel = slices.category[work.rows[group[0]]] == Category.KERNEL
        out[names[group[0]]] = _occupancy(launch_shape(analysis, group)) if is_kernel else {}
    return out


def _occupancy(shape: LaunchShape) -> dict[str, object]:
    if shape.occupancy_pct is None:
        return {"tracekit.occupancy": "not known: the trace says too little"}
    if shape.occupancy_source == "recorded":
        return {"tracekit.occupancy_pct": round(shape.occupancy_pct, 1), "tracekit.occupancy": "as the profiler estimates it"}
    limit = f", limited by {shape.occupancy_limit}" if shape.occupancy_limit else ""
    return {"tracekit.occupancy_pct": round(shape.occupancy_pct, 1), "tracekit.occupancy": f"computed from the launch, not measured{limit}"}


def _rates(analysis: Analysis) -> dict[int, dict[str, object]]:
    """Return the bandwidth of copies whose bytes were recorded, and the rate of attention calls that are one kernel."""
    trace = analysis.trace
    slices = trace.slices
    out: dict[int, dict[str, object]] = {}
    for row in slices.rows(*(one for one in GPU_WORK if one != Category.KERNEL)).tolist():
        size, dur = trace.args(row).get("bytes"), int(slices.dur_ns[row])
        if isinstance(size, int) and size > 0 and dur > 0:
            out[row] = {"tracekit.gb_s": round(size / dur, 2)}
    for region in analysis.attention.attention:
        kernels = [row for row in region.gpu_rows if slices.category[row] == Category.KERNEL]
        if region.useful_flops and len(kernels) == 1 and slices.dur_ns[kernels[0]] > 0:
            out[kernels[0]] = {"tracekit.tflop_s": round(region.useful_flops / int(slices.dur_ns[kernels[0]]) / 1000, 2)}
    return out


__all__ = ["LONGEST", "gpu_args", "safe"]
