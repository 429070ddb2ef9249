"""``tracekit view``."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit.cli._options import trace_options


@click.command("view")
@click.argument("traces", nargs=-1, required=True, metavar="TRACE | --diff A B")
@click.option("--diff", "is_diff", is_flag=True, help="Two traces: aligned, differences marked, attention joined.")
@click.option("--plain", is_flag=True, help="Show the file as it is, without tracekit's tracks.")
@click.option("--online", is_flag=True, help="Let the page of ui.perfetto.dev show it; the trace stays in the browser.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen.  [default: a free port]")
@click.option("--no-browser", is_flag=True, help="Only say what to open.")
@trace_options
def command(
    traces: tuple[str, ...],
    is_diff: bool,
    plain: bool,
    online: bool,
    port: int,
    no_browser: bool,
    step_name: str | None,
    taxonomy: Path | None,
) -> None:
    """Open a trace in the Perfetto UI on this machine, offline.

    Example: tracekit view naive.json.gz
    """
    import contextlib
    import os
    import webbrowser

    from tracekit.cli._options import annotated, say
    from tracekit.writing import as_it_is, serve, too_big, ui_folder

    if not online:
        ui_folder()
    if plain and (is_diff or len(traces) != 1):
        raise click.UsageError("--plain shows one trace.")
    if plain:
        data, focus = as_it_is(traces[0]), None
    else:
        made = annotated(traces, is_diff, step_name, taxonomy)
        data, focus = made.data, made.focus
        for notice in made.notices:
            say(notice)
    if warning := too_big(data):
        say(warning)
    viewer = serve(data, annotated=not plain, is_diff=is_diff, focus=focus, online=online, port=port)
    came_up = not no_browser and webbrowser.open(viewer.url)
    say(f"{'opened' if came_up else 'open this in a browser'}: {viewer.url}")
    if os.environ.get("SSH_CONNECTION") or not came_up:
        say(f"from another machine, forward the port first: ssh -L {viewer.port}:127.0.0.1:{viewer.port} HOST")
    say("Ctrl-C stops the server; so does half an hour without a request.")
    with contextlib.suppress(KeyboardInterrupt):
        viewer.wait()
