"""What the commands share: their options, reading a trace with progress, writing a result."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tracekit.analysis import Analysis
    from tracekit.render.document import Document
    from tracekit.writing import Annotated

Command = TypeVar("Command", bound=Callable[..., Any])
Result = TypeVar("Result")

FORMATS = ("table", "json", "csv", "md", "html")
_SUFFIXES = {
    ".json": "json",
    ".csv": "csv",
    ".md": "md",
    ".markdown": "md",
    ".html": "html",
    ".htm": "html",
    ".sarif": "sarif",
    ".parquet": "parquet",
}
_NARROWEST, _USUAL, _WIDEST = 40, 100, 200
_PROGRESS_AFTER_S = 1.0
_NO_CACHE = "tracekit.no_cache"


@dataclass(frozen=True)
class Output:
    """Where and how a result is written."""

    format: str
    path: Path | None
    force: bool
    width: int | None
    colour: bool | None


def trace_options(command: Command) -> Command:
    """Add the options of a command that reads traces."""
    for option in (
        click.option(
            "--no-cache", is_flag=True, expose_value=False, callback=_no_cache, help="Read the file itself, and keep nothing of it."
        ),
        click.option("--taxonomy", type=click.Path(path_type=Path), metavar="FILE", help="Kernel classes of your own, before tracekit's."),
        click.option("--step", "step_name", metavar="NAME", help="Annotation that marks a step.  [default: ProfilerStep#N]"),
    ):
        command = option(command)
    return command


def _no_cache(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[_NO_CACHE] = value


def output_options(formats: tuple[str, ...] = FORMATS) -> Callable[[Command], Command]:
    """Return what adds the options of a command that writes a result."""

    def add(command: Command) -> Command:
        for option in (
            click.option("--color/--no-color", "colour", default=None, help="Colours.  [default: on a terminal]"),
            click.option("--width", type=click.IntRange(_NARROWEST), metavar="N", help="Characters of a line.  [default: the terminal's]"),
            click.option("--force", is_flag=True, help="Overwrite an existing output."),
            click.option("-o", "--output", "path", type=click.Path(path_type=Path), metavar="FILE", help="Write there instead."),
            click.option("--format", "format_", type=click.Choice(formats), help="[default: table, or what the output's suffix says]"),
        ):
            command = option(command)
        return command

    return add


def output(given: dict[str, Any]) -> Output:
    """Return the output that the options ask for, taken out of a command's arguments."""
    path, format_ = given.pop("path"), given.pop("format_")
    if format_ is None:
        format_ = _SUFFIXES.get(path.suffix.lower(), "table") if path else "table"
        context = click.get_current_context()
        choices = next(p.type.choices for p in context.command.params if p.name == "format_" and isinstance(p.type, click.Choice))
        if format_ not in choices:
            raise click.UsageError(f"{context.info_name} writes no {format_}: give --format {', '.join(choices)}.", context)
    return Output(format_, path, given.pop("force"), given.pop("width"), given.pop("colour"))


def open_analysis(path: str, step_name: str | None, taxonomy: Path | None) -> Analysis:
    """Read a trace, with a progress bar on stderr where it takes long and somebody watches."""
    from tracekit.analysis import analyze
    from tracekit.kernels import load_taxonomy
    from tracekit.reading import load, load_cached

    table = load_taxonomy(taxonomy) if taxonomy else None
    read = load if click.get_current_context().meta.get(_NO_CACHE) else load_cached
    with progress_bar(path) as tell:
        return analyze(read(path, progress=tell), step_name=step_name, taxonomy=table)


def annotated(paths: Sequence[str], is_diff: bool, step_name: str | None, taxonomy: Path | None) -> Annotated:
    """Annotate one trace, or two in one file."""
    from tracekit.findings import find
    from tracekit.writing import annotate, annotate_both

    if len(paths) != (2 if is_diff else 1):
        raise click.UsageError("Give two traces after --diff." if is_diff else "Give one trace; or two after --diff.")
    analyses = [open_analysis(path, step_name, taxonomy) for path in paths]
    return annotate_both(*analyses) if is_diff else annotate(analyses[0], find(analyses[0]))


@contextlib.contextmanager
def progress_bar(path: str) -> Iterator[Callable[[int, int], None] | None]:
    """Give what to tell of bytes read, or None where nobody watches."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    begin, shown = time.monotonic(), False

    def tell(done: int, total: int) -> None:
        nonlocal shown
        if time.monotonic() - begin > _PROGRESS_AFTER_S and total:
            from tracekit.errors import escape_control

            shown = True
            cells = int(30 * min(done / total, 1.0))
            sys.stderr.write(f"\r\x1b[Kreading {escape_control(path)[-40:]} {'█' * cells}{'░' * (30 - cells)} {100 * done // total} %")
            sys.stderr.flush()

    try:
        yield tell
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def check_output(out: Output) -> None:
    """Refuse an output that would be lost, before anything is read.

    Raises:
        OutputError: It exists and ``--force`` isn't given, or its folder doesn't exist.
    """
    from tracekit.errors import OutputError

    if out.path is None:
        return
    if out.path.is_dir():
        raise OutputError(str(out.path), "is a folder", "Name a file.")
    if out.path.is_file() and not out.force:
        raise OutputError(str(out.path), "exists", "Give another name, or --force to overwrite it.")
    if not out.path.resolve().parent.is_dir():
        raise OutputError(str(out.path), "its folder doesn't exist", "Make the folder first.")


def emit(out: Output, result: Any, view: Callable[[], Document]) -> None:
    """Write a result: itself as JSON or CSV, its document as a table or Markdown. Notices of the former go to stderr."""
    from tracekit.render import formats

    module = formats.named(out.format)
    if module.TAKES == "result":
        text = _text(module, result, out)
        for notice in getattr(result, "notices", ()):
            say(notice)
    else:
        text = _text(module, view(), out)
    write_text(out, text)


def say(notice: str) -> None:
    """Tell something on stderr."""
    from tracekit.errors import escape_control

    click.echo(f"note: {escape_control(notice)}", err=True)


def _text(module: Any, what: Any, out: Output) -> str:
    from tracekit.render.formats import Page

    stream = io.StringIO()
    module.write(what, stream, Page(_width(out), _colour(out)))
    return stream.getvalue()


def _width(out: Output) -> int:
    if out.width:
        return out.width
    if out.path is None and _on_terminal():
        return min(max(shutil.get_terminal_size((_USUAL, 24)).columns, _NARROWEST), _WIDEST)
    return int(os.environ.get("COLUMNS", "0") or 0) or _USUAL if os.environ.get("COLUMNS", "").isdigit() else _USUAL


def _on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _colour(out: Output) -> bool:
    if out.path is not None:
        return False
    if out.colour is not None:
        return out.colour
    return _on_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write_text(out: Output, text: str) -> None:
    """Write text to the output: beside it first and then renamed, so that a half-written file never stands in its place."""
    if out.path is None:
        _to_stdout(text.encode("utf-8", errors="backslashreplace"))
        return
    write_file(out.path, text.encode("utf-8", errors="backslashreplace"))


def _to_stdout(data: bytes) -> None:
    """Write to standard output, which may be full or closed.

    Raises:
        OutputError: It can't be written.
        BrokenPipeError: Who reads it has gone.
    """
    from tracekit.errors import OutputError

    if sys.stdout is None:
        raise OutputError("standard output", "is closed", "Give -o FILE.")
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is left in the buffer would fail again, and loudly, when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputError("standard output", f"can't be written: {error.strerror or error}", "Make room, or give -o FILE.") from error


def write_file(path: Path, data: bytes) -> None:
    """Write a file beside its place and rename it; a device or pipe is written to as it is.

    Raises:
        OutputError: It can't be written.
    """
    from tracekit.errors import OutputError

    if path.exists() and not path.is_file():
        # A device or a pipe (/dev/null, /dev/stdout) is written to; renaming over it would replace it by a file.
        try:
            path.write_bytes(data)
        except OSError as error:
            raise OutputError(str(path), f"can't be written: {error.strerror or error}", "Check its permissions.") from error
        return
    write_beside(path, lambda beside: beside.write_bytes(data))


def write_beside(path: Path, write: Callable[[Path], Result]) -> Result:
    """Let something write a file beside its place, then rename it, so that a half-written file never stands there.

    Raises:
        OutputError: It can't be written.
    """
    from tracekit.errors import OutputError

    beside = path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
    try:
        result = write(beside)
        beside.replace(path)
    except OSError as error:
        raise OutputError(str(path), f"can't be written: {error.strerror or error}", "Check the folder and its permissions.") from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
    return result
