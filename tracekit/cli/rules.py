"""``tracekit rules``."""

from __future__ import annotations

from typing import Any

import click

from tracekit.cli._options import output_options


@click.command("rules")
@click.argument("code", required=False)
@output_options(("table", "json", "md", "html"))
def command(code: str | None, **given: Any) -> None:
    """List the rules of the report, or explain one.

    Example: tracekit rules TK101
    """
    from tracekit.cli._options import check_output, emit, output
    from tracekit.findings import explain
    from tracekit.render.views.rules import view

    out = output(given)
    check_output(out)
    result = explain(code)
    emit(out, result, lambda: view(result))
