"""Reads one element of the event array where the file isn't as it should be: mends it, or says that it is lost and where to go on.

What it decides depends on the bytes alone, never on where the file happened to be cut into pieces: where it would have to look behind the end of a
piece that isn't the last it answers None, and is asked again with more.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from dataclasses import dataclass, replace
from typing import Any

from tracekit.reading.numbers import Number
from tracekit.reading.repair import DEEPEST, MENDABLE_BYTES, Unreadable, is_sound, parse, refuse
from tracekit.trace import Drop, Repair

EVENT_BYTES = 64 << 20
"""An event of more bytes is no event."""

# Where one event ends and the next begins, as far as can be seen without reading. In sound JSON this stands in no string, for a quote there has a
# backslash before it; it may stand in a list of objects inside an event.
SEAM = re.compile(rb"\}\s*+,\s*+(?=\{\s*+\"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s)\"\s*+:)")
ANY_SEAM = re.compile(rb"\}\s*+,\s*+(?=\{\s*+\"[^\"\\\x00-\x1f]{1,64}+\"\s*+:)")
CLOSING = re.compile(rb"\}(?=\s*+\])")
_SKIP = rb'(?:[\s,:]++|"(?:[^"\\]++|\\.)*+"|-?+\d[\d.eE+-]*+|true|false|null|[+-]?+(?:NaN|nan|NAN|[Ii]nf(?:inity)?+|INF(?:INITY)?+))*+'
_TO_BRACKET = re.compile(_SKIP + rb"([{}\[\]])", re.DOTALL)
_SKIPPED = re.compile(_SKIP, re.DOTALL)
_OPEN_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+\\?+\Z', re.DOTALL)
_CUT_WORD = re.compile(rb"[A-Za-z+-][A-Za-z]{0,8}\Z")
_WORD = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[^,\]\[\s{}"]++|.', re.DOTALL)
_DECODER = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=refuse)
_SEAMS_TRIED = 4
_CLOSINGS_TRIED = 8


def extent(data: bytes, at: int, limit: int) -> tuple[int | None, bool]:
    """Return how far the object or array at ``at`` reaches, looking no further than ``limit``.

    Strings may hold what JSON forbids; outside of them only words of JSON (and NaN and its like) may stand, so that after a stray quote the search
    ends soon.

    Returns:
        The offset behind its partner, or None where there is none; and whether the bytes ended before it closed, with nothing against it so far.
    """
    stack = bytearray()
    while True:
        found = _TO_BRACKET.match(data, at, limit)
        if found is None:
            stop = _end_of(_SKIPPED.match(data, at, limit), at)
            return None, stop >= limit or _OPEN_STRING.match(data, stop, limit) is not None or _is_cut_word(data, stop, limit)
        bracket = found[1]
        at = found.end()
        if bracket in b"{[":
            stack += b"}" if bracket == b"{" else b"]"
            if len(stack) > DEEPEST:
                return None, False
        elif not stack or stack.pop() != bracket[0]:
            return None, False
        if not stack:
            return at, False


def _end_of(found: re.Match[bytes] | None, at: int) -> int:
    return found.end() if found else at


def _is_cut_word(data: bytes, at: int, limit: int) -> bool:
    return limit - at < 10 and _CUT_WORD.match(data, at, limit) is not None


def sound_value(data: bytes, at: int, limit: int) -> tuple[Any, int, bool]:
    """Return the value at ``at`` if it is JSON to the letter, numbers as their text.

    Costs no more than the way to the first thing that is wrong, so it may be asked for an event of any size.

    Returns:
        The value, or None; the offset behind it; and whether the bytes ended before anything was wrong.
    """
    for window in (1 << 12, 1 << 16, 1 << 20, 1 << 24, EVENT_BYTES):
        end = min(at + window, limit)
        text, sound_end = _decoded(data[at:end])
        try:
            value, stop = _DECODER.raw_decode(text)
        except json.JSONDecodeError as error:
            cut = sound_end and (error.msg.startswith("Unterminated string") or error.pos >= len(text) - 12)
            if not cut:
                return None, at, False
            if end == limit:
                return None, at, True
            continue
        except (ValueError, RecursionError):  # NaN; nested too deeply
            return None, at, False
        stop = at + (stop if text.isascii() else len(text[:stop].encode("utf-8")))
        if not is_sound(data[at:stop]):
            return None, at, False
        return value, stop, False
    return None, at, True


def _decoded(data: bytes) -> tuple[str, bool]:
    """Return the text up to the first byte that is no UTF-8, and whether that is at most the end of a cut character."""
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError as error:
        return data[: error.start].decode("utf-8"), error.start >= len(data) - 3 and error.reason == "unexpected end of data"


@dataclass(frozen=True)
class Piece:
    """A stretch of the content.

    Attributes:
        raw: Bytes that begin with it.
        size: How many of them it has.
        base: Its offset in the content.
        seamed: Whether it ends where an event seems to begin.
        final: Whether the content ends with it.
    """

    raw: bytes
    size: int
    base: int
    seamed: bool
    final: bool

    @property
    def view(self) -> memoryview:
        """Its bytes, not copied."""
        return memoryview(self.raw)[: self.size]

    @functools.cached_property
    def data(self) -> bytes:
        """Its bytes, copied when first asked for: mostly nobody asks."""
        return self.raw if self.size == len(self.raw) else self.raw[: self.size]

    def behind(self, at: int, before: bytes = b"") -> Piece:
        """Return the rest from ``at`` on, with some bytes put before it."""
        data = before + self.raw[at : self.size]
        return replace(self, raw=data, size=len(data), base=self.base + at - len(before))


@dataclass(frozen=True)
class Found:
    """What became of one element.

    Attributes:
        end: Where to go on.
        value: The event, or None.
        text: Its bytes as they stand, where nothing had to be mended.
        repairs: What it took.
        drop: Why it is lost, or None.
        lost: Whether where to go on is unknown: what follows is to be skipped until an event seems to begin.
    """

    end: int
    value: dict[str, Any] | None = None
    text: bytes | None = None
    repairs: tuple[Repair, ...] = ()
    drop: Drop | None = None
    lost: bool = False


class Damaged:
    """Reads single elements of a piece."""

    def __init__(self, piece: Piece) -> None:
        self.data, self.final, self.seamed = piece.data, piece.final, piece.seamed
        self._known: dict[re.Pattern[bytes], tuple[int, int | None]] = {}

    def event(self, at: int) -> Found | None:
        """Read the object at ``at``; None where more of the file is needed for that."""
        data, size = self.data, len(self.data)
        limit = min(size, at + EVENT_BYTES)
        value, end, cut = sound_value(data, at, limit)
        if isinstance(value, dict):
            return Found(end, value, data[at:end])
        if cut and limit == size and not self.final and limit - at < EVENT_BYTES:
            return None
        if cut and limit - at == EVENT_BYTES:
            return Found(limit, drop=Drop.UNREADABLE, lost=True)
        return self._mended(at, min(size, at + MENDABLE_BYTES), cut)

    def _mended(self, at: int, limit: int, cut: bool) -> Found | None:
        more = limit == len(self.data) and not self.final and limit - at < MENDABLE_BYTES
        whole, is_open = extent(self.data, at, limit)
        if whole is not None:
            found = self._try(at, whole, without=Repair.UNESCAPED_QUOTE)
            if found is not None:
                return found
        elif is_open and more:
            return None
        seams = self._seams(at, limit)
        ends = seams or self._closings(at, limit)
        if not ends and whole is not None:
            ends = [whole]
        for i, end in enumerate(ends):
            # Quotes are only mended up to where the next event seems to begin: else two events might become one.
            found = self._try(at, end, without=Repair.UNESCAPED_QUOTE if i else None)
            if found is not None:
                return found
        if more and len(seams) < _SEAMS_TRIED:
            return None
        if seams:
            return Found(seams[0], drop=Drop.UNREADABLE)
        if (is_open or cut) and self.final and limit == len(self.data):
            return Found(limit, drop=Drop.TRUNCATED, repairs=(Repair.TRUNCATED,))
        if whole is not None or ends:
            return Found(whole if whole is not None else ends[0], drop=Drop.UNREADABLE)
        return Found(limit, drop=Drop.UNREADABLE, lost=True)

    def stray(self, at: int) -> Found | None:
        """Read the element at ``at`` that is no object; None where more of the file is needed for that."""
        data, limit = self.data, min(len(self.data), at + EVENT_BYTES)
        more = limit == len(data) and not self.final and limit - at < EVENT_BYTES
        if data[at : at + 1] == b"[":
            value, end, cut = sound_value(data, at, limit)
            if cut and more:
                return None
            if value is None:
                whole, is_open = extent(data, at, min(limit, at + MENDABLE_BYTES))
                if is_open and more:
                    return None
                if whole is None:
                    return Found(at + 1, drop=Drop.NOT_AN_OBJECT, lost=True)
                end = whole
            return Found(end, drop=Drop.NOT_AN_OBJECT)
        if data[at : at + 1] == b'"' and _OPEN_STRING.match(data, at, limit) is not None:
            return None if more else Found(at + 1, drop=Drop.NOT_AN_OBJECT, lost=True)
        end = _end_of(_WORD.match(data, at, limit), at + 1)
        if end >= len(data) and more:
            return None
        return Found(end, drop=Drop.NOT_AN_OBJECT)

    def _seams(self, at: int, limit: int) -> list[int]:
        """Return the offsets behind brackets that may end the event at ``at``."""
        for pattern in (SEAM, ANY_SEAM):
            ends: list[int] = []
            start = at
            while len(ends) < _SEAMS_TRIED:
                found = self._search(pattern, start, limit)
                if found is None:
                    break
                ends.append(found + 1)
                start = found + 1
            if pattern is SEAM and self.seamed and limit == len(self.data) and len(ends) < _SEAMS_TRIED:
                # The bracket behind which a piece was cut is such a place too.
                ends.append(_rstrip(self.data, at))
            if ends:
                return ends
        return []

    def _closings(self, at: int, limit: int) -> list[int]:
        return [found.end() for found in itertools.islice(CLOSING.finditer(self.data, at, limit), _CLOSINGS_TRIED)]

    def _search(self, pattern: re.Pattern[bytes], at: int, limit: int) -> int | None:
        """Return the first match at or after ``at``; what was searched once isn't searched again."""
        since, known = self._known.get(pattern, (at + 1, None))
        if not (since <= at and (known is None or known >= at)):
            found = pattern.search(self.data, at)
            known = found.start() if found else None
            self._known[pattern] = (at, known)
        return known if known is not None and known < limit else None

    def _try(self, at: int, end: int, without: Repair | None = None) -> Found | None:
        text = self.data[at:end]
        try:
            value, repairs = parse(text, exact=True, without=without)
        except Unreadable:
            return None
        return Found(end, value, None if repairs else text, repairs) if isinstance(value, dict) else None


def _rstrip(data: bytes, at: int) -> int:
    """Return the offset behind the last byte that is neither space nor comma."""
    end = len(data)
    while end > at and data[end - 1 : end] in (b" ", b"\n", b"\r", b"\t", b","):
        end -= 1
    return end
