"""Reads what stands in the file beside its events, one value after another: a broken one costs itself and nothing else."""

from __future__ import annotations

import re
from typing import Any

from tracekit.reading.damaged import extent, sound_value
from tracekit.reading.pieces import Notes
from tracekit.reading.repair import MENDABLE_BYTES, Unreadable, parse
from tracekit.trace import Repair

_BETWEEN = re.compile(rb"[\s,{}]*+")
_KEY = re.compile(rb'"((?:[^"\\]++|\\.)*+)"\s*+:\s*+', re.DOTALL)
_SCALAR = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[^\s,{}\[\]"]++', re.DOTALL)
# Where the next value seems to begin: at the start of a line if there is one such, for values may hold anything.
_NEXT_LINE = re.compile(rb',\s*\n\s*"[\w ./-]{1,64}"\s*:')
_NEXT = re.compile(rb',\s*"[\w ./-]{1,64}"\s*:')


def read_members(text: bytes, base: int, notes: Notes) -> tuple[dict[str, Any], int | None]:
    """Read ``"key": value`` pairs, with or without the braces around them.

    Args:
        text: The bytes before or behind the events.
        base: Their offset in the content.
        notes: Told of what was mended or couldn't be read.

    Returns:
        The values, and the offset in ``text`` just behind the bracket of another array of events, where the file has one more.
    """
    out: dict[str, Any] = {}
    at = _skip(text, 0)
    while at < len(text):
        key = _KEY.match(text, at)
        if key is None:
            if text[at:].strip(b"] \n\r\t,}"):
                notes.add(Repair.BAD_METADATA, base + at)
            at = _resume(text, at)
            continue
        name = _name(key[1])
        if name == "traceEvents" and text[key.end() : key.end() + 1] == b"[":
            return out, key.end() + 1
        value, end = _value(text, key.end(), base, notes)
        if end is None:
            notes.add(Repair.BAD_METADATA, base + at)
            at = _resume(text, key.end())
            continue
        out[name] = value
        at = _skip(text, end)
    return out, None


def _skip(text: bytes, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def _resume(text: bytes, at: int) -> int:
    found = _NEXT_LINE.search(text, at) or _NEXT.search(text, at)
    return _skip(text, found.start()) if found else len(text)


def _name(raw: bytes) -> str:
    try:
        return str(parse(b'"' + raw + b'"')[0])
    except Unreadable:
        return raw.decode("utf-8", errors="replace")


def _value(text: bytes, at: int, base: int, notes: Notes) -> tuple[Any, int | None]:
    """Return the value at ``at`` and the offset behind it; None for the offset where it can't be read."""
    value, end, _ = sound_value(text, at, len(text))
    if end > at:
        return parse(text[at:end])[0], end
    ends = []
    if text[at : at + 1] in (b"{", b"["):
        whole, _ = extent(text, at, min(len(text), at + MENDABLE_BYTES))
        ends.append(whole)
    elif found := _SCALAR.match(text, at):
        ends.append(found.end())
    following = _NEXT_LINE.search(text, at) or _NEXT.search(text, at)
    ends.append(following.start() if following else len(text.rstrip(b" \n\r\t}")))
    for one in ends:
        if one is not None and one > at:
            try:
                value, repairs = parse(text[at:one].strip())
            except Unreadable:
                continue
            for repair in repairs:
                notes.add(repair, base + at)
            return value, one
    return None, None
