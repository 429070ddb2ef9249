"""``tracekit links``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tracekit.cli._options import output_options, trace_options


@click.command("links")
@click.argument("trace")
@click.option("--limit", type=click.IntRange(0), metavar="N", default=50, show_default=True, help="Rows of a table; 0 shows all.")
@trace_options
@output_options()
def command(trace: str, step_name: str | None, taxonomy: Path | None, **given: Any) -> None:
    """List every GPU event with its launch, op and step.

    Example: tracekit links naive.json.gz --format csv
    """
    from tracekit.analysis.launches import link_table
    from tracekit.cli._options import check_output, emit, open_analysis, output
    from tracekit.render.views.links import view

    out = output(given)
    check_output(out)
    analysis = open_analysis(trace, step_name, taxonomy)
    result = link_table(analysis)
    emit(out, result, lambda: view(result, limit=given["limit"]))
