"""``tracekit slice``."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit.cli._options import trace_options


@click.command("slice")
@click.argument("trace")
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), required=True, metavar="FILE", help="Where to write (.gz packs).")
@click.option("--steps", metavar="N-M", help="Steps to keep: 3, 3-5 or 3,7-9, as in ProfilerStep#N.")
@click.option("--time", metavar="A:B", help="Stretch to keep, in µs from the start of the trace.")
@click.option("--drop", "without", multiple=True, metavar="CATEGORY", help="Leave out, such as python_function. May be repeated.")
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
@trace_options
def command(
    trace: str,
    path: Path,
    steps: str | None,
    time: str | None,
    without: tuple[str, ...],
    force: bool,
    step_name: str | None,
    taxonomy: Path | None,
) -> None:
    """Write a smaller trace that keeps links whole.

    Example: tracekit slice big.json.gz -o small.json.gz --steps 3-5 --drop python_function
    """
    from tracekit.cli._options import Output, check_output, open_analysis, say, write_file
    from tracekit.units import bytes_text, plural
    from tracekit.writing import cut_out, parse_part

    if steps is None and time is None and not without:
        raise click.UsageError("Say what to keep: --steps 3-5 or --time A:B; or what to leave out: --drop CATEGORY.")
    check_output(Output("json", path, force, None, None))
    analysis = open_analysis(trace, step_name, taxonomy)
    result = cut_out(analysis, parse_part(analysis, steps, time, without), gzip=path.suffix.lower() == ".gz")
    write_file(path, result.data)
    left = ", ".join(f"{count:,} {name}" for name, count in list(result.left_out.items())[:8]) or "none"
    more = len(result.left_out) - 8
    say(f"{plural(result.kept, 'event')} in {path}, {bytes_text(len(result.data))}.")
    say(f"Left out: {left}{f', and {more} categories more' if more > 0 else ''}.")
