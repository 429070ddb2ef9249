"""``tracekit report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tracekit.cli._options import output_options, trace_options

SEVERITIES = ("info", "warning", "error")


@click.command("report")
@click.argument("trace")
@click.option("--select", multiple=True, metavar="CODE", help="Ask only these rules; TK1 means all that begin so. May be repeated.")
@click.option("--ignore", multiple=True, metavar="CODE", help="Leave these rules out. May be repeated.")
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit 1 if a finding is at least so bad.")
@trace_options
@output_options()
def command(trace: str, step_name: str | None, taxonomy: Path | None, **given: Any) -> int:
    """Say what is wrong, what it costs and what to change.

    Example: tracekit report naive.json.gz --fail-on warning
    """
    from tracekit.cli._options import check_output, emit, open_analysis, output
    from tracekit.findings import find
    from tracekit.render.views.report import joined, view
    from tracekit.render.views.summary import view as summary_view

    select, ignore, fail_on = given.pop("select"), given.pop("ignore"), given.pop("fail_on")
    out = output(given)
    check_output(out)
    analysis = open_analysis(trace, step_name, taxonomy)
    result = find(analysis, select=select, ignore=ignore)
    # A page has room for what the findings rest on; a terminal is left with the findings.
    emit(out, result, lambda: joined(view(result), summary_view(analysis.summary)) if out.format == "html" else view(result))
    if fail_on is None:
        return 0
    return int(any(SEVERITIES.index(one.severity) >= SEVERITIES.index(fail_on) for one in result.findings))
