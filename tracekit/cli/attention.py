"""``tracekit attention``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tracekit.cli._options import output_options, trace_options


@click.command("attention")
@click.argument("trace")
@click.option("--limit", type=click.IntRange(0), metavar="N", default=30, show_default=True, help="Calls of a table; 0 shows all.")
@trace_options
@output_options()
def command(trace: str, step_name: str | None, taxonomy: Path | None, **given: Any) -> None:
    """List every attention call: backend, stages, shapes.

    Example: tracekit attention sdpa_math.json.gz
    """
    from tracekit.cli._options import check_output, emit, open_analysis, output
    from tracekit.render.views.attention import view

    out = output(given)
    check_output(out)
    analysis = open_analysis(trace, step_name, taxonomy)
    emit(out, analysis.attention, lambda: view(analysis.attention, limit=given["limit"]))
