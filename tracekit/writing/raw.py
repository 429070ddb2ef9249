"""The events of a file as they stand in it, and edits of their text that leave the rest alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from isal import igzip

from tracekit.errors import InputError
from tracekit.reading.container import open_source
from tracekit.reading.elements import elements
from tracekit.trace import Trace


class _Parts(msgspec.Struct):
    """The parts of an event that edits look at."""

    args: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()
    ts: msgspec.Raw = msgspec.Raw()
    id: msgspec.Raw = msgspec.Raw()
    bind_id: msgspec.Raw = msgspec.Raw()
    ph: str = ""
    name: str = ""
    cat: str = ""
    pid: int | str | float = 0
    tid: int | str | float = 0


@dataclass(frozen=True)
class RawTrace:
    """A file's events and what stands around them.

    Attributes:
        events: The text of each element of the file, in the file's order; b"" where it couldn't be read.
        members: The top-level values other than the events, as text.
    """

    events: list[bytes]
    members: dict[str, bytes]


_EVENTS = msgspec.json.Decoder(list[msgspec.Raw])
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PARTS = msgspec.json.Decoder(_Parts)


def read_raw(trace: Trace) -> RawTrace:
    """Read the events of a trace's file as text: as they stand, or, where they aren't sound JSON, as they were mended.

    Raises:
        InputError: The file came from standard input, or can't be read any more.
    """
    if trace.path == "-":
        raise InputError("-", "standard input can be read only once", "Name a file.")
    found = _as_it_stands(trace.path)
    if found is not None and len(found.events) == trace.log.in_file:
        return found
    mended = elements(trace.path)
    return RawTrace(mended.texts, mended.members)


def _as_it_stands(path: str) -> RawTrace | None:
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
    except (msgspec.DecodeError, KeyError, RecursionError):
        return None


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


def packed(raw: RawTrace, events: Iterable[bytes], *, gzip: bool) -> bytes:
    """Return a trace file of these events, with what stood around the old ones."""
    members = b"".join(msgspec.json.encode(key) + b": " + value + b",\n" for key, value in raw.members.items())
    data = b"{" + members + b'"traceEvents": [\n' + b",\n".join(event for event in events if event) + b"\n]}\n"
    return bytes(igzip.compress(data, compresslevel=2)) if gzip else data
