"""``tracekit summary``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tracekit.cli._options import output_options, trace_options


@click.command("summary")
@click.argument("trace")
@trace_options
@output_options()
def command(trace: str, step_name: str | None, taxonomy: Path | None, **given: Any) -> None:
    """Say in one page what a trace shows.

    Verdict, steps, busy and idle time, kernel classes, attention.

    Example: tracekit summary naive.json.gz
    """
    from tracekit.cli._options import check_output, emit, open_analysis, output
    from tracekit.render.views.summary import view

    out = output(given)
    check_output(out)
    analysis = open_analysis(trace, step_name, taxonomy)
    emit(out, analysis.summary, lambda: view(analysis.summary))
