"""``tracekit ops``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tracekit.cli._options import output_options, trace_options


@click.command("ops")
@click.argument("trace")
@click.option("--by", type=click.Choice(["name", "shape", "module", "stack"]), default="name", show_default=True, help="What makes a row.")
@click.option("--tree", is_flag=True, help="Show the tree of ops, annotations and calls.")
@click.option("--limit", type=click.IntRange(0), metavar="N", default=30, show_default=True, help="Rows of a table; 0 shows all.")
@trace_options
@output_options()
def command(trace: str, step_name: str | None, taxonomy: Path | None, **given: Any) -> None:
    """List CPU ops with their host time and the GPU time they launch.

    Example: tracekit ops gpt.json.gz --by shape
    """
    from tracekit.analysis.ops import op_table
    from tracekit.cli._options import check_output, emit, open_analysis, output
    from tracekit.render.views.ops import view

    out = output(given)
    check_output(out)
    analysis = open_analysis(trace, step_name, taxonomy)
    result = op_table(analysis, by=given["by"], tree=given["tree"])
    emit(out, result, lambda: view(result, limit=given["limit"]))
