"""Finds the events in the bytes: whole chunks at once where they are JSON, one by one and mended where they aren't."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from tracekit.errors import escape_control
from tracekit.reading.categories import category_of
from tracekit.reading.columns import WANTS_IDS, Columns, Event
from tracekit.reading.numbers import ns_of_text
from tracekit.reading.repair import Number, Unreadable, parse
from tracekit.trace import Drop, Repair

CHUNK_BYTES = 1 << 20
_EVENT_LIMIT = 64 << 20
"""An event of more bytes is no event."""

# Where one event ends and the next begins, as far as can be seen without reading: keys that events begin with.
_SEAM = re.compile(rb"\}\s*,\s*(?=\{\s*\"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s)\"\s*:)")
_TOKEN = re.compile(rb'"(?:[^"\\]+|\\.)*"|[{}\[\]]', re.DOTALL)
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*([\[{])')
_SPACE = re.compile(rb"[\s,]*")


class _Args(msgspec.Struct):
    """The args that become columns."""

    device: int | str | None = None
    stream: int | str | None = None
    correlation: int | str | None = None
    external: int | str | None = msgspec.field(default=None, name="External id")


class _Event(msgspec.Struct):
    ph: str = ""
    name: str = ""
    cat: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()
    id: int | str | None = None
    args: msgspec.Raw = msgspec.Raw()


_EVENTS_DECODER = msgspec.json.Decoder(list[_Event])
_ARGS_DECODER = msgspec.json.Decoder(_Args)
_ANY_DECODER = msgspec.json.Decoder(dict[str, Any])


@dataclass
class Scanner:
    """Reads the event array.

    Attributes:
        data: The file's content.
        columns: Where events go.
        blob: The args objects, one after another: what ``args_at`` counts in.
        progress: Called with bytes done and in all.
    """

    data: Any
    columns: Columns
    blob: bytearray
    progress: Callable[[int, int], None] | None = None

    def scan(self, at: int) -> int | None:
        """Read events from just behind the array's bracket on.

        Returns:
            The offset just behind the closing bracket, or None where the file ends before it.
        """
        size = len(self.data)
        while True:
            at = _skip(self.data, at)
            if at >= size:
                return None
            if self.data[at : at + 1] == b"]":
                return at + 1
            seam = _SEAM.search(self.data, min(at + CHUNK_BYTES, size))
            end = seam.start() + 1 if seam else self._array_end(at)
            if not (end > at and self._fast(at, end)):
                closed, at = self._slowly(at, end if end > at else size)
                if closed:
                    return at
            else:
                at = end
            if self.progress is not None:
                self.progress(at, size)

    def _array_end(self, at: int) -> int:
        """Return where the last whole event of the array ends, as far as brackets tell; ``at`` where there is none."""
        depth, last = 0, at
        for token in _TOKEN.finditer(self.data, at):
            first = token[0][:1]
            if first in b"{[":
                depth += 1
            elif first in b"}]":
                depth -= 1
                if depth < 0:
                    return last
                if depth == 0:
                    last = token.end()
        return last

    # --- whole chunks

    def _fast(self, at: int, end: int) -> bool:
        """Read a chunk if it is JSON as it should be; change nothing otherwise."""
        text = self.data[at:end]
        try:
            text.decode("utf-8")
            events = _EVENTS_DECODER.decode(b"[" + text + b"]")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        made = []
        for event in events:
            one = self._made(event, at)
            if one is None:
                return False
            made.append(one)
        for one, raw in made:
            if raw:
                object.__setattr__(one, "args_at", len(self.blob))
                object.__setattr__(one, "args_len", len(raw))
                self.blob += raw
            self.columns.add(one)
        return True

    def _made(self, event: _Event, at: int) -> tuple[Event, bytes] | None:
        ts, dur, raw = bytes(event.ts), bytes(event.dur), bytes(event.args)
        ts_ns = ns_of_text(ts) if ts else None
        dur_ns = ns_of_text(dur) if dur else None
        if (ts and ts_ns is None) or (dur and dur_ns is None and dur != b"null") or (raw and raw[:1] != b"{"):
            return None
        if raw == b"{}":
            raw = b""
        args: dict[str, Any] | None = None
        if raw and event.ph in "XBM":
            try:
                args = self._args(event, raw)
            except msgspec.DecodeError:
                return None
        one = Event(event.ph, event.name, event.cat, event.pid, event.tid, ts_ns, dur_ns, event.id, args, -1, 0, at)
        return one, raw

    @staticmethod
    def _args(event: _Event, raw: bytes) -> dict[str, Any] | None:
        if event.ph == "M":
            return _ANY_DECODER.decode(raw)
        if category_of(event.cat) not in WANTS_IDS:
            return None
        found = _ARGS_DECODER.decode(raw)
        known = {"device": found.device, "stream": found.stream, "correlation": found.correlation, "External id": found.external}
        return {key: value for key, value in known.items() if value is not None}

    # --- one by one

    def _slowly(self, at: int, end: int) -> tuple[bool, int]:
        """Read events singly from ``at`` until ``end`` is passed; return whether the array closed, and where to go on."""
        while at < end:
            at = self._skip_commas(at)
            if at >= len(self.data):
                break
            first = self.data[at : at + 1]
            if first == b"]":
                return True, at + 1
            at = self._object(at) if first == b"{" else self._stray(at)
        return False, at

    def _skip_commas(self, at: int) -> int:
        found = _SPACE.match(self.data, at)
        return found.end() if found else at

    def _object(self, at: int) -> int:
        """Read the object at ``at`` and return the offset behind it."""
        end = extent(self.data, at)
        if end is not None:
            text = bytes(self.data[at:end])
            if self._take(text, at):
                return end
        # Its brackets or quotes lie: up to where the next event seems to begin.
        seam = _SEAM.search(self.data, at)
        if seam is None:
            closing = re.compile(rb"\}\s*\]").search(self.data, at)
            end = closing.start() + 1 if closing else None
        else:
            end = seam.start() + 1
        if end is None:
            self.columns.drop(Drop.TRUNCATED, at, self._excerpt(at))
            self.columns.repair(Repair.TRUNCATED, at, self._excerpt(at))
            return len(self.data)
        if not self._take(bytes(self.data[at:end]), at):
            self.columns.drop(Drop.UNREADABLE, at, self._excerpt(at))
        return end

    def _take(self, text: bytes, at: int) -> bool:
        try:
            value, repairs = parse(text, exact=True)
        except Unreadable:
            return False
        for repair in repairs:
            self.columns.repair(repair, at, self._excerpt(at))
        self._add(value, text if not repairs else None, at)
        return True

    def _add(self, value: dict[str, Any], text: bytes | None, at: int) -> None:
        args = value.get("args")
        if not isinstance(args, dict) or not args:
            args = None
        raw = msgspec.json.encode(_plain(args)) if args else b""
        where = len(self.blob) if raw else -1
        self.blob += raw
        self.columns.add(
            Event(
                _text(value.get("ph")),
                _text(value.get("name")),
                _text(value.get("cat")),
                _row(value.get("pid")),
                _row(value.get("tid")),
                self._time(value.get("ts"), at),
                self._time(value.get("dur"), at),
                _number(value.get("id")),
                {key: _number(one) for key, one in args.items()} if args else None,
                where,
                len(raw),
                at,
            )
        )

    def _time(self, value: Any, at: int) -> int | None:
        if isinstance(value, Number):
            return ns_of_text(value.encode())
        if isinstance(value, str):
            found = ns_of_text(value.strip().encode("ascii", errors="replace"))
            if found is not None:
                self.columns.repair(Repair.NUMBER_AS_TEXT, at, self._excerpt(at))
            return found
        return None

    def _stray(self, at: int) -> int:
        """Count an element that is no object, and return the offset behind it."""
        found = re.compile(rb'"(?:[^"\\]|\\.)*"|\[|[^,\]\s{"][^,\]{]*|.', re.DOTALL).match(self.data, at)
        end = found.end() if found else at + 1
        if self.data[at : at + 1] == b"[":
            end = extent(self.data, at) or len(self.data)
        self.columns.drop(Drop.NOT_AN_OBJECT, at, self._excerpt(at))
        return end

    def _excerpt(self, at: int) -> str:
        return escape_control(bytes(self.data[at : at + 60]).decode("utf-8", errors="replace"))


def _skip(data: Any, at: int) -> int:
    found = _SPACE.match(data, at)
    return found.end() if found else at


def extent(data: Any, at: int) -> int | None:
    """Return the offset behind the object or array at ``at``, by its brackets and strings; None where it doesn't end."""
    depth = 0
    for token in _TOKEN.finditer(data, at):
        first = token[0][:1]
        if first in b"{[":
            depth += 1
        elif first in b"}]":
            depth -= 1
            if depth == 0:
                return token.end()
        if token.end() - at > _EVENT_LIMIT:
            return None
    return None


def find_array(data: Any) -> tuple[int, int, int] | None:
    """Return where the event array is: offsets of its key (-1 in a bare list), and just behind its bracket, and how many traceEvents enclose it.

    None where there is no such array.
    """
    start = _skip_space(data, 0)
    first = bytes(data[start : start + 1])
    if first == b"[":
        return -1, start + 1, 0
    if first != b"{":
        return None
    at, nested, key = start, 0, -1
    while True:
        found = _EVENTS.search(data, at)
        if found is None:
            return None
        key = found.start() if key < 0 else key
        if found[1] == b"[":
            return key, found.end(), nested
        nested += 1
        at = found.end()


def _skip_space(data: Any, at: int) -> int:
    if bytes(data[at : at + 3]) == b"\xef\xbb\xbf":
        at += 3
    found = re.compile(rb"\s*").match(data, at)
    return found.end() if found else at


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _row(value: Any) -> int | str:
    """Return a pid or tid: an int where it is one, also written as 7.0; text stays text."""
    if isinstance(value, Number):
        ns = ns_of_text(value.encode())
        return ns // 1000 if ns is not None and ns % 1000 == 0 else str(value)
    return value if isinstance(value, str) else 0


def _number(value: Any) -> Any:
    if isinstance(value, Number):
        text = str(value)
        return int(text) if text.lstrip("-").isdigit() and len(text) < 400 else float(text)
    return value


def _plain(value: Any) -> Any:
    """Return a value with its numbers as numbers again, digits kept."""
    if isinstance(value, Number):
        return msgspec.Raw(str(value).encode())
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value
