"""Several traces, each against the first."""

from __future__ import annotations

from tracekit.diff import VariantRow, Variants
from tracekit.render.document import Builder, Cell, Column, Document, Fit, Heading, Table, Text, Tone
from tracekit.render.views._parts import US, name_column, number
from tracekit.units import count_text, ratio_text, us_text


def view(result: Variants) -> Document:
    """Return the document: the step of each, then its attention calls, then what they do too much."""
    page = Builder(title="variants")
    base = result.variants[0]
    page.add(Heading(f"{len(result.variants)} traces against {base.label}", 1), Text(_verdict(result), Tone.STRONG))
    page.table("A step", _steps(result))
    if any(row.backend for row in result.variants):
        page.table("An attention call, forward", _calls(result))
    for row in result.variants:
        if row.notes:
            page.add(Text(f"{row.label}: {'; '.join(row.notes)}."))
    return page.document(result.notices)


def _verdict(result: Variants) -> str:
    timed = [row for row in result.variants if row.step_ns]
    if not timed:
        return "No trace has a step with a duration."
    best = min(timed, key=lambda row: row.step_ns)
    base = result.variants[0]
    if best is base or not base.step_ns:
        return f"{best.label} has the shortest step: {us_text(best.step_ns)} µs."
    return f"{best.label} has the shortest step: {us_text(best.step_ns)} µs, {ratio_text(base.step_ns / best.step_ns)} as fast as {base.label}."


def _steps(result: Variants) -> Table:
    columns = (
        name_column("trace", least=12),
        number("step", US, drop=False),
        number("of the first", "×", 8),
        Column("more than noise", fit=Fit.DROP, priority=3),
        number("GPU busy", US, 7),
        number("GPU idle", US, 6),
        number("kernels", priority=5),
        number("copies", priority=4),
        number("steps", priority=1),
    )
    return Table(columns, tuple(_step(row) for row in result.variants))


def _step(row: VariantRow) -> tuple[Cell, ...]:
    tone = Tone.PLAIN if not row.significant or row.ratio is None else Tone.GOOD if row.ratio < 1 else Tone.BAD
    return (
        Cell(row.label),
        Cell(us_text(row.step_ns)),
        Cell("" if row.ratio is None else f"{row.ratio:,.3g}", tone),
        Cell({True: "yes", False: "no", None: ""}[row.significant]),
        Cell(us_text(row.gpu_busy_ns)),
        Cell(us_text(row.gpu_idle_ns)),
        Cell(count_text(round(row.kernels, 2))),
        Cell(count_text(round(row.memcpys, 2))),
        Cell(str(row.steps)),
    )


def _calls(result: Variants) -> Table:
    columns = (
        name_column("trace", least=12),
        Column("backend"),
        number("kernels", priority=7),
        number("GPU", US, drop=False),
        number("CPU", US, 6),
        number("exposed a step", US, 4),
        number("rate", "TFLOP/s", 8),
        number("occupancy", "%", 5),
    )
    notes = [
        "rates count half of the full square where the trace shows that a call is causal, else all of it"
        * any(row.tflop_s for row in result.variants),
        "occupancy marked * is computed, as the profiler recorded none"
        * any(row.occupancy_source == "computed" for row in result.variants),
    ]
    return Table(
        columns,
        tuple(_call(row) for row in result.variants),
        "; ".join(note for note in notes if note),
    )


def _call(row: VariantRow) -> tuple[Cell, ...]:
    occupancy = "" if row.occupancy_pct is None else f"{row.occupancy_pct:.3g}" + ("*" if row.occupancy_source == "computed" else "")
    return (
        Cell(row.label),
        Cell(row.backend),
        Cell("" if row.kernels_per_call is None else count_text(round(row.kernels_per_call, 2))),
        Cell("" if row.gpu_ns_per_call is None else us_text(row.gpu_ns_per_call)),
        Cell("" if row.cpu_ns_per_call is None else us_text(row.cpu_ns_per_call)),
        Cell(us_text(row.exposed_ns_per_step) if row.exposed_ns_per_step else ""),
        Cell("" if row.tflop_s is None else f"{row.tflop_s:.3g}"),
        Cell(occupancy),
    )
