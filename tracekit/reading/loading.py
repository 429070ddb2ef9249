"""``load``: a file in, a trace out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.errors import InputError, escape_control
from tracekit.reading.columns import count, first_places, match_ends, to_columns
from tracekit.reading.container import Progress, Source, open_source
from tracekit.reading.content import WithAside
from tracekit.reading.metadata import read_members
from tracekit.reading.numbers import id_of
from tracekit.reading.pieces import ASIDE_AT, Piece, Pieces, Reading, cut
from tracekit.reading.repair import parse_args
from tracekit.reading.rows import Rows, joined
from tracekit.reading.sound import HAVE_NATIVE, new_engine
from tracekit.trace import Device, Drop, ReadLog, Repair, Trace

HEAD_BYTES = 256 << 20
"""Metadata before or behind the events of more bytes isn't held in memory."""

_MOST_THREADS = 8
_EVENTS = re.compile(rb'"traceEvents"\s*+:\s*+([\[{])')
_EXCERPT_BYTES = 60


def load(path: str | Path, *, progress: Progress | None = None) -> Trace:
    """Read a trace.

    Args:
        path: A Chrome trace: an object or a bare list, closed or not; plain, gzip or zip, whatever its suffix; ``-`` is standard input.
        progress: Called with bytes done and in all (0 where that isn't known), now and then.

    Returns:
        The trace; its ``log`` says what was dropped and repaired.

    Raises:
        InputError: The file can't be read, or is no Chrome trace.
    """
    return load_with(path, progress=progress)


def load_with(path: str | Path, *, progress: Progress | None = None, native: bool = HAVE_NATIVE, threads: int | None = None) -> Trace:
    """Read a trace by stated means; the result doesn't depend on them.

    Args:
        path, progress: As for ``load``.
        native: Whether to use the compiled scanner.
        threads: How many pieces to read at a time; by default one a processor. Without the compiled scanner more than one is of no use.
    """
    return load_rows(path, progress=progress, native=native, threads=threads)[0]


def load_rows(
    path: str | Path, *, progress: Progress | None = None, native: bool = HAVE_NATIVE, threads: int | None = None
) -> tuple[Trace, Rows]:
    """Read a trace, and give for who writes it out again the rows of all its elements too, dropped ones included, in the file's order."""
    source = open_source(path)
    try:
        chunks = Counted(source, progress)
        start = _find_array(source.name, chunks)
        wanted = threads or (min(_processors(), _MOST_THREADS) if native else 1)
        pieces = Pieces(lambda: new_engine(native), wanted, source.content.add)
        reading, metadata = _read(start, chunks, pieces)
        if source.damaged:
            reading.notes.add(Repair.DAMAGED_CONTAINER, reading.at)
        return _trace(source, chunks.content_bytes, reading, pieces, metadata)
    finally:
        source.close()


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Counted:
    """The content's chunks as they pass, with the number of bytes."""

    def __init__(self, source: Source, progress: Progress | None) -> None:
        self.content_bytes = 0
        self._source = source
        self._progress = progress

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        data = next(self._source.chunks)
        self.content_bytes += len(data)
        if self._progress is not None:
            self._progress(self._source.done, self._source.size)
        return data


# --- the array


@dataclass(frozen=True)
class _Start:
    """Where the events begin.

    Attributes:
        head: The content before them, up to the key; b"" in a bare list.
        bare: Whether the file is a bare list.
        nested: How many traceEvents enclose the array.
        rest: What was read of the content behind the bracket.
        base: The offset of that.
    """

    head: bytes
    bare: bool
    nested: int
    rest: bytes
    base: int


def _find_array(name: str, chunks: Counted) -> _Start:
    data = bytearray()
    key, nested, at = -1, 0, 0
    for chunk in chunks:
        data += chunk
        first = re.compile(rb"(?:\xef\xbb\xbf)?\s*+").match(data)
        begin = first.end() if first else 0
        if begin < len(data) and data[begin : begin + 1] == b"[":
            return _Start(b"", True, 0, bytes(data[begin + 1 :]), begin + 1)
        if begin < len(data) and data[begin : begin + 1] != b"{":
            break
        while found := _EVENTS.search(data, at):
            key = found.start() if key < 0 else key
            at = found.end()
            if found[1] == b"[":
                return _Start(bytes(data[:key]), False, nested, bytes(data[at:]), at)
            nested += 1
        at = max(at, len(data) - 4096)
        if len(data) > HEAD_BYTES:
            break
    raise _not_a_trace(name, data)


def _read(start: _Start, chunks: Counted, pieces: Pieces) -> tuple[Reading, dict[str, Any]]:
    """Read the events, and what stands around them."""
    out = Reading()
    tail = bytearray()
    complete = True
    for data in pieces.read(cut(chunks, start.rest, start.base), out):
        if len(tail) <= HEAD_BYTES:
            tail += data
        else:
            complete = False
    if start.nested:
        out.notes.add(Repair.NESTED_EVENTS, len(start.head))
    metadata, _ = read_members(start.head, 0, out.notes)
    while out.closed and tail and complete and not start.bare:
        base = out.at
        found, again = read_members(bytes(tail), base, out.notes)
        metadata.update(found)
        if again is None:
            break
        # A second array of events: two traces laid into one object. A reader that takes the last only would lose the first.
        rest = bytes(tail[again:])
        out.closed, tail = False, bytearray()
        for data in pieces.read(iter([Piece(rest, len(rest), base + again, seamed=False, final=True)]), out):
            tail += data
    if not complete:
        out.notes.add(Repair.BAD_METADATA, out.at)
    if not out.closed:
        _not_closed(start, out)
    return out, metadata


def _not_closed(start: _Start, out: Reading) -> None:
    cut_event = any((batch.rows["drop"] == 1 + list(Drop).index(Drop.TRUNCATED)).any() for batch in out.batches[-1:])
    if not cut_event:
        # The list form may be left open (the trace format says so); an object that ends here was cut between two events.
        out.notes.add(Repair.UNCLOSED if start.bare else Repair.TRUNCATED, out.at)


# --- the trace


def _trace(source: Source, content_bytes: int, reading: Reading, pieces: Pieces, metadata: dict[str, Any]) -> tuple[Trace, Rows]:
    spaces = []
    for reader in pieces.readers:
        spaces += [reader.engine.named(), (list(reader.space.strings), list(reader.space.threads))]
    rows, strings, threads = joined(reading.batches, spaces)
    match_ends(rows)
    counts = count(rows)
    content = WithAside(source.content, bytes(reading.aside), ASIDE_AT)
    columns = to_columns(rows, strings, threads, lambda at, length: parse_args(content.read(at, length)))
    repaired = dict(counts.repaired)
    for repair, number in reading.notes.count.items():
        repaired[repair] = repaired.get(repair, 0) + number
    log = ReadLog(
        path=source.name,
        container=source.container,
        file_bytes=source.file_bytes,
        content_bytes=content_bytes,
        in_file=counts.in_file,
        kept=counts.kept,
        dropped=counts.dropped,
        repaired=repaired,
        places=first_places([*counts.places, *reading.notes.places], _excerpts(content)),
        phases=counts.phases,
        categories=columns.categories,
    )
    base = metadata.get("baseTimeNanoseconds", 0)
    trace = Trace(
        path=source.name,
        slices=columns.slices,
        strings=columns.strings,
        threads=columns.threads,
        flows=columns.flows,
        instants=columns.instants,
        counters=columns.counters,
        asyncs=columns.asyncs,
        devices=_devices(metadata.get("deviceProperties")),
        base_ns=base if isinstance(base, int) and not isinstance(base, bool) and 0 <= base < 2**62 else 0,
        metadata=metadata,
        log=log,
        content=content,
        parse_args=parse_args,
    )
    return trace, rows


def _excerpts(content: WithAside) -> Callable[[int], str]:
    def excerpt(at: int) -> str:
        return escape_control(content.around(at, _EXCERPT_BYTES).decode("utf-8", errors="replace"))

    return excerpt


def _devices(listed: Any) -> tuple[Device, ...]:
    if not isinstance(listed, list):
        return ()
    known = [(i, one) for i, one in enumerate(listed) if isinstance(one, dict)]
    return tuple(Device(_number(one.get("id"), i), str(one.get("name", "")), one) for i, one in known)


def _number(value: Any, otherwise: int) -> int:
    found = id_of(value)
    return otherwise if found is None or found < 0 else found


# --- what it is if it is no trace

_KINDS = (
    (
        rb'"nodes"\s*+:|"pytorch-version"|"schema"\s*+:\s*+"1\.',
        "looks like a PyTorch execution trace (nodes, no events)",
        "Give the trace that export_chrome_trace or the trace handler wrote.",
    ),
    (rb'"device_traces"|"segments"\s*+:', "looks like a memory snapshot", "Give the trace that export_chrome_trace wrote."),
    (
        rb'"rocprofiler-sdk-tool"',
        "looks like rocprofv3's own JSON",
        "Record with torch.profiler, or let rocprofv3 write its Perfetto or Chrome format.",
    ),
    (rb'"\$schema"[^,]*sarif|"runs"\s*+:\s*+\[', "looks like a SARIF report", "Give the trace itself."),
    (rb'"schema"\s*+:\s*+"tracekit\.', "is a result of tracekit's", "Give the trace itself."),
    (rb'"cells"\s*+:.*"nbformat"', "is a Jupyter notebook", "Give the trace itself."),
)


def _not_a_trace(path: str, data: bytes | bytearray) -> InputError:
    start = bytes(data[: 1 << 16])
    if b"\x00" in start[:4096] or start[:1] == b"\x0a":
        return InputError(
            path,
            "is a binary file (a Perfetto trace?), not a Chrome trace in JSON" if start[:1] == b"\x0a" else "is a binary file, not JSON",
            "Give the trace that export_chrome_trace or the trace handler wrote (.json, .json.gz).",
        )
    stripped = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if stripped[:1] not in (b"{", b"["):
        shown = escape_control(stripped[:30].decode("utf-8", errors="replace"))
        what = f"is no JSON: it begins with {shown!r}" if stripped else "holds nothing but blanks"
        return InputError(path, what, "Give a Chrome trace (.json, .json.gz).")
    for pattern, what, hint in _KINDS:
        if re.search(pattern, start, re.DOTALL):
            return InputError(path, f"has no traceEvents: it {what}", hint)
    where = f" in its first {HEAD_BYTES >> 20} MiB" if len(data) > HEAD_BYTES else ""
    hint = "Give the trace that export_chrome_trace or the trace handler wrote."
    return InputError(path, f"has no traceEvents{where}, so it is no Chrome trace", hint)
