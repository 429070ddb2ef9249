"""``load``: a file in, a trace out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.errors import InputError, escape_control
from tracekit.reading.columns import Columns
from tracekit.reading.container import Contents, Progress, open_contents
from tracekit.reading.numbers import id_of
from tracekit.reading.repair import Unreadable, parse, parse_args
from tracekit.reading.scan import Scanner, find_array
from tracekit.trace import Category, Device, Drop, Place, ReadLog, Repair, Trace

_TAIL_LIMIT = 256 << 20  # bytes of metadata around the events that are parsed


@dataclass(frozen=True)
class Blob:
    """The args objects of a trace."""

    data: bytes

    def read(self, at: int, length: int) -> bytes:
        """Return ``length`` bytes from offset ``at``."""
        return self.data[at : at + length]


def load(path: str | Path, *, progress: Progress | None = None) -> Trace:
    """Read a trace.

    Args:
        path: A Chrome trace: an object or a bare list, closed or not; plain, gzip or zip, whatever its suffix; ``-`` is standard input.
        progress: Called with bytes done and in all, now and then.

    Returns:
        The trace; its ``log`` says what was dropped and repaired.

    Raises:
        InputError: The file can't be read, or is no Chrome trace.
    """
    contents = open_contents(path, progress)
    data = contents.data
    found = find_array(data)
    if found is None:
        raise _not_a_trace(str(path), data)
    key, at, nested = found
    columns, blob = Columns(), bytearray()
    end = Scanner(data, columns, blob, progress).scan(at)
    if contents.damaged:
        columns.repair(Repair.DAMAGED_CONTAINER, contents.file_bytes, contents.damaged[:60])
    if end is None and not columns.repaired[Repair.TRUNCATED]:
        # The list form may be left open (the trace format says so); an object that ends here was cut between two events.
        columns.repair(Repair.UNCLOSED if key < 0 else Repair.TRUNCATED, len(data), "end of file")
    if nested:
        columns.repair(Repair.NESTED_EVENTS, key, "traceEvents")
    metadata = _metadata(data, key, end, columns) if key >= 0 else {}
    columns.match_ends()
    return _trace(str(path), contents, columns, bytes(blob), metadata)


def _trace(path: str, contents: Contents, columns: Columns, blob: bytes, metadata: dict[str, Any]) -> Trace:
    log = ReadLog(
        path=path,
        container=contents.container,
        file_bytes=contents.file_bytes,
        content_bytes=len(contents.data),
        in_file=columns.in_file,
        kept=columns.kept,
        dropped=dict(columns.dropped),
        repaired=dict(columns.repaired),
        places=_places(columns),
        phases=dict(columns.phases),
        categories=dict(columns.categories),
    )
    _uncategorised(columns)
    slices = columns.to_slices()
    flows, instants, counters, asyncs = (
        columns.to_marks(rows) for rows in (columns.flows, columns.instants, columns.counters, columns.asyncs)
    )
    base = metadata.get("baseTimeNanoseconds", 0)
    return Trace(
        path=path,
        slices=slices,
        strings=columns.to_strings(),
        threads=columns.to_threads(),
        flows=flows,
        instants=instants,
        counters=counters,
        asyncs=asyncs,
        devices=_devices(metadata.get("deviceProperties")),
        base_ns=base if isinstance(base, int) and not isinstance(base, bool) and 0 <= base < 2**62 else 0,
        metadata=metadata,
        log=log,
        content=Blob(blob),
        parse_args=parse_args,
    )


def _uncategorised(columns: Columns) -> None:
    """Take slices for ops in a file whose slices have no category at all: torch without Kineto writes such a list."""
    if columns.slices and set(columns.categories) == {""}:
        columns.slices = [(*row[:3], Category.CPU_OP, *row[4:]) for row in columns.slices]


def _places(columns: Columns) -> tuple[Place, ...]:
    return tuple(sorted((place for places in columns.places.values() for place in places), key=lambda place: place.offset_bytes))


def _devices(listed: Any) -> tuple[Device, ...]:
    if not isinstance(listed, list):
        return ()
    known = [(i, one) for i, one in enumerate(listed) if isinstance(one, dict)]
    return tuple(
        Device(one["id"] if isinstance(one.get("id"), int) else max(id_of(one.get("id", i)), 0), str(one.get("name", "")), one)
        for i, one in known
    )


def _metadata(data: Any, key: int, end: int | None, columns: Columns) -> dict[str, Any]:
    """Return the file's top-level values other than the events; what can't be read is left out and said."""
    head = bytes(data[:key]).strip().rstrip(b",").lstrip(b"\xef\xbb\xbf").lstrip()
    tail = b"" if end is None else bytes(data[end : end + _TAIL_LIMIT]).strip()
    before = _object(head + b"}", 0, columns) if len(head) > 1 else {}
    after = _object(b"{" + tail.lstrip(b","), end or 0, columns) if tail.lstrip(b",").strip() not in (b"}", b"") else {}
    return {**before, **after}


def _object(text: bytes, at: int, columns: Columns) -> dict[str, Any]:
    try:
        value, _ = parse(text.rstrip())
    except Unreadable:
        # A second closing bracket (events nested twice) or rubbish behind the end: up to the last bracket that makes sense.
        for closing in list(re.finditer(rb"\}", text))[-2::-1][:8]:
            try:
                value, _ = parse(text[: closing.end()])
                break
            except Unreadable:
                continue
        else:
            columns.repair(Repair.BAD_METADATA, at, escape_control(text[:60].decode("utf-8", errors="replace")))
            return {}
    return value if isinstance(value, dict) else {}


_KINDS = (
    (
        rb'"nodes"\s*:|"pytorch-version"|"schema"\s*:\s*"1\.',
        "looks like a PyTorch execution trace (nodes, no events)",
        "Give the trace that export_chrome_trace or the trace handler wrote.",
    ),
    (rb'"device_traces"|"segments"\s*:', "looks like a memory snapshot", "Give the trace that export_chrome_trace wrote."),
    (
        rb'"rocprofiler-sdk-tool"',
        "looks like rocprofv3's own JSON",
        "Record with torch.profiler, or let rocprofv3 write its Perfetto or Chrome format.",
    ),
    (rb'"version"\s*:.*"runs"\s*:', "looks like a SARIF report", "Give the trace itself."),
)


def _not_a_trace(path: str, data: Any) -> InputError:
    start = bytes(data[: 1 << 16])
    if b"\x00" in start[:4096]:
        return InputError(
            path,
            "is a binary file, not a Chrome trace in JSON",
            "Give the trace that export_chrome_trace or the trace handler wrote (.json, .json.gz).",
        )
    stripped = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if stripped[:1] not in (b"{", b"["):
        shown = escape_control(stripped[:30].decode("utf-8", errors="replace"))
        return InputError(path, f"is no JSON: it begins with {shown!r}", "Give a Chrome trace (.json, .json.gz).")
    for pattern, what, hint in _KINDS:
        if re.search(pattern, start, re.DOTALL):
            return InputError(path, f"has no traceEvents: it {what}", hint)
    return InputError(
        path, "has no traceEvents, so it is no Chrome trace", "Give the trace that export_chrome_trace or the trace handler wrote."
    )


__all__ = ["Blob", "Drop", "load"]
