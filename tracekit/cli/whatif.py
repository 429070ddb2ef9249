"""``tracekit whatif``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tracekit.cli._options import output_options, trace_options


@click.command("whatif")
@click.argument("trace")
@click.option("--remove", multiple=True, metavar="CODE", help="Mend what the report finds under this code. May be repeated.")
@click.option(
    "--scale",
    multiple=True,
    metavar="WHAT~REGEX=FACTOR",
    help="Multiply the GPU time of kernels by name (kernel~) or class (class~), or the host time of ops (op~). May be repeated.",
)
@click.option("--drop-op", "drop_ops", multiple=True, metavar="NAME", help="Leave out an op with its GPU work. May be repeated.")
@trace_options
@output_options()
def command(trace: str, step_name: str | None, taxonomy: Path | None, **given: Any) -> int:
    """Say what a step would take if something were changed.

    Example: tracekit whatif naive.json.gz --remove TK101 --scale 'kernel~softmax=0.5'
    """
    from tracekit.cli._options import check_output, emit, open_analysis, output
    from tracekit.findings import what_if
    from tracekit.render.views.whatif import view

    changes = {name: given.pop(name) for name in ("remove", "scale", "drop_ops")}
    if not any(changes.values()):
        raise click.UsageError("Say what to change: --remove CODE, --scale 'kernel~REGEX=0.5' or --drop-op NAME.")
    out = output(given)
    check_output(out)
    result = what_if(open_analysis(trace, step_name, taxonomy), **changes)
    emit(out, result, lambda: view(result))
    return 0
