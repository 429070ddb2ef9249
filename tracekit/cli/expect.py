"""``tracekit expect``."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit.cli._options import trace_options


@click.command("expect")
@click.argument("trace")
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), metavar="FILE", help="Write there instead.")
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
@trace_options
def command(trace: str, path: Path | None, force: bool, step_name: str | None, taxonomy: Path | None) -> None:
    """Draft a file of expectations from a trace, for you to edit.

    Example: tracekit expect naive.json.gz -o expect.toml
    """
    from tracekit.cli._options import Output, check_output, open_analysis, write_text
    from tracekit.expectations import draft

    out = Output("toml", path, force, None, None)
    check_output(out)
    write_text(out, draft(open_analysis(trace, step_name, taxonomy)))
