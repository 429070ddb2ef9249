"""``tracekit view``."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit.cli._options import trace_options


@click.command("view")
@click.argument("traces", nargs=-1, required=True, metavar="TRACE | --diff A B")
@click.option("--diff", "is_diff", is_flag=True, help="Two traces: aligned, differences marked, attention joined.")
@click.option("--plain", is_flag=True, help="Show the file as it is, without tracekit's tracks.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen.  [default: a free port]")
@click.option("--no-browser", is_flag=True, help="Only say what to open.")
@trace_options
def command(
    traces: tuple[str, ...], is_diff: bool, plain: bool, port: int, no_browser: bool, step_name: str | None, taxonomy: Path | None
) -> None:
    """Open a trace in the Perfetto UI on this machine, offline.

    Example: tracekit view naive.json.gz
    """
    import contextlib
    import os
    import webbrowser

    from tracekit.cli._options import annotated, say
    from tracekit.writing import as_it_is, serve, ui_folder

    ui_folder()
    if plain and (is_diff or len(traces) != 1):
        raise click.UsageError("--plain shows one trace.")
    data = as_it_is(traces[0]) if plain else annotated(traces, is_diff, step_name, taxonomy).data
    viewer = serve(data, annotated=not plain, port=port)
    say(f"open {viewer.url.split('#')[0].split('?')[0]} in a browser, if none comes up: {viewer.url}")
    if os.environ.get("SSH_CONNECTION"):
        say(f"over ssh, forward the port first: ssh -L {viewer.port}:127.0.0.1:{viewer.port} HOST")
    say("Ctrl-C stops the server.")
    if not no_browser:
        webbrowser.open(viewer.url)
    with contextlib.suppress(KeyboardInterrupt):
        viewer.wait()
