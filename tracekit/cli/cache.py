"""``tracekit cache``."""

from __future__ import annotations

import click


@click.command("cache")
@click.argument("what", type=click.Choice(["info", "clear"]), default="info")
def command(what: str) -> None:
    """Show or clear what is kept of big traces.

    Files above 48 MiB (packed ones above 4 MiB) are read once; the next command starts from their columns, found again by a hash of the file.

    Example: tracekit cache clear
    """
    from tracekit.errors import escape_control
    from tracekit.reading.cache import MOST_BYTES, clear, folder, held
    from tracekit.units import bytes_text, plural

    count, size = clear() if what == "clear" else held()
    said = "deleted from" if what == "clear" else "in"
    limit = "" if what == "clear" else f" of {bytes_text(MOST_BYTES)} at most"
    click.echo(f"{plural(count, 'trace')} {said} {escape_control(str(folder()))}, {bytes_text(size)}{limit}")
