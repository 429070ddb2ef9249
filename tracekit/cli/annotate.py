"""``tracekit annotate``."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit.cli._options import trace_options


@click.command("annotate")
@click.argument("trace")
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), required=True, metavar="FILE", help="Where to write (gzip).")
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
@trace_options
def command(trace: str, path: Path, force: bool, step_name: str | None, taxonomy: Path | None) -> None:
    """Write a trace that shows in Perfetto what tracekit knows.

    Findings, idle time, attention and steps have tracks of their own.

    Example: tracekit annotate naive.json.gz -o naive.annotated.json.gz
    """
    from tracekit.cli._options import Output, check_output, open_analysis, say, write_file
    from tracekit.findings import find
    from tracekit.units import plural
    from tracekit.writing import annotate

    check_output(Output("json", path, force, None, None))
    analysis = open_analysis(trace, step_name, taxonomy)
    result = annotate(analysis, find(analysis))
    write_file(path, result.data)
    for notice in result.notices:
        say(notice)
    say(f"{plural(result.events, 'event')} of the original and {result.added:,} of tracekit's in {path}.")
    say("Open it at https://ui.perfetto.dev: the trace stays in your browser.")
