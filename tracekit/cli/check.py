"""``tracekit check``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tracekit.cli._options import output_options, trace_options


@click.command("check")
@click.argument("trace")
@click.option("--expect", "expectations", required=True, metavar="FILE", help="TOML file of what you expect.")
@trace_options
@output_options()
def command(trace: str, expectations: str, step_name: str | None, taxonomy: Path | None, **given: Any) -> int:
    """Hold a trace against what you expect of it; exit 1 if it differs.

    Example: tracekit check naive.json.gz --expect expect.toml
    """
    from tracekit.cli._options import check_output, emit, open_analysis, output
    from tracekit.expectations import evaluate, read_expectations
    from tracekit.render.views.check import view

    out = output(given)
    check_output(out)
    expected = read_expectations(expectations)
    result = evaluate(open_analysis(trace, step_name, taxonomy), expected)
    emit(out, result, lambda: view(result))
    return 1 if result.missed else 0
