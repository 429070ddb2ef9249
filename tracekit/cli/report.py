"""``tracekit report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tracekit.cli._options import FORMATS, output_options, trace_options

SEVERITIES = ("info", "warning", "error")


@click.command("report")
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--select", multiple=True, metavar="CODE", help="Ask only these rules; TK1 means all that begin so. May be repeated.")
@click.option("--ignore", multiple=True, metavar="CODE", help="Leave these rules out. May be repeated.")
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit 1 if a finding is at least so bad.")
@trace_options
@output_options((*FORMATS, "sarif"))
def command(traces: tuple[str, ...], step_name: str | None, taxonomy: Path | None, **given: Any) -> int:
    """Say what is wrong, what it costs and what to change.

    Several traces get an overview first.

    Example: tracekit report naive.json.gz --fail-on warning
    """
    from tracekit.cli._options import check_output, emit, open_analysis, output
    from tracekit.findings import details, find, together
    from tracekit.render.views import report

    select, ignore, fail_on = given.pop("select"), given.pop("ignore"), given.pop("fail_on")
    out = output(given)
    check_output(out)
    if traces.count("-") > 1:
        raise click.UsageError("Only one of the traces can be standard input.")
    analyses = [open_analysis(path, step_name, taxonomy) for path in traces]
    found = [find(analysis, select=select, ignore=ignore) for analysis in analyses]
    # A page has room for what the findings rest on; a terminal is left with the findings.
    behind = [details(*each) if out.format == "html" else None for each in zip(analyses, found, strict=True)]
    if len(found) == 1 and out.format != "sarif":
        emit(out, found[0], lambda: report.page(found[0], behind[0]))
    else:
        result = together(analyses, found)
        emit(out, result, lambda: report.overview(result, behind))
    worst = max((SEVERITIES.index(finding.severity) for one in found for finding in one.findings), default=-1)
    return int(fail_on is not None and worst >= SEVERITIES.index(fail_on))
