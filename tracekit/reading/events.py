"""Makes the row of one element that was read singly (``damaged.py``), with every doubt decided and counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tracekit.reading.damaged import Found
from tracekit.reading.numbers import INT64_MAX, Number, fold, id_of, ns_of_text, row_of
from tracekit.reading.rows import ASIDE, MISSING, TEXT_ID, TIMED, Row, Space, bit, bits, dropped
from tracekit.trace import ABSENT, Drop, Repair


class _OnlyArgs(msgspec.Struct):
    args: msgspec.Raw = msgspec.Raw()


_ONLY_ARGS = msgspec.json.Decoder(_OnlyArgs)
_ODD_PHASE = "?"


def row_of_found(found: Found, at: int, space: Space, aside: bytearray) -> Row:
    """Return the row of an element.

    Args:
        found: What was read.
        at: Its offset in the content.
        space: Where its names and thread get their numbers.
        aside: Takes its args where they had to be mended.
    """
    if found.drop is not None or found.value is None:
        return dropped(found.drop or Drop.UNREADABLE, at, repairs=bits(found.repairs))
    event = found.value
    phase = _text(event.get("ph"))
    if not phase:
        return dropped(Drop.NO_PHASE, at)
    if len(phase) != 1 or not " " <= phase <= "~" or phase in '"\\':
        phase = _ODD_PHASE
    repairs = bits(found.repairs)
    ts = dur = 0
    if phase in TIMED:
        start, mended = _time(event.get("ts"))
        if start is None:
            return dropped(Drop.NO_TIME, at, ord(phase))
        ts, repairs = start, repairs | mended
        if phase == "X":
            length, mended = _time(event.get("dur"))
            repairs |= mended | (bit(Repair.NO_DURATION) if length is None else bit(Repair.NEGATIVE_DURATION) if length < 0 else 0)
            dur = max(length or 0, 0)
        if not -INT64_MAX <= ts <= INT64_MAX or dur > INT64_MAX - max(ts, 0):
            return dropped(Drop.TIME_OUT_OF_RANGE, at, ord(phase))
    args = event.get("args")
    args = args if isinstance(args, dict) and args else {}
    ids, flags, mended = _ids(phase, event, args, space)
    args_at, args_len, where = _args_place(args, found.text, at, aside)
    return Row(
        ts, dur, *ids, at, args_at, args_len, space.string(_text(event.get("name"))), space.string(_text(event.get("cat"))),
        space.thread(row_of(event.get("pid")), row_of(event.get("tid"))), repairs | mended, ord(phase), 0, flags | where,
    )  # fmt: skip


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else ""


def _time(value: Any) -> tuple[int | None, int]:
    """Return the ns of a time as it stands, or None; and the bit of the repair that it took."""
    if isinstance(value, Number):
        return ns_of_text(value.encode()), 0
    if isinstance(value, str):
        ns = ns_of_text(value.strip().encode("ascii", errors="replace"))
        return ns, bit(Repair.NUMBER_AS_TEXT) if ns is not None else 0
    return None, 0


def _ids(phase: str, event: Mapping[str, Any], args: Mapping[str, Any], space: Space) -> tuple[tuple[int, int, int, int], int, int]:
    """Return device, stream, correlation (of a mark: its id) and External id; flags; and the bits of repairs."""
    if phase in "XB":
        external = args["External id"] if "External id" in args else args.get("external id", MISSING)
        raw = [args.get(key, MISSING) for key in ("device", "stream", "correlation")]
        found = [_id(one) for one in (*raw, external)]
        folded = any(was for _, was in found)
        return (found[0][0], found[1][0], found[2][0], found[3][0]), 0, bit(Repair.STREAM_OUT_OF_RANGE) if folded else 0
    if phase not in TIMED or phase == "E":
        return (MISSING,) * 4, 0, 0
    value = event.get("id")
    number = id_of(value)
    if number is None and isinstance(value, str) and value and not isinstance(value, Number):
        return (MISSING, MISSING, space.string(value), MISSING), TEXT_ID, 0
    return (MISSING, MISSING, MISSING if number is None else fold(number), MISSING), 0, 0


def _id(value: Any) -> tuple[int, bool]:
    """Return an id that fits, ``MISSING`` where the event has none; and whether it had to be folded."""
    if value is MISSING:
        return MISSING, False
    number = id_of(value)
    if number is None:
        return ABSENT, False
    return fold(number), fold(number) != number


def _args_place(args: Mapping[str, Any], text: bytes | None, at: int, aside: bytearray) -> tuple[int, int, int]:
    """Return where an event's args can be read from: offset, length, and the flag that says in which store."""
    if not args:
        return -1, 0, 0
    if text is not None:
        try:
            raw = bytes(_ONLY_ARGS.decode(text).args)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raw = b""
        if raw:
            return at + text.index(raw), len(raw), 0
    raw = msgspec.json.encode(plain(args))
    aside += raw
    return len(aside) - len(raw), len(raw), ASIDE


def plain(value: Any) -> Any:
    """Return a value with its numbers as numbers again, digits kept."""
    if isinstance(value, Number):
        return msgspec.Raw(str(value).encode())
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value
