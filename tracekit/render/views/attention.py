"""The attention calls."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.attention import Region, Regions
from tracekit.render.document import Builder, Cell, Column, Document, Fit, Heading, Table, Text
from tracekit.render.views._parts import LIMIT, US, bar, kernels_text, limited, name_column, number
from tracekit.units import count_text, plural, us_text


def view(result: Regions, *, limit: int = 30, more: str = LIMIT) -> Document:
    """Return the document: what kinds of call there are with their stages, then each call."""
    page = Builder(title="attention")
    kinds: dict[tuple[str, str], list[Region]] = {}
    for region in result.attention:
        kinds.setdefault((region.backend, region.direction.value), []).append(region)
    page.add(Heading(f"{plural(len(result.attention), 'attention call')}" if result.attention else "No attention call was found", 1))
    for (backend, direction), regions in kinds.items():
        page.table(f"{backend}, {direction}: {plural(len(regions), 'call')}, means of a call", _stages(regions))
        notes = dict.fromkeys(note for region in regions for note in region.notes)
        page.add(*(Text(f"{note[0].upper()}{note[1:]}.") for note in notes))
    if result.attention:
        page.table("Calls", _calls(result, limit, more))
    return page.document(result.notices)


def _stages(regions: Sequence[Region]) -> Table:
    total = sum(region.gpu_ns for region in regions) or 1
    names = list(dict.fromkeys(stage.name for region in regions for stage in region.stages))
    rows = []
    for name in names:
        stages = [stage for region in regions for stage in region.stages if stage.name == name]
        ns = sum(stage.ns for stage in stages)
        rows.append((
            Cell(name),
            Cell(count_text(round(sum(stage.count for stage in stages) / len(regions), 2))),
            Cell(us_text(ns / len(regions))),
            Cell(f"{100 * ns / total:.1f}"),
            Cell("", share=ns / total),
            Cell(kernels_text([kernel for stage in stages for kernel in stage.kernels])),
        ))
    columns = (Column("stage"), number("events"), number("GPU", US, drop=False), number("share", "%", 6), bar(), name_column("kernels"))
    return Table(columns, tuple(rows), "", "no GPU event was recorded in these calls")


def _calls(result: Regions, limit: int, more: str) -> Table:
    columns = (
        Column("step", fit=Fit.DROP, priority=3),
        Column("backend"),
        Column("direction", fit=Fit.DROP, priority=4),
        name_column("inputs", least=12),
        Column("dtype", fit=Fit.DROP, priority=5),
        Column("causal", fit=Fit.DROP, priority=2),
        number("events", priority=6),
        number("GPU", US, drop=False),
        number("CPU", US, 7),
        number("rate", "TFLOP/s", 8),
    )
    count, note = limited(result.attention, limit, "calls", more)
    legend = "rate: useful operations of the two products over GPU time; a causal mask counts half where the trace shows it"
    return Table(columns, tuple(_call(region) for region in result.attention[:count]), f"{note}. {legend}" if note else legend)


def _call(region: Region) -> tuple[Cell, ...]:
    rate = f"{region.useful_flops / region.gpu_ns / 1000:.3g}" if region.useful_flops and region.gpu_ns else ""
    return (
        Cell((region.step or "").removeprefix("ProfilerStep")),
        Cell(region.backend),
        Cell(region.direction.value),
        Cell(region.shapes or ""),
        Cell(region.dtype or ""),
        Cell("" if region.causal is None else "yes" if region.causal else "no"),
        Cell(f"{region.gpu_events:,}"),
        Cell(us_text(region.gpu_ns)),
        Cell(us_text(region.cpu_ns)),
        Cell(rate),
    )
