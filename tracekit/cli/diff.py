"""``tracekit diff``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tracekit.cli._options import output_options, trace_options


@click.command("diff")
@click.argument("a")
@click.argument("b")
@click.argument("more", nargs=-1)
@click.option("--limit", type=click.IntRange(0), metavar="N", default=15, show_default=True, help="Rows of each table; 0 shows all.")
@click.option(
    "--fail-if",
    "gates",
    multiple=True,
    metavar="CONDITION",
    help="Exit 1 if so, and it is more than noise: 'step_us > +3%'. May be repeated.",
)
@trace_options
@output_options()
def command(a: str, b: str, more: tuple[str, ...], step_name: str | None, taxonomy: Path | None, **given: Any) -> int:
    """Say what changed from trace A to trace B, per step, and why.

    With more traces: a table of all, each against A.

    Example: tracekit diff naive.json.gz sdpa_math.json.gz
    """
    from tracekit.cli._options import check_output, emit, open_analysis, output, say
    from tracekit.diff import compare, compare_variants, failed, parse_gate
    from tracekit.render.views import diff, variants

    conditions = [parse_gate(text) for text in given.pop("gates")]
    limit, out = given.pop("limit"), output(given)
    check_output(out)
    paths = (a, b, *more)
    if paths.count("-") > 1:
        raise click.UsageError("Only one of the traces can be standard input.")
    if more and conditions:
        raise click.UsageError("--fail-if compares two traces.")
    analyses = [open_analysis(path, step_name, taxonomy) for path in paths]
    if more:
        table = compare_variants(analyses)
        emit(out, table, lambda: variants.view(table))
        return 0
    result = compare(*analyses)
    emit(out, result, lambda: diff.view(result, limit=limit))
    reasons = [reason for condition in conditions if (reason := failed(condition, result))]
    for reason in reasons:
        say(reason)
    return int(bool(reasons))
