"""The events of a file as they stand in it, and edits of their text that leave the rest alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec
from isal import igzip

from tracekit.errors import InputError
from tracekit.reading.container import open_source


class _Parts(msgspec.Struct):
    """The parts of an event that edits look at."""

    args: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()
    ph: str = ""
    name: str = ""
    pid: int | str | float = 0
    tid: int | str | float = 0


@dataclass(frozen=True)
class RawTrace:
    """A file's events and what stands around them.

    Attributes:
        events: The text of each event, in the file's order.
        members: The top-level values other than the events, as text.
    """

    events: list[bytes]
    members: dict[str, bytes]


_EVENTS = msgspec.json.Decoder(list[msgspec.Raw])
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PARTS = msgspec.json.Decoder(_Parts)


def read_raw(path: str) -> RawTrace:
    """Read a file's events as text.

    Raises:
        InputError: It isn't sound JSON: what was mended while reading can't be written back as it was.
    """
    source = open_source(path)
    try:
        data = b"".join(source.chunks)
    finally:
        source.close()
    try:
        if data.lstrip()[:1] == b"[":
            return RawTrace([bytes(one) for one in _EVENTS.decode(data)], {})
        members = {key: bytes(value) for key, value in _MEMBERS.decode(data).items()}
        return RawTrace([bytes(one) for one in _EVENTS.decode(members.pop("traceEvents"))], members)
    except (msgspec.DecodeError, KeyError, RecursionError) as error:
        raise InputError(
            path,
            f"isn't sound JSON, so it can't be annotated as it stands: {error}",
            "Record again; tracekit summary says what is wrong with it.",
        ) from error


def parts(event: bytes) -> _Parts | None:
    """Return the parts of an event that edits need; None where it is no event."""
    try:
        return _PARTS.decode(event)
    except msgspec.DecodeError:
        return None


def with_args(event: bytes, more: dict[str, object]) -> bytes:
    """Return the event with more args behind its own; nothing else changes."""
    known = parts(event)
    if known is None or not more:
        return event
    text = msgspec.json.encode(more)
    args = bytes(known.args)
    if args[:1] == b"{":
        at = event.rfind(args)
        inner = args[:-1].rstrip()
        joined = inner + (b"" if inner == b"{" else b", ") + text[1:]
        return event[:at] + joined + event[at + len(args) :]
    return _appended(event, b'"args": ' + text) if not args else event


def with_members(event: bytes, more: dict[str, object]) -> bytes:
    """Return the event with more members at its end."""
    return _appended(event, msgspec.json.encode(more)[1:-1])


def _appended(event: bytes, text: bytes) -> bytes:
    inner = event.rstrip()[:-1].rstrip()
    return inner + (b"" if inner.endswith(b"{") else b", ") + text + b"}"


def with_field(event: bytes, key: str, value: object) -> bytes:
    """Return the event with one of its own members replaced (``dur``, ``pid``, ``tid``), wherever it stands; those of the same name in its args stay."""
    known = parts(event)
    if known is None:
        return event
    args = bytes(known.args)
    start = event.rfind(args) if args else len(event)
    found = re.compile(rb'("' + key.encode() + rb'"\s*:\s*)("(?:[^"\\]|\\.)*"|[^,}\s]+)')
    for match in found.finditer(event):
        if not start <= match.start() < start + len(args):
            return event[: match.start(2)] + msgspec.json.encode(value) + event[match.end(2) :]
    return event


def as_it_is(path: str) -> bytes:
    """Return a file's content, gzip, without looking into it.

    Raises:
        InputError: It can't be read.
    """
    source = open_source(path)
    try:
        return bytes(igzip.compress(b"".join(source.chunks), compresslevel=1))
    finally:
        source.close()
