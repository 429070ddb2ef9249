"""The command line: a module of this folder is a command, loaded when it is called. The one place that turns an error into a line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import click

BUG = 70  # what sysexits.h calls an internal software error
INTERRUPTED = 130


class Commands(click.Group):
    """A group whose commands are the modules of this folder."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands' names; loads none."""
        return sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, loading its module."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in the order of use."""
        rows = [(name, command.get_short_help_str(70)) for name in _ORDER if (command := self.get_command(ctx, name))]
        rest = [
            (name, command.get_short_help_str(70))
            for name in self.list_commands(ctx)
            if name not in _ORDER and (command := self.get_command(ctx, name))
        ]
        with formatter.section("Commands"):
            formatter.write_dl([*rows, *rest])


_ORDER = (
    "summary",
    "diff",
    "report",
    "whatif",
    "critical",
    "attention",
    "ops",
    "kernels",
    "links",
    "expect",
    "check",
    "rules",
    "annotate",
    "view",
    "slice",
    "repair",
    "query",
    "cache",
)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"tracekit {version('tracekit')}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
def group() -> None:
    """Says what a PyTorch GPU trace shows, and what changed between two.

    TRACE is a Chrome trace of torch.profiler: plain, .gz or .zip; - is standard input.

    Example: tracekit diff naive.json.gz sdpa_math.json.gz
    """


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 a gate failed, 2 bad input or usage, 70 a bug of ours, 130 interrupted."""
    given = list(sys.argv[1:] if args is None else args)
    debug = "--debug" in given
    # The option may stand anywhere: who sees an error adds it at the end.
    sys.exit(_run([arg for arg in given if arg != "--debug"], debug))


def _run(given: list[str], debug: bool) -> int:
    from tracekit.errors import TracekitError, escape_control

    try:
        result: Any = group.main(given, prog_name="tracekit", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Abort:
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return error.exit_code
    except click.ClickException as error:
        return _usage(error)
    except (BrokenPipeError, SystemExit):
        # Who reads the output has seen enough; click makes a SystemExit of that. Python would complain again when it closes stdout.
        _drop_output()
        return 0
    except TracekitError as error:
        if debug:
            raise
        _complain(error.line())
        return error.exit_code
    except OSError as error:
        if debug:
            raise
        _drop_output()
        _complain(f"{escape_control(str(error.filename or 'standard output'))}: {error.strerror or error}.")
        return TracekitError.exit_code
    except Exception as error:
        if debug:
            raise
        _complain(
            f"a bug of tracekit: {type(error).__name__}: {escape_control(str(error))[:300]}. Run again with --debug and report what it shows."
        )
        return BUG


def _drop_output() -> None:
    """Let what is still in the buffer of standard output go nowhere."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: click.ClickException) -> int:
    from tracekit.errors import escape_control

    context = getattr(error, "ctx", None)
    path = context.command_path if context else "tracekit"
    _complain(f"{escape_control(error.format_message())} Try `{path} --help`.")
    return error.exit_code


def _complain(text: str) -> None:
    try:
        click.echo(f"tracekit: {text}", err=True)
    except (BrokenPipeError, ValueError):
        return
