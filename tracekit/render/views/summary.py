"""The page of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tracekit.analysis.summary import IdleRow, StepRow, Summary
from tracekit.analysis.verdict import Bound
from tracekit.render.document import Builder, Cell, Column, Document, Facts, Fit, Heading, Table, Text, Tone, cut_start
from tracekit.render.views._parts import IDLE_WORDS, US, bar, name_column, number, strip
from tracekit.units import bytes_text, count_text, ns_text, pct_text, plural, us_text

_STEPS = 8  # rows of steps shown; more are told by their first, their median and their last
_ROWS = 12
_NAMES = 5  # of each cause of idle time; what is left is summed


def view(result: Summary) -> Document:
    """Return the page: verdict, facts, steps, GPU time by class, idle time by cause, attention."""
    page = Builder(title=result.trace.path)
    page.add(Heading(result.trace.path, 1), Text(result.verdict.text, Tone.GOOD if result.verdict.bound is Bound.GPU else Tone.STRONG))
    page.add(Facts(tuple(facts(result))))
    if result.picture:
        page.add(Heading(f"The median step, {result.picture.step}"), strip(result.picture))
    if result.steps and result.gpu.events:
        page.table("Steps", _steps(result.steps))
        page.table("GPU time by class, whole trace", _classes(result))
        if any(row.ns for row in result.idle):
            page.table("GPU idle time by what the launching thread was doing", _idle(result))
    if result.attention:
        page.table("Attention", _attention(result))
    return page.document(result.notices)


def facts(result: Summary) -> list[tuple[str, str]]:
    """Return the short answers: device, step time, work of a step, events, memory, file."""
    trace, gpu, steps = result.trace, result.gpu, result.steps
    found = []
    if trace.devices:
        found.append(("device", ", ".join(_device(one.name, one.vendor, one.id) for one in trace.devices)))
    if steps and gpu.events:
        wall, busy = [step.wall_ns for step in steps], sum(step.gpu_busy_ns for step in steps)
        share = pct_text(busy / sum(wall)) if sum(wall) else "–"
        spread = f", {ns_text(min(wall))} to {ns_text(max(wall))}" if len(steps) > 1 else ""
        what = "step time" if len(steps) > 1 or steps[0].name != "trace" else "GPU span"
        found.append((
            what,
            f"{ns_text(median(wall))} median of {plural(len(steps), 'step')}{spread}; GPU busy {share}"
            if len(steps) > 1
            else f"{ns_text(wall[0])}; GPU busy {share}",
        ))
        found.append(("a step", _per_step(steps)))
    found.append(("GPU events", _events(result)))
    found += [("memory", "; ".join(f"{row.device} peak {bytes_text(row.peak_bytes)}" for row in result.memory))] if result.memory else []
    options = [
        key.replace("_", " ")
        for key in ("record_shapes", "with_stack", "profile_memory", "with_flops", "with_modules")
        if trace.profiler.get(key)
    ]
    recorded = f"; recorded {', '.join(options)}" if options else ""
    size = f"{bytes_text(trace.bytes)}, {plural(result.read.events_kept, 'event')}, {plural(trace.host_threads, 'host thread')}"
    found.append(("file", f"{size}, {ns_text(trace.span_ns)}{recorded}"))
    return found


def _device(name: str, vendor: str, number_: int) -> str:
    return f"{name or f'unnamed {vendor} GPU'.replace('  ', ' ')} (device {number_})"


def _per_step(steps: Sequence[StepRow]) -> str:
    def mean(values: Sequence[int]) -> float:
        return round(sum(values) / len(values), 1)

    parts = [
        plural(mean([step.kernels for step in steps]), "kernel"),
        plural(mean([step.memcpys for step in steps]), "copy", "copies"),
        plural(mean([step.memsets for step in steps]), "memset"),
    ]
    return f"{', '.join(parts)}; host {ns_text(sum(step.host_ns for step in steps) / len(steps))}"


def _events(result: Summary) -> str:
    gpu = result.gpu
    if not gpu.events:
        return "none"
    text = f"{gpu.events:,}: {plural(gpu.kernels, 'kernel')}, {plural(gpu.memcpys, 'copy', 'copies')}, {plural(gpu.memsets, 'memset')}"
    if not gpu.unlinked:
        return f"{text}; every one linked to its launch"
    return f"{text}; {gpu.linked:,} linked to their launches ({ns_text(gpu.linked_ns)} of {ns_text(gpu.sum_ns)})"


def _steps(steps: Sequence[StepRow]) -> Table:
    columns = (
        Column("step", fit=Fit.SHRINK, least=16, shorten=cut_start),
        number("step time", US, drop=False),
        number("GPU busy", US, 8),
        number("GPU idle", US, 7),
        number("idle", "%", 6),
        number("GPU sum", US, 1),
        number("host", US, 5),
        number("kernels", priority=4),
        number("copies", priority=3),
        number("memsets", priority=2),
    )
    shown = list(steps)
    note = ""
    if len(steps) > _STEPS:
        shown = [*steps[: _STEPS - 2], *steps[-2:]]
        note = f"{len(steps) - len(shown)} steps between left out; --format csv lists all"
    return Table(columns, tuple(_step(step) for step in shown), note)


def _step(step: StepRow) -> tuple[Cell, ...]:
    idle = step.gpu_idle_ns / step.wall_ns if step.wall_ns else 0.0
    return (
        Cell(step.name),
        Cell(us_text(step.wall_ns)),
        Cell(us_text(step.gpu_busy_ns)),
        Cell(us_text(step.gpu_idle_ns)),
        Cell(f"{100 * idle:.1f}", Tone.BAD if idle > 0.1 else Tone.PLAIN),
        Cell(us_text(step.gpu_ns)),
        Cell(us_text(step.host_ns)),
        Cell(f"{step.kernels:,}"),
        Cell(f"{step.memcpys:,}"),
        Cell(f"{step.memsets:,}"),
    )


def _classes(result: Summary) -> Table:
    total = result.gpu.sum_ns or 1
    columns = (Column("class"), number("events", priority=5), number("time", US, drop=False), number("share", "%", 6), bar())
    rows = [
        (
            Cell(row.class_),
            Cell(f"{row.count:,}"),
            Cell(us_text(row.ns)),
            Cell(f"{100 * row.ns / total:.1f}"),
            Cell("", share=row.ns / total),
        )
        for row in result.classes[:_ROWS]
    ]
    rest = result.classes[_ROWS:]
    note = f"{len(rest)} more classes: {us_text(sum(row.ns for row in rest))} µs" if rest else ""
    return Table(columns, tuple(rows), note)


def _idle(result: Summary) -> Table:
    """Return the idle time by cause, and under each cause by name; both add up."""
    total, steps = sum(row.ns for row in result.idle) or 1, max(len(result.steps), 1)
    columns = (
        name_column("while", least=28),
        number("gaps", priority=4),
        number("a step", US, drop=False),
        number("share", "%", 6),
        bar(),
    )

    def line(text: str, gaps: int | None, ns: int, depth: int) -> tuple[Cell, ...]:
        share = ns / total
        return (
            Cell(text, indent=depth),
            Cell("" if gaps is None else f"{gaps:,}"),
            Cell(us_text(ns / steps)),
            Cell(f"{100 * share:.1f}"),
            Cell("", share=0.0 if depth else share),
        )

    causes: dict[str, list[IdleRow]] = {}
    for row in result.idle:
        causes.setdefault(row.kind, []).append(row)
    table = []
    for kind, rows in sorted(causes.items(), key=lambda item: -sum(row.ns for row in item[1])):
        ns = sum(row.ns for row in rows)
        if not ns:
            continue
        table.append(line(IDLE_WORDS.get(kind, kind), rows[0].count if len(rows) == 1 else None, ns, 0))
        shown = [row for row in rows[:_NAMES] if row.name and row.ns >= 0.01 * total]
        table += [line(row.name, row.count, row.ns, 1) for row in shown]
        if shown and len(rows) > len(shown):
            table.append(line(f"{len(rows) - len(shown):,} more", None, ns - sum(row.ns for row in shown), 1))
    return Table(columns, tuple(table))


def _attention(result: Summary) -> Table:
    columns = (
        Column("backend"),
        Column("direction", fit=Fit.DROP, priority=7),
        number("calls", drop=False),
        number("kernels a call", priority=6),
        number("GPU events a call", priority=3),
        number("GPU a call", US, drop=False),
        number("CPU a call", US, 8),
    )
    rows = tuple(
        (
            Cell(row.backend),
            Cell(row.direction),
            Cell(f"{row.calls:,}"),
            Cell(count_text(round(row.kernels_per_call, 2))),
            Cell(count_text(round(row.gpu_events_per_call, 2))),
            Cell(us_text(row.gpu_ns_per_call)),
            Cell(us_text(row.cpu_ns_per_call)),
        )
        for row in result.attention
    )
    return Table(columns, rows)
