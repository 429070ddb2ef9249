"""Mends JSON that isn't: each repair does one thing to the text of one value, and is named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tracekit.trace import Repair

_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_BACKSLASH = re.compile(rb"\\.", re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_NOT_NUMBER = re.compile(rb"(?<![\w\"])[+-]?(?:NaN|nan|NAN|-?Infinity|-?infinity|INFINITY|[+-]?inf(?:inity)?|INF|Inf)(?![\w\"])")
_TRAILING = re.compile(rb",(\s*[}\]])")
_LEADING = re.compile(rb"([{\[]\s*),+")
_DOUBLE = re.compile(rb",(?:\s*,)+")
# A quote that isn't next to anything of JSON's own stands inside a string whose writer forgot to escape it.
_STRAY_QUOTE = re.compile(rb'(?<![{\[,:\s\\])"(?!\s*[:,}\]])|(?<=[^{\[,:\s\\])\s"(?=[^\s"])|(?<=[^:,{\[\s])"(?=\s+[^\s:,}\]"])')
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def escapes(text: bytes) -> bytes:
    r"""Double the backslashes of every string that has one which starts no escape of JSON.

    Such a string was written by somebody who didn't know of escapes (``C:\new\models`` as Windows paths stand in traces), so its ``\n`` is no newline.
    """

    def mended(string: re.Match[bytes]) -> bytes:
        if not any(len(found) == 1 for found in _ESCAPE.findall(string[0])):
            return string[0]
        return _BACKSLASH.sub(lambda found: found[0] if found[0][1:] in (b'"', b"\\") else b"\\" + found[0], string[0])

    return _STRING.sub(mended, text)


def control_characters(text: bytes) -> bytes:
    """Escape control characters inside strings."""

    def escaped(string: re.Match[bytes]) -> bytes:
        return _CONTROL.sub(lambda found: b"\\u%04x" % found[0][0], string[0])

    return _STRING.sub(escaped, text)


def not_numbers(text: bytes) -> bytes:
    """Turn NaN and Infinity, however written, into null: they are unknown."""
    return _outside_strings(text, lambda part: _NOT_NUMBER.sub(b"null", part))


def commas(text: bytes) -> bytes:
    """Drop commas that separate nothing."""
    return _outside_strings(text, lambda part: _LEADING.sub(rb"\1", _TRAILING.sub(rb"\1", _DOUBLE.sub(b",", part))))


def quotes(text: bytes) -> bytes:
    """Escape quotes that stand inside a string."""
    return _STRAY_QUOTE.sub(lambda found: found[0].replace(b'"', b'\\"'), text)


def utf8(text: bytes) -> bytes:
    """Replace what is no UTF-8 by U+FFFD."""
    return text.decode("utf-8", errors="replace").encode("utf-8")


def _outside_strings(text: bytes, change: Callable[[bytes], bytes]) -> bytes:
    out, at = [], 0
    for string in _STRING.finditer(text):
        out += [change(text[at : string.start()]), string[0]]
        at = string.end()
    out.append(change(text[at:]))
    return b"".join(out)


REPAIRS: tuple[tuple[Repair, Callable[[bytes], bytes]], ...] = (
    (Repair.BAD_UTF8, utf8),
    (Repair.BAD_ESCAPE, escapes),
    (Repair.CONTROL_CHARACTER, control_characters),
    (Repair.NOT_A_NUMBER, not_numbers),
    (Repair.TRAILING_COMMA, commas),
    (Repair.UNESCAPED_QUOTE, quotes),
)
"""In the order tried: each is kept if it changed the text, until the text parses."""


class Unreadable(ValueError):
    """No repair makes a value of the text."""


def parse(text: bytes, *, exact: bool = False) -> tuple[Any, tuple[Repair, ...]]:
    """Return the value of a JSON text, mended if need be, and the repairs that it took.

    Args:
        text: The text of one value.
        exact: Whether numbers are kept as their text (``Number``), so that no digit is lost.

    Raises:
        Unreadable: It can't be mended.
    """
    used: list[Repair] = []
    try:
        return _strict(text, exact), ()
    except ValueError:
        pass
    for repair, mend in REPAIRS:
        mended = mend(text)
        if mended == text:
            continue
        text = mended
        used.append(repair)
        try:
            return _strict(text, exact), tuple(used)
        except ValueError:
            continue
    raise Unreadable("not JSON")


class Number(str):
    """A number as it was written."""

    __slots__ = ()


def _strict(text: bytes, exact: bool) -> Any:
    try:
        decoded = text.decode("utf-8")
        return (
            json.loads(decoded, parse_float=Number, parse_int=Number, parse_constant=_refuse)
            if exact
            else json.loads(decoded, parse_constant=_refuse)
        )
    except RecursionError as error:
        raise Unreadable("nested too deeply") from error


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def parse_args(data: bytes) -> dict[str, Any]:
    """Return an args object; NaN and Infinity come out as None, and what can't be read at all as {}."""
    try:
        value, _ = parse(data)
    except Unreadable:
        return {}
    return value if isinstance(value, dict) else {}
