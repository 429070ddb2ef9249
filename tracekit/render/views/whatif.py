"""The step before and after a change."""

from __future__ import annotations

from tracekit.findings import Part, Saving, WhatIf
from tracekit.render.document import Builder, Cell, Column, Document, Fit, Heading, Table, Text, Tone
from tracekit.render.views._parts import US, change, name_column, number
from tracekit.units import count_text, ns_text, pct_text, plural, us_text


def view(result: WhatIf) -> Document:
    """Return the document: what is won, the step before and after, each change alone."""
    page = Builder(title="whatif")
    page.add(Heading(f"{result.trace}: what if", 1))
    page.add(Text(_verdict(result), _tone(result.saving_ns_per_step, result.before.wall_ns)))
    rows = (
        ("step", result.before.wall_ns, result.after.wall_ns),
        ("GPU busy", result.before.gpu_busy_ns, result.after.gpu_busy_ns),
        ("GPU idle", result.before.gpu_idle_ns, result.after.gpu_idle_ns),
    )
    cells = tuple(
        (
            Cell(name),
            Cell(us_text(before)),
            Cell(us_text(after)),
            Cell(us_text(after - before, signed=True), change(after - before, result.before.wall_ns)),
        )
        for name, before, after in rows
    )
    columns = (
        Column("as recorded, per step"),
        number("before", US, drop=False),
        number("after", US, drop=False),
        number("change", US, drop=False),
    )
    page.table("Step", Table(columns, cells))
    if len(result.parts) > 1:
        page.table("Each change alone", _parts(result.parts, result.before.wall_ns))
    else:
        page.add(Text(f"Changed: {result.parts[0].means}{_events(result.parts[0])}.", Tone.MUTED))
    return page.document(result.notices)


def _verdict(result: WhatIf) -> str:
    saving, step = result.saving_ns_per_step, result.before.wall_ns
    share = pct_text(abs(saving.mid_ns) / step) if step > 0 else "–"
    if abs(saving.mid_ns) < 0.001 * step:
        return f"Nothing to speak of is won: {_range(saving)} a step."
    if saving.mid_ns > 0:
        return f"Without the profiler a step would be about {ns_text(saving.mid_ns)} ({share}) shorter: {_range(saving)}."
    return f"Without the profiler a step would be about {ns_text(-saving.mid_ns)} ({share}) longer: {_range(saving)}."


def _range(saving: Saving) -> str:
    """Return the range, the lesser change first."""
    ends = (saving.low_ns, saving.high_ns) if saving.mid_ns >= 0 else (-saving.high_ns, -saving.low_ns)
    return f"{ns_text(ends[0])} to {ns_text(ends[1])}"


def _tone(saving: Saving, step_ns: float) -> Tone:
    return change(-saving.mid_ns, step_ns)


def _events(part: Part) -> str:
    if not part.gpu_events_per_step:
        return ""
    return f" ({plural(round(part.gpu_events_per_step, 2), 'GPU event')} a step, {ns_text(part.gpu_ns_per_step)})"


def _parts(parts: tuple[Part, ...], step_ns: float) -> Table:
    columns = (
        Column("change", fit=Fit.SHRINK, least=24),
        name_column("means", least=20),
        number("GPU events", priority=2),
        number("GPU", US, 3),
        number("wins alone", US, drop=False),
    )
    rows = tuple(
        (
            Cell(part.asked),
            Cell(part.means),
            Cell(count_text(round(part.gpu_events_per_step, 2))),
            Cell(us_text(part.gpu_ns_per_step)),
            Cell(us_text(part.saving_ns_per_step.mid_ns, signed=True), _tone(part.saving_ns_per_step, step_ns)),
        )
        for part in parts
    )
    return Table(columns, rows)
