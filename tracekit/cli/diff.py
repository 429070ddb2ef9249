"""``tracekit diff``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tracekit.cli._options import output_options, trace_options


@click.command("diff")
@click.argument("a")
@click.argument("b")
@click.option("--limit", type=click.IntRange(0), default=15, show_default=True, help="Rows of each table; 0 shows all.")
@trace_options
@output_options()
def command(a: str, b: str, step_name: str | None, taxonomy: Path | None, **given: Any) -> None:
    """Say what changed from trace A to trace B, per step, and why.

    Example: tracekit diff naive.json.gz sdpa_math.json.gz
    """
    from tracekit.cli._options import check_output, emit, open_analysis, output
    from tracekit.diff import compare
    from tracekit.render.views.diff import view

    out = output(given)
    check_output(out)
    if a == "-" and b == "-":
        raise click.UsageError("Only one of the traces can be standard input.")
    result = compare(open_analysis(a, step_name, taxonomy), open_analysis(b, step_name, taxonomy))
    emit(out, result, lambda: view(result, limit=given["limit"]))
