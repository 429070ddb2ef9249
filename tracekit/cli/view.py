"""``tracekit view``."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit.cli._options import trace_options


@click.command("view")
@click.argument("trace")
@click.option("--plain", is_flag=True, help="Show the file as it is, without tracekit's tracks.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen.  [default: a free port]")
@click.option("--no-browser", is_flag=True, help="Only say what to open.")
@trace_options
def command(trace: str, plain: bool, port: int, no_browser: bool, step_name: str | None, taxonomy: Path | None) -> None:
    """Open a trace in the Perfetto UI on this machine, offline.

    Example: tracekit view naive.json.gz
    """
    import contextlib
    import os
    import webbrowser

    from tracekit.cli._options import open_analysis, say
    from tracekit.findings import find
    from tracekit.writing import annotate, as_it_is, serve, ui_folder

    ui_folder()
    if plain:
        data = as_it_is(trace)
    else:
        analysis = open_analysis(trace, step_name, taxonomy)
        data = annotate(analysis, find(analysis)).data
    viewer = serve(data, annotated=not plain, port=port)
    say(f"open {viewer.url.split('#')[0].split('?')[0]} in a browser, if none comes up: {viewer.url}")
    if os.environ.get("SSH_CONNECTION"):
        say(f"over ssh, forward the port first: ssh -L {viewer.port}:127.0.0.1:{viewer.port} HOST")
    say("Ctrl-C stops the server.")
    if not no_browser:
        webbrowser.open(viewer.url)
    with contextlib.suppress(KeyboardInterrupt):
        viewer.wait()
