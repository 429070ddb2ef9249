"""Mends JSON that isn't: each repair does one thing to the text of one value, and is named."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import msgspec

from tracekit.reading.numbers import Number
from tracekit.trace import Repair

_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_BACKSLASH = re.compile(rb"\\.", re.DOTALL)
# One that never ends counts too, up to the end of the text: else a search would begin anew at each quote in it.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+\\?(?:"|\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
_CONTROL = re.compile(rb"[\x00-\x1f]")
_NOT_NUMBER = re.compile(rb"(?<![\w\"])[+-]?(?:NaN|nan|NAN|-?Infinity|-?infinity|INFINITY|[+-]?inf(?:inity)?|INF|Inf)(?![\w\"])")
_TRAILING = re.compile(rb",(\s*[}\]])")
_LEADING = re.compile(rb"([{\[]\s*),+")
_DOUBLE = re.compile(rb",(?:\s*,)+")
# A quote that isn't next to anything of JSON's own stands inside a string whose writer forgot to escape it.
_STRAY_QUOTE = re.compile(rb'(?<![{\[,:\s\\])"(?!\s*[:,}\]])|(?<=[^{\[,:\s\\])\s"(?=[^\s"])|(?<=[^:,{\[\s])"(?=\s+[^\s:,}\]"])')
_NAMES = tuple(re.compile(rb'"%s"\s*+:\s*+"' % key) for key in (b"name", b"cat"))
_NAME_END = re.compile(rb'"\s*+(?:,\s*+"(?:ph|cat|name|pid|tid|ts|dur|args|id|bp|s)"\s*+:|\}\s*+\Z)')
_BARE_QUOTE = re.compile(rb'(?<!\\)"')
_HALF_PAIR = re.compile(rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)

MENDABLE_BYTES = 1 << 20
"""A text of more isn't searched for what may be wrong with it."""


def escapes(text: bytes) -> bytes:
    r"""Double the backslashes of every string that has one which starts no escape of JSON.

    Such a string was written by somebody who didn't know of escapes (``C:\new\models`` as Windows paths stand in traces), so its ``\n`` is no newline.
    """

    def mended(string: re.Match[bytes]) -> bytes:
        if not any(len(found) == 1 for found in _ESCAPE.findall(string[0])):
            return string[0]
        return _BACKSLASH.sub(lambda found: found[0] if found[0][1:] in (b'"', b"\\") else b"\\" + found[0], string[0])

    return half_pairs(_STRING.sub(mended, text))


def half_pairs(text: bytes) -> bytes:
    """Replace escapes of half a surrogate pair by U+FFFD: they are no characters, and whoever prints one fails."""
    if b"\\ud" not in text and b"\\uD" not in text:
        return text
    return _HALF_PAIR.sub(lambda found: b"\\ufffd" if found[1] else found[0], text)


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


def name_quotes(text: bytes) -> bytes:
    """Escape quotes inside the event's own name and category: they end where another of the event's keys follows."""
    for key in _NAMES:
        begin = key.search(text)
        end = _NAME_END.search(text, begin.end()) if begin else None
        if begin and end:
            inner = _BARE_QUOTE.sub(rb'\\"', text[begin.end() : end.start()])
            text = text[: begin.end()] + inner + text[end.start() :]
    return text


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


MENDS: tuple[tuple[Repair, Callable[[bytes], bytes]], ...] = (
    (Repair.BAD_UTF8, utf8),
    (Repair.BAD_ESCAPE, escapes),
    (Repair.CONTROL_CHARACTER, control_characters),
    (Repair.NOT_A_NUMBER, not_numbers),
    (Repair.TRAILING_COMMA, commas),
)
"""In the order tried: each is kept if it changed the text, until the text parses."""


class Unreadable(ValueError):
    """No repair makes a value of the text."""


def parse(text: bytes, *, exact: bool = False, without: Repair | None = None) -> tuple[Any, tuple[Repair, ...]]:
    """Return the value of a JSON text, mended if need be, and the repairs that it took.

    Args:
        text: The text of one value.
        exact: Whether numbers are kept as their text (``Number``), so that no digit is lost.
        without: A repair that isn't to be tried.

    Raises:
        Unreadable: It can't be mended.
    """
    try:
        return strict(text, exact=exact), ()
    except ValueError as error:
        if len(text) > MENDABLE_BYTES:
            raise Unreadable("too long to be mended") from error
    for first in (None,) if without is Repair.UNESCAPED_QUOTE else (None, name_quotes, quotes):
        # Stray quotes come first: as long as there are some, what is inside of strings and what outside can't be told.
        start = text if first is None else first(text)
        if first is None or start != text:
            found = _mended(start, [] if first is None else [Repair.UNESCAPED_QUOTE], exact)
            if found is not None:
                return found
    raise Unreadable("not JSON")


def _mended(text: bytes, used: list[Repair], exact: bool) -> tuple[Any, tuple[Repair, ...]] | None:
    mends = iter(MENDS)
    while True:
        try:
            return strict(text, exact=exact), tuple(used)
        except ValueError:
            pass
        for repair, mend in mends:
            mended = mend(text)
            if mended != text:
                text = mended
                used.append(repair)
                break
        else:
            return None


def strict(text: bytes, *, exact: bool = False) -> Any:
    """Return the value of a JSON text that is sound to the letter.

    Raises:
        ValueError: It isn't.
    """
    if not is_sound(text):
        raise ValueError("nested too deeply, or half a surrogate pair")
    decoded = text.decode("utf-8")
    if exact:
        return json.loads(decoded, parse_float=Number, parse_int=Number, parse_constant=refuse)
    return json.loads(decoded, parse_float=_finite, parse_int=_whole, parse_constant=refuse)


def is_sound(text: bytes) -> bool:
    """Return whether a text that Python's parser takes is JSON to the letter as we mean it: every parser takes it."""
    if text.count(b"[") + text.count(b"{") > DEEPEST and _is_deep(text):
        return False
    return half_pairs(text) == text


DEEPEST = 400
"""Nesting beyond which a value is refused: Python's own parser gives up at a depth that depends on who called it."""


def _is_deep(text: bytes) -> bool:
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", text)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > DEEPEST:
            return True
    return False


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _whole(text: str) -> int | float | None:
    # Python refuses to read an int of thousands of digits.
    return int(text) if len(text) < 400 else _finite(text)


def refuse(name: str) -> Any:
    """Refuse NaN and Infinity, which Python's parser takes for numbers."""
    raise ValueError(f"{name} is no number of JSON")


def parse_args(data: bytes) -> dict[str, Any]:
    """Return an args object; NaN and Infinity come out as None, and what can't be read at all as {}."""
    try:
        value = _quickly(data)
    except (msgspec.DecodeError, RecursionError):
        try:
            value, _ = parse(data)
        except Unreadable:
            return {}
    return value if isinstance(value, dict) else {}


def _quickly(data: bytes) -> Any:
    """Return the value of a JSON text, five times as fast as ``strict``.

    Raises:
        msgspec.DecodeError: It isn't sound, or holds a number beyond a double, or may be nested too deeply: ``parse`` has to see to it.
    """
    if len(data) > DEEPEST and data.count(b"[") + data.count(b"{") > DEEPEST:
        raise msgspec.DecodeError("perhaps nested too deeply")
    return msgspec.json.decode(data)
