"""``tracekit repair``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("repair")
@click.argument("trace")
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), required=True, metavar="FILE", help="Where to write (.gz packs).")
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
def command(trace: str, path: Path, force: bool) -> None:
    """Write a damaged trace anew, as strict JSON.

    Sound events stay byte for byte as they are.

    Example: tracekit repair cut.json.gz -o mended.json.gz
    """
    from tracekit.cli._options import Output, check_output, progress_bar, say, write_file
    from tracekit.units import plural
    from tracekit.writing import repaired

    check_output(Output("json", path, force, None, None))
    with progress_bar(trace) as tell:
        result = repaired(trace, gzip=path.suffix.lower() == ".gz", progress=tell)
    write_file(path, result.data)
    say(f"{plural(result.kept, 'event')} in {path}, {result.as_they_stood:,} of them as they stood.")
    for words, counts in (("Mended", result.repaired), ("Lost", result.dropped)):
        if counts:
            say(f"{words}: {', '.join(f'{n:,} {reason.value.replace(chr(95), chr(32))}' for reason, n in counts.items())}.")
    if not result.repaired and not result.dropped:
        say("Nothing needed mending.")
