"""The critical path of a step."""

from __future__ import annotations

from tracekit.analysis.critical import Critical, PathRow
from tracekit.kernels import short_names
from tracekit.render.document import Builder, Cell, Column, Document, Fit, Heading, Notice, Table, Text, Tone
from tracekit.render.views._parts import US, bar, limited, number
from tracekit.units import count_text, ns_text, pct_text, us_text

_WORDS = {
    "gpu": "GPU",
    "gap": "GPU gap",
    "latency": "launch latency",
    "after": "after the last",
    "op": "op",
    "runtime": "call",
    "sync": "sync",
    "python": "python",
    "annotation": "annotation",
    "no_host_event": "host",
    "queue": "queue",
    "unlinked": "unlinked",
}
_NAMELESS = {
    "gap": "between two GPU events",
    "latency": "from the launch to the start on the GPU",
    "after": "the step's mark goes on",
    "no_host_event": "nothing recorded",
}
_SHORT = 60

LEAST_SHARE = 0.0005
"""Less of the step isn't worth a word."""


def view(result: Critical, limit: int = 20) -> Document:
    """Return the document: what the step hangs on, then what is on its path."""
    page = Builder(title="critical")
    page.add(Heading(f"{result.trace}: critical path of {result.step}", 1))
    page.add(Text(_verdict(result)))
    if result.hidden_gpu_ns:
        page.add(
            Text(
                f"{ns_text(result.hidden_gpu_ns)} of the step's GPU work isn't on the path: it could be faster without the step getting shorter.",
                Tone.MUTED,
            )
        )
    count, note = limited(result.rows, limit, "rows")
    kernels = short_names([row.name for row in result.rows if row.kind == "gpu"], _SHORT)
    columns = (
        Column("what"),
        Column("name", fit=Fit.SHRINK, least=24),
        number("count", priority=3),
        number("time", US, drop=False),
        number("of step", "%", drop=False),
        bar(),
    )
    rows = tuple(_cells(row, result.wall_ns, kernels.get(row.name, row.name)) for row in result.rows[:count])
    page.table("On the path", Table(columns, rows))
    if note:
        page.add(Notice(note))
    return page.document(result.notices)


def _verdict(result: Critical) -> str:
    parts = (("GPU work", result.gpu_ns), ("the host", result.host_ns), ("the queue between them", result.queue_ns))
    said = sorted(parts, key=lambda part: -part[1])
    shares = ", ".join(f"{name} {pct_text(ns / result.wall_ns)} ({ns_text(ns)})" for name, ns in said if ns >= LEAST_SHARE * result.wall_ns)
    return f"The step's {ns_text(result.wall_ns)} hang on {shares}."


def _cells(row: PathRow, wall_ns: int, name: str) -> tuple[Cell, ...]:
    share = row.ns / wall_ns
    return (
        Cell(_WORDS[row.kind], Tone.MUTED),
        Cell(name or _NAMELESS.get(row.kind, "")),
        Cell(count_text(row.count)),
        Cell(us_text(row.ns)),
        Cell(f"{100 * share:.1f}"),
        Cell("", share=share),
    )
