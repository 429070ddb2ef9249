"""The errors that tracekit raises for a person to read.

Each carries where it happened, what is wrong and what to do. The command line turns one into a single line on stderr and exit code 2; a library user
catches :class:`TracekitError`. Any other exception is a bug of ours.
"""

from __future__ import annotations


def escape_control(text: str) -> str:
    """Return ``text`` with every control character written as an escape, so that a hostile name can't drive a terminal.

    Lone surrogates (from undecodable bytes) are escaped too: they can't be encoded when printed.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


class TracekitError(Exception):
    """Something a person can mend.

    Args:
        where: The file, option or place, e.g. ``naive.json (byte 1204)``.
        what: What is wrong, without a full stop.
        hint: What to do, a sentence; may be empty.
    """

    exit_code = 2

    def __init__(self, where: str, what: str, hint: str = "") -> None:
        self.where, self.what, self.hint = where, what, hint
        super().__init__(self.line())

    def line(self) -> str:
        """Return the error as one printable line: ``WHERE: WHAT. HINT``."""
        text = f"{self.where}: {self.what}." + (f" {self.hint}" if self.hint else "")
        return escape_control(text)


class InputError(TracekitError):
    """A file that was given can't be read, or isn't what it should be."""


class OutputError(TracekitError):
    """A result can't be written."""


class OptionError(TracekitError):
    """An option or argument has no sense, alone or with the others."""
