"""``tracekit annotate``."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit.cli._options import trace_options


@click.command("annotate")
@click.argument("traces", nargs=-1, required=True, metavar="TRACE | --diff A B")
@click.option("--diff", "is_diff", is_flag=True, help="Two traces in one file: aligned, differences marked, attention joined.")
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), required=True, metavar="FILE", help="Where to write (gzip).")
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
@trace_options
def command(traces: tuple[str, ...], is_diff: bool, path: Path, force: bool, step_name: str | None, taxonomy: Path | None) -> None:
    """Write a trace that shows in Perfetto what tracekit knows.

    Findings, idle time, attention and steps have tracks of their own.

    Example: tracekit annotate naive.json.gz -o naive.annotated.json.gz
    """
    from tracekit.cli._options import Output, annotated, check_output, say, write_file
    from tracekit.units import plural

    check_output(Output("json", path, force, None, None))
    result = annotated(traces, is_diff, step_name, taxonomy)
    write_file(path, result.data)
    for notice in result.notices:
        say(notice)
    say(f"{plural(result.events, 'event')} of the original{'s' if is_diff else ''} and {result.added:,} of tracekit's in {path}.")
    say("Open it at https://ui.perfetto.dev: the trace stays in your browser.")
