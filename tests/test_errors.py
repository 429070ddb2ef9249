"""Errors that a person reads."""

from __future__ import annotations

from tracekit.errors import InputError, TracekitError, escape_control


def test_an_error_is_one_printable_line() -> None:
    """Place, cause and what to do; a hostile file name can't drive the terminal."""
    error = InputError("a\x1b[31m\n.json", "no trace", "Give a trace.")
    assert str(error) == "a\\x1b[31m\\n.json: no trace. Give a trace."
    assert isinstance(error, TracekitError)
    assert error.exit_code == 2


def test_control_characters_and_lone_surrogates_are_escaped() -> None:
    """Whatever can't be printed is written as an escape; the rest stays."""
    assert escape_control("µ – ok") == "µ – ok"
    assert escape_control("a\x00b\u202ec\ud800") == "a\\x00b\\u202ec\\ud800"
