"""Reads sound events many at a time: with the compiled scanner where there is one, with msgspec where there is none.

Both take only what they are sure of and stop at anything else, so that the result is the same (tests hold each against the other).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

import msgspec
import numpy as np
from msgspec import UNSET, Raw, UnsetType

from tracekit.reading.damaged import ANY_SEAM, CLOSING, EVENT_BYTES, SEAM, Piece, sound_value
from tracekit.reading.numbers import INT64_MAX, Number, id_of, ns_of_text, row_of
from tracekit.reading.repair import DEEPEST
from tracekit.reading.rows import EVENT_REPAIRS, MISSING, ROW, TIMED, Row, Rows, Space, Thread, bit

try:
    from tracekit.reading import _native
except ImportError:  # built only where a compiler was
    _native = None  # type: ignore[assignment]

HAVE_NATIVE = _native is not None and ROW.itemsize == _native.ROW_BYTES
END, CLOSED, FULL, ODD = range(4)
"""Why a scan stopped: the data ended; the array closed; no more room; something that isn't sound."""

Scan = tuple[list[Rows], int, int, bool]
"""Rows, where it stopped, why, and whether an event may stand there at once."""


class Engine(Protocol):
    """Reads sound events; serves one thread at a time. Its rows count in ``named()``."""

    def scan(self, piece: Piece, at: int, comma: bool) -> Scan:
        """Read events of a piece from ``at`` on; ``comma`` says whether one may stand there at once."""
        ...

    def named(self) -> tuple[Sequence[str], Sequence[Thread]]:
        """Return its strings and threads, by number."""
        ...


class Native:
    """The compiled scanner."""

    def __init__(self) -> None:
        self._scanner = _native.Scanner()
        self._room = np.empty(0, dtype=ROW)

    def scan(self, piece: Piece, at: int, comma: bool) -> Scan:
        """Read events of a piece from ``at`` on, without the GIL."""
        out: list[Rows] = []
        room = piece.size // 64 + 64
        if len(self._room) < room:
            self._room = np.empty(room, dtype=ROW)
        while True:
            count, at, status, comma = self._scanner.scan(piece.view, at, piece.base, comma, self._room)
            if count:
                out.append(self._room[:count].copy())
            if status != FULL:
                return out, at, status, comma

    def named(self) -> tuple[Sequence[str], Sequence[Thread]]:
        """Return strings and threads, decoded."""
        threads = []
        for text in self._scanner.threads():
            pid, _, tid = text.partition(b"\0")
            threads.append((_row(pid), _row(tid)))
        return [_text(one) for one in self._scanner.strings()], threads


def _text(raw: bytes) -> str:
    return str(json.loads(b'"' + raw + b'"')) if b"\\" in raw else raw.decode("utf-8")


def _row(raw: bytes) -> int | str:
    return row_of(json.loads(raw, parse_int=Number, parse_float=Number)) if raw else 0


class _Args(msgspec.Struct):
    """The args that become columns."""

    device: int | str | UnsetType = UNSET
    stream: int | str | UnsetType = UNSET
    correlation: int | str | UnsetType = UNSET
    external: int | str | UnsetType = msgspec.field(default=UNSET, name="External id")
    external_old: int | str | UnsetType = msgspec.field(default=UNSET, name="external id")


class _Event(msgspec.Struct):
    ph: str = ""
    name: str = ""
    cat: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: Raw = Raw()
    dur: Raw = Raw()
    id: Raw = Raw()
    args: Raw = Raw()


_EVENTS = msgspec.json.Decoder(list[_Event])
_ARGS = msgspec.json.Decoder(_Args)
_ID = msgspec.json.Decoder(int | str)
_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_LEAST_BYTES = 1 << 11
_TEXT, _NONE, _NEGATIVE = (bit(one) for one in EVENT_REPAIRS[:3])


_MOST_NS = 4 * 10**18
"""Times beyond are looked at singly: with a duration added they might not fit."""


class _Odd(Exception):
    """An event that the fast way isn't sure of."""


class Slower:
    """msgspec: the same in Python."""

    def __init__(self) -> None:
        self._space = Space()
        self._span = 1 << 20

    def named(self) -> tuple[Sequence[str], Sequence[Thread]]:
        """Return its strings and threads, by number."""
        return list(self._space.strings), list(self._space.threads)

    def scan(self, piece: Piece, at: int, comma: bool) -> Scan:
        """Read events of a piece from ``at`` on: a stretch at a time, shorter where that fails."""
        data, out = piece.data, []
        while comma and data[at : at + 1] not in (b"", b"]"):
            seam = SEAM.search(data, at + self._span) or ANY_SEAM.search(data, at + self._span)
            end = seam.start() + 1 if seam else _last(data, at)
            rows = self._stretch(data, at, end, piece.base)
            if rows is None:
                if self._span <= _LEAST_BYTES:
                    self._span *= 2
                    break
                self._span = max(_LEAST_BYTES, min(self._span, end - at) // 8)
                continue
            self._span = min(self._span * 2, 1 << 20)
            out.append(rows)
            at, comma = (seam.end(), True) if seam else (end, False)
        return out, at, ODD, comma

    def _stretch(self, data: bytes, at: int, end: int, base: int) -> Rows | None:
        text = data[at:end]
        if len(text) > EVENT_BYTES:
            return None
        try:
            text.decode("utf-8")
            events = _EVENTS.decode(b"[" + text + b"]")
            rows, place = [], 0
            for event in events:
                raw = bytes(event.args)
                if raw[:1] == b"{" and raw.strip(b"{} \n\r\t"):
                    place = text.index(raw, place)
                    rows.append(self._event(event, raw, base + at + place))
                    place += len(raw)
                else:
                    rows.append(self._event(event, b"", -1))
        except (*_ERRORS, _Odd):
            return None
        if not rows:
            return None
        out = np.array(rows, dtype=ROW)
        if out["repairs"].any() or np.isin(out["phase"], (ord("B"), ord("E"))).any():
            out["at"] = _starts(data, at, base, len(out))
        return out

    def _event(self, event: _Event, raw: bytes, where: int) -> Row:
        phase = event.ph
        if len(phase) != 1 or not " " <= phase <= "~" or phase in '"\\':
            raise _Odd
        repairs, ts, dur = 0, 0, 0
        ids = [MISSING] * 4
        if phase in TIMED:
            ts, repairs = _time(bytes(event.ts))
            if ts == MISSING:
                raise _Odd
        if phase == "X":
            dur, more = _time(bytes(event.dur))
            repairs |= more | (_NONE if dur == MISSING else _NEGATIVE if dur < 0 else 0)
            dur = max(dur, 0)
        if phase in "XB":
            ids = _ids(raw) if raw else ids
        elif phase in TIMED and phase != "E" and event.id:
            ids[2] = _id(_ID.decode(event.id))
        device, stream, correlation, external = ids
        return Row(
            ts=ts,
            dur=dur,
            device=device,
            stream=stream,
            correlation=correlation,
            external=external,
            at=where,
            args_at=where,
            args_len=len(raw),
            name=self._space.string(event.name),
            category=self._space.string(event.cat),
            thread=self._space.thread(_small(event.pid), _small(event.tid)),
            repairs=repairs,
            phase=ord(phase),
        )


def _last(data: bytes, at: int) -> int:
    """Return where the last event of the data may end."""
    closing = CLOSING.search(data, at)
    return closing.end() if closing else data.rfind(b"}", at) + 1 or len(data)


def _starts(data: bytes, at: int, base: int, count: int) -> list[int]:
    """Return the offsets of events that are known to be sound."""
    out = []
    for _ in range(count):
        at = data.index(b"{", at)
        out.append(base + at)
        at = sound_value(data, at, len(data))[1]
    return out


def _time(text: bytes) -> tuple[int, int]:
    if not text or text == b"null":
        return MISSING, 0
    repairs = 0
    if text[:1] == b'"':
        repairs, text = _TEXT, text[1:-1]
        if not text[:1].isdigit() and text[:1] != b"-":
            raise _Odd
    ns = ns_of_text(text)
    if ns is None or not -_MOST_NS <= ns <= _MOST_NS:
        raise _Odd
    return ns, repairs


def _ids(raw: bytes) -> list[int]:
    if raw.count(b"[") + raw.count(b"{") > DEEPEST:
        raise _Odd
    found = _ARGS.decode(raw)
    external = found.external_old if found.external is UNSET else found.external
    return [MISSING if one is UNSET else _id(one) for one in (found.device, found.stream, found.correlation, external)]


def _id(value: int | str) -> int:
    number = id_of(value)
    if number is None or not -INT64_MAX <= number <= INT64_MAX:
        raise _Odd
    return number


def _small(value: int | str) -> int | str:
    if isinstance(value, int) and not -INT64_MAX <= value <= INT64_MAX:
        raise _Odd
    return value


def new_engine(native: bool = HAVE_NATIVE) -> Engine:
    """Return an engine: the compiled one unless it isn't there or isn't wished."""
    return Native() if native else Slower()


__all__ = ["CLOSED", "END", "FULL", "HAVE_NATIVE", "ODD", "Engine", "Native", "Slower", "new_engine"]
