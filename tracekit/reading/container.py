"""The file as a stream of bytes: plain, gzip or zip, told by its first bytes and never by its suffix."""

from __future__ import annotations

import io
import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from isal import igzip_lib, isal_zlib

from tracekit.errors import InputError
from tracekit.reading.content import FileContent, KeptContent

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
CHUNK_BYTES = 4 << 20
MOST_EXPANSION = 250
"""Deflate can grow 1032-fold, but traces grow 10- to 60-fold: what grows more, and past ``BOMB_BYTES``, is no trace."""

BOMB_BYTES = 256 << 20
MOST_STDIN_ARCHIVE_BYTES = 1 << 30
_FEED_BYTES = 16 << 10
_STEP_BYTES = 32 << 10
"""Unpacked bytes at a time: where the stream is damaged no more than these are lost, and none where it is within the first ``_SALVAGE_BYTES``."""

_SALVAGE_BYTES = 64 << 10
_SALVAGE_STEP_BYTES = 4 << 10
Progress = Callable[[int, int], None]

_DAMAGE: tuple[type[Exception], ...] = (cast("type[Exception]", igzip_lib.IsalError), zlib.error, MemoryError)

# What people hand over by mistake, by its first bytes.
_TRACE = "Give the Chrome trace that torch.profiler exports."
_OTHERS = (
    (b"SQLite format 3\x00", "is an SQLite file (an Nsight Systems export?)", _TRACE),
    (b"version https://git-lfs", "is a Git LFS pointer, not the file itself", "Fetch it with `git lfs pull`."),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "Unpack it first with `zstd -d`."),
    (b"BZh", "is compressed with bzip2", "Unpack it first with `bunzip2`."),
    (b"\xfd7zXZ\x00", "is compressed with xz", "Unpack it first with `unxz`."),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive", "Unpack it first."),
    (b"\x89HDF", "is an HDF5 file", _TRACE),
    (b"PAR1", "is a Parquet file", _TRACE),
    (b"\x80\x04", "is a Python pickle (a memory snapshot?)", _TRACE),
    (b"\x80\x02", "is a Python pickle (a memory snapshot?)", _TRACE),
    (b"<!doctype", "is an HTML page", "Download the trace itself, not the page about it."),
    (b"<html", "is an HTML page", "Download the trace itself, not the page about it."),
    (b"<?xml", "is an XML file", _TRACE),
    (b"\xff\xfe", "is text in UTF-16", "Save it as UTF-8."),
    (b"\xfe\xff", "is text in UTF-16", "Save it as UTF-8."),
    (b"%pdf", "is a PDF file", _TRACE),
)


@dataclass
class Source:
    """A file being read.

    Attributes:
        name: As given; ``-`` is standard input.
        container: ``plain``, ``gzip`` or ``zip``.
        file_bytes: Its size on disk (of a pipe: what came so far).
        content: Where args can be read from later.
        damaged: What is wrong with the compressed stream, or "".
        done: Bytes of the file read so far.
        size: Of the file; 0 where that isn't known.
        file: What to close in the end.
    """

    name: str
    container: str
    file_bytes: int
    content: FileContent | KeptContent
    chunks: Iterator[bytes] = field(default_factory=lambda: iter(()))
    damaged: str = ""
    done: int = 0
    size: int = 0
    file: IO[bytes] | None = None

    def close(self) -> None:
        """Close the file, unless its content will be read from it later."""
        if self.file is not None and not isinstance(self.content, FileContent):
            self.file.close()


def open_source(path: str | Path) -> Source:
    """Open a trace file; ``-`` is standard input.

    Raises:
        InputError: It can't be read, or is something else.
    """
    name = str(path)
    if name == "-":
        return _source(name, _standard_input())
    file = _open(name)
    try:
        source = _source(name, file)
    except BaseException:
        file.close()
        raise
    source.file = file
    return source


def _source(name: str, file: IO[bytes]) -> Source:
    try:
        mode = os.fstat(file.fileno())
        regular, file_bytes = stat.S_ISREG(mode.st_mode), mode.st_size
    except (OSError, AttributeError, io.UnsupportedOperation):
        regular, file_bytes = False, 0
    seekable = regular and name != "-"
    reads = _reads(name, file)
    first = next(reads, b"")
    while len(first) < 64 and (more := next(reads, b"")):
        first += more
    if not first:
        raise InputError(name, "is empty", "The program that wrote it may have been killed before it wrote anything; record again.")
    _refuse_others(name, first)
    content = FileContent(name, file) if seekable and first[:2] != GZIP and first[:4] != ZIP else KeptContent()
    source = Source(name, "plain", file_bytes, content, size=file_bytes if regular else 0)
    raw = _counted(source, _chain(first, reads))
    if first[:2] == GZIP:
        source.container, source.chunks = "gzip", _gunzip(source, raw)
    elif first[:4] == ZIP:
        source.container, source.chunks = "zip", _unzip(source, file if seekable else io.BytesIO(_all(name, raw)))
    else:
        source.chunks = raw
    return source


def _standard_input() -> IO[bytes]:
    try:
        return sys.stdin.buffer
    except AttributeError as error:
        raise InputError("-", "standard input can't be read: it is closed", "Pipe a trace into it, or name a file.") from error


def _open(name: str) -> IO[bytes]:
    try:
        return Path(name).open("rb", buffering=0)
    except IsADirectoryError as error:
        raise InputError(name, "is a folder", "Name a trace file in it.") from error
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if name == "-":
        return InputError("-", f"standard input can't be read: {reason}", "Pipe a trace into it, or name a file.")
    return InputError(name, f"can't be read: {reason}", "Check the path and its permissions.")


def _reads(name: str, file: IO[bytes]) -> Iterator[bytes]:
    while True:
        try:
            data = file.read(CHUNK_BYTES)
        except (OSError, ValueError) as error:
            raise _unreadable(name, error) from error
        if not data:
            return
        yield data


def _chain(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _counted(source: Source, reads: Iterator[bytes]) -> Iterator[bytes]:
    for data in reads:
        source.done += len(data)
        source.file_bytes = max(source.file_bytes, source.done)
        yield data


def _all(name: str, reads: Iterator[bytes]) -> bytes:
    out = bytearray()
    for data in reads:
        out += data
        if len(out) > MOST_STDIN_ARCHIVE_BYTES:
            raise InputError(name, "is a zip archive of more than 1 GiB on standard input", "Unpack it first.")
    return bytes(out)


def _refuse_others(name: str, first: bytes) -> None:
    start = first[:64].lstrip()
    for magic, what, hint in _OTHERS:
        if start.startswith(magic) or start.lower().startswith(magic):
            raise InputError(name, what, hint)


def _gunzip(source: Source, raw: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress all members; what follows the last one is ignored, as gzip does. A damaged stream gives what came before the damage."""
    total = 0
    for part in _members(source, raw):
        total += len(part)
        if total > BOMB_BYTES and total > MOST_EXPANSION * max(source.done, 1):
            raise InputError(
                source.name,
                f"unpacks to more than {MOST_EXPANSION} times its size, as no trace does",
                "If it is one, unpack it first with `gunzip`.",
            )
        yield part
    if not total:
        raise InputError(
            source.name, f"its gzip stream is damaged from the start ({source.damaged or 'it is empty'})", "Copy or record it again."
        )


def _members(source: Source, raw: Iterator[bytes]) -> Iterator[bytes]:
    data, more = b"", True
    while True:
        while more and len(data) < 18:
            piece = next(raw, b"")
            data, more = data + piece, bool(piece)
        if data[:2] != GZIP:
            return
        begin, given = data[:_SALVAGE_BYTES], 0
        stream = isal_zlib.decompressobj(wbits=31)
        at = 0
        try:
            while not stream.eof:
                if at >= len(data) and not stream.unconsumed_tail:
                    data, at = next(raw, b""), 0
                    begin += data[: _SALVAGE_BYTES - len(begin)]
                    if not data:
                        source.damaged = "the compressed stream is cut"
                        return
                feed = stream.unconsumed_tail or data[at : at + _FEED_BYTES]
                at += 0 if stream.unconsumed_tail else len(feed)
                out = stream.decompress(feed, _STEP_BYTES)
                if out:
                    given += len(out)
                    yield out
        except _DAMAGE as error:
            source.damaged = str(error) or type(error).__name__
            yield _salvaged(begin, given)
            return
        data = stream.unused_data + data[at:]


def _salvaged(data: bytes, given: int) -> bytes:
    """Return what else a damaged member holds before the damage: with an error comes nothing, so it is unpacked anew, at last byte by byte."""
    stream, out = zlib.decompressobj(wbits=31), bytearray()
    step = _SALVAGE_STEP_BYTES
    while not stream.eof:
        before = stream.copy()
        try:
            part = stream.decompress(data, step)
        except _DAMAGE:
            if step == 1:
                break
            stream, step = before, 1
            continue
        if not part and stream.unconsumed_tail == data:
            break
        data = stream.unconsumed_tail
        out += part
    return bytes(out[given:])


def _unzip(source: Source, file: IO[bytes]) -> Iterator[bytes]:
    name = source.name
    try:
        with zipfile.ZipFile(file) as archive:
            members = [one for one in archive.infolist() if not one.is_dir() and not _is_litter(one.filename)]
            if len(members) != 1:
                listed = ", ".join(one.filename[:60] for one in members[:3]) or "nothing"
                raise InputError(name, f"is a zip archive of {len(members)} files ({listed})", "Unpack it and name one of them.")
            with archive.open(members[0]) as member:
                yield from _member(source, member)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        if source.done and source.content.size:
            source.damaged = str(error)
            return
        raise InputError(name, f"is a zip archive that can't be unpacked: {error}", "Unpack it by hand, or copy it again.") from error


def _member(source: Source, member: IO[bytes]) -> Iterator[bytes]:
    reads = iter(lambda: member.read(CHUNK_BYTES), b"")
    first = next(reads, b"")
    if not first:
        raise InputError(source.name, "is a zip archive of an empty file", "Record again.")
    _refuse_others(source.name, first)
    if first[:2] == GZIP:
        yield from _gunzip(source, _chain(first, reads))
        return
    total = 0
    for data in _chain(first, reads):
        total += len(data)
        if total > BOMB_BYTES and total > MOST_EXPANSION * max(source.file_bytes, 1):
            raise InputError(source.name, f"unpacks to more than {MOST_EXPANSION} times its size, as no trace does", "Unpack it first.")
        yield data


def _is_litter(name: str) -> bool:
    return name.startswith("__MACOSX/") or name.rsplit("/", 1)[-1].startswith(".")


__all__ = ["Progress", "Source", "open_source"]
