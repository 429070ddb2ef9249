"""``tracekit critical``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tracekit.cli._options import output_options, trace_options


@click.command("critical")
@click.argument("trace")
@click.option("--nth", type=click.IntRange(0), metavar="N", help="Which step, counted from 0.  [default: the one of median time]")
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, metavar="N", help="Rows shown; 0 for all.")
@trace_options
@output_options()
def command(trace: str, nth: int | None, limit: int, step_name: str | None, taxonomy: Path | None, **given: Any) -> int:
    """Say what a step's length hangs on: its critical path.

    Example: tracekit critical gpt.json.gz
    """
    from tracekit.analysis.critical import critical_path
    from tracekit.cli._options import check_output, emit, open_analysis, output
    from tracekit.render.views.critical import view

    out = output(given)
    check_output(out)
    result = critical_path(open_analysis(trace, step_name, taxonomy), nth)
    emit(out, result, lambda: view(result, limit))
    return 0
