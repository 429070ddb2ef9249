"""``tracekit query``."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import click

from tracekit.cli._options import output_options, trace_options


@click.command("query")
@click.argument("trace")
@click.argument("sql")
@click.option("--limit", type=click.IntRange(0), metavar="N", default=100, show_default=True, help="Rows of a table; 0 shows all.")
@trace_options
@output_options(("table", "json", "csv", "parquet"))
def command(trace: str, sql: str, limit: int, step_name: str | None, taxonomy: Path | None, **given: Any) -> None:
    """Ask a trace in SQL (DuckDB).

    Tables: slices, gpu, launches, links, steps, args.

    Example: tracekit query naive.json.gz "select name, sum(dur_ns) / 1e3 us from gpu group by 1 order by 2 desc"
    """
    from tracekit.cli._options import check_output, emit, open_analysis, output, say, write_beside, write_text
    from tracekit.query import query, to_parquet
    from tracekit.render.views.query import view
    from tracekit.units import plural

    out = output(given)
    check_output(out)
    if out.format == "parquet" and out.path is None:
        raise click.UsageError("Parquet is no text: give -o FILE.")
    analysis = open_analysis(trace, step_name, taxonomy)
    if out.format == "parquet" and out.path is not None:
        count = write_beside(out.path, lambda beside: to_parquet(analysis, sql, beside))
        say(f"{plural(count, 'row')} in {out.path}.")
        return
    result = query(analysis, sql)
    if out.format == "csv":
        from tracekit.render.formats.csv import write_rows

        stream = io.StringIO()
        write_rows(result.columns, result.rows, stream)
        write_text(out, stream.getvalue())
        return
    emit(out, result, lambda: view(result, limit=limit))
