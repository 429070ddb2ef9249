"""The table of ops, and their tree."""

from __future__ import annotations

from tracekit.analysis.ops import OpRow, Ops
from tracekit.render.document import Builder, Cell, Column, Document, Fit, Heading, Table, cut_end, cut_start
from tracekit.render.views._parts import LIMIT, US, limited, name_column, number
from tracekit.units import ns_text, plural, us_text

_TINY = 0.005  # of the time of all roots: a node of the tree below this is left out


def view(result: Ops, *, limit: int = 30, more: str = LIMIT) -> Document:
    """Return the document: ops by self GPU time, then by self host time."""
    page = Builder(title="ops")
    what = "Tree of ops, annotations and calls" if result.tree else "Ops"
    page.add(Heading(f"{what}, whole trace of {plural(result.steps, 'step')}", 1))
    page.add(_tree(result, limit) if result.tree else _table(result, limit, more))
    return page.document(result.notices)


def _table(result: Ops, limit: int, more: str) -> Table:
    extra = {"shape": "shapes", "module": "module", "stack": "stack"}.get(result.by)
    columns: list[Column] = [name_column("op")]
    if extra:
        columns.append(Column(extra, fit=Fit.SHRINK, least=16, shorten=cut_end if extra == "shapes" else cut_start))
    columns += [
        number("calls", priority=7),
        number("self GPU", US, drop=False),
        number("GPU", US, 6),
        number("self CPU", US, drop=False),
        number("CPU", US, 5),
        number("opaque CPU", US, 4),
        number("exposed", US, 3),
    ]
    count, note = limited(result.ops, limit, "ops", more)
    rows = tuple(_row(row, extra) for row in result.ops[:count])
    explained = f"opaque: self time beyond four usual dispatches of {ns_text(result.dispatch_ns)}; exposed: GPU idle time charged to the op"
    return Table(tuple(columns), rows, f"{note}. {explained}" if note else explained, "no ops were recorded")


def _row(row: OpRow, extra: str | None) -> tuple[Cell, ...]:
    cells = [Cell(row.name)]
    if extra:
        cells.append(Cell(getattr(row, extra) or ""))
    times = (row.self_gpu_ns, row.gpu_ns, row.self_cpu_ns, row.cpu_ns, row.opaque_cpu_ns, row.exposed_ns)
    return (*cells, Cell(f"{row.calls:,}"), *(Cell(us_text(ns) if ns else "") for ns in times))


def _tree(result: Ops, limit: int) -> Table:
    """Return the tree without what takes next to nothing. A node takes no more than its parent, so that whole branches go."""
    cpu, gpu = (sum(values) for values in zip(*((node.cpu_ns, node.gpu_ns) for node in result.tree if not node.depth), strict=True))
    nodes = [node for node in result.tree if not limit or node.cpu_ns >= _TINY * cpu or node.gpu_ns > _TINY * gpu]
    hidden = len(result.tree) - len(nodes)
    note = f"{plural(hidden, 'node')} of less than {100 * _TINY:g} % of the time left out; --limit 0 shows all" if hidden else ""
    columns = (
        name_column("op"),
        number("calls", priority=5),
        number("GPU", US, drop=False),
        number("self GPU", US, 4),
        number("CPU", US, drop=False),
        number("self CPU", US, 3),
    )
    rows = tuple(
        (
            Cell(node.name, indent=node.depth),
            Cell(f"{node.calls:,}"),
            *(Cell(us_text(ns) if ns else "") for ns in (node.gpu_ns, node.self_gpu_ns, node.cpu_ns, node.self_cpu_ns)),
        )
        for node in nodes
    )
    return Table(columns, rows, note)
