"""The elements of a file as texts, each sound JSON: for who writes a trace out again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tracekit.reading.container import Progress
from tracekit.reading.damaged import EVENT_BYTES, Damaged, Piece
from tracekit.reading.events import plain
from tracekit.reading.loading import load_rows
from tracekit.reading.numbers import Number
from tracekit.reading.repair import MENDABLE_BYTES, Unreadable, parse
from tracekit.reading.rows import MISSING, Rows, bit
from tracekit.trace import Content, Repair, Trace
from tracekit.units import decimal_us

_BEHIND = b" \n\r\t,"
_VALUE_REPAIRS = bit(Repair.NUMBER_AS_TEXT) | bit(Repair.NO_DURATION) | bit(Repair.NEGATIVE_DURATION) | bit(Repair.STREAM_OUT_OF_RANGE)
_FOLDED = (
    ("device", "device"),
    ("stream", "stream"),
    ("correlation", "correlation"),
    ("External id", "external"),
    ("external id", "external"),
)
_IS_VALUE = msgspec.json.Decoder(msgspec.Raw)


@dataclass(frozen=True)
class Elements:
    """A file's elements.

    Attributes:
        trace: The trace that was read of it.
        texts: Each element of the file as sound JSON, in the file's order; b"" where it was dropped.
        members: The other top-level values, as JSON.
        as_they_stand: How many of the texts are byte for byte those of the file.
    """

    trace: Trace
    texts: list[bytes]
    members: dict[str, bytes]
    as_they_stand: int


def elements(path: str | Path, *, progress: Progress | None = None) -> Elements:
    """Read a file's elements; sound ones stay as they are, damaged ones come mended as ``load`` has them.

    Raises:
        InputError: The file can't be read, or is no Chrome trace.
    """
    trace, rows = load_rows(path, progress=progress)
    texts: list[bytes] = []
    kept = 0
    for text, untouched in _texts(trace.content, rows, trace.log.content_bytes):
        texts.append(text)
        kept += untouched
    members = {key: json.dumps(value, allow_nan=False, ensure_ascii=False).encode() for key, value in trace.metadata.items()}
    return Elements(trace, texts, members, kept)


def _texts(content: Content, rows: Rows, size: int) -> Iterator[tuple[bytes, bool]]:
    starts = rows["at"].tolist()
    ends = [*starts[1:], size][: len(starts)]
    for i, (at, end, drop, repairs) in enumerate(zip(starts, ends, rows["drop"].tolist(), rows["repairs"].tolist(), strict=True)):
        if drop:
            yield b"", False
            continue
        # Between two elements there is nothing but commas and blanks, unless an array ends there.
        text = content.read(at, min(end - at, EVENT_BYTES)).rstrip(_BEHIND) if end > at else b""
        if not repairs and _is_value(text):
            yield text, True
            continue
        value, stood = _value(content, at, text, size)
        if not repairs and stood is not None:
            yield stood, True
        else:
            yield msgspec.json.encode(plain(_settled(value, rows[i]))), False


def _is_value(text: bytes) -> bool:
    try:
        _IS_VALUE.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _value(content: Content, at: int, text: bytes, size: int) -> tuple[dict[str, Any], bytes | None]:
    """Return the event at an offset, and its text if that is sound."""
    if len(text) <= MENDABLE_BYTES:
        try:
            value, repairs = parse(text, exact=True)
            if isinstance(value, dict):
                return value, None if repairs else text
        except Unreadable:
            pass
    for length in (MENDABLE_BYTES, EVENT_BYTES):
        data = content.read(at, min(length, size - at))
        found = Damaged(Piece(data, len(data), at, seamed=False, final=at + len(data) >= size)).event(0)
        if found is not None and found.value is not None:
            return found.value, found.text
    return {}, None


def _settled(event: dict[str, Any], row: Any) -> dict[str, Any]:
    """Return the event with what its row says where it said nothing usable."""
    repairs = int(row["repairs"])
    unclosed = repairs & bit(Repair.UNCLOSED_BEGIN)
    if not repairs & (_VALUE_REPAIRS | unclosed):
        return event
    out = dict(event)
    phase = "X" if unclosed else chr(int(row["phase"]))
    out["ph"] = phase
    if "ts" in out:
        out["ts"] = Number(decimal_us(int(row["ts"])))
    if phase == "X":
        out["dur"] = Number(decimal_us(int(row["dur"])))
    args = out.get("args")
    if repairs & bit(Repair.STREAM_OUT_OF_RANGE) and isinstance(args, dict):
        known = {key: Number(str(int(row[column]))) for key, column in _FOLDED if key in args and int(row[column]) != MISSING}
        out["args"] = {**args, **known}
    return out


__all__ = ["Elements", "elements"]
