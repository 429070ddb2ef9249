"""The file as bytes: plain, gzip or zip, told by its first bytes and never by its suffix."""

from __future__ import annotations

import io
import mmap
import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from isal import isal_zlib

from tracekit.errors import InputError

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
MOST_EXPANSION = 1100
"""No deflate stream grows by more than 1032; a container may not claim to."""

MOST_BYTES = 64 << 30
"""Decompressed bytes beyond which a file is refused: no machine that could use them would miss the message."""

_PIECE = 4 << 20
Progress = Callable[[int, int], None]

# What people hand over by mistake, by its first bytes.
_OTHERS = (
    (b"SQLite format 3\x00", "is an SQLite file (an Nsight Systems export?)", "Give the Chrome trace that torch.profiler exports."),
    (b"version https://git-lfs", "is a Git LFS pointer, not the file itself", "Fetch it with `git lfs pull`."),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "Unpack it first with `zstd -d`."),
    (b"BZh", "is compressed with bzip2", "Unpack it first with `bunzip2`."),
    (b"\xfd7zXZ\x00", "is compressed with xz", "Unpack it first with `unxz`."),
    (b"\x89HDF", "is an HDF5 file", "Give the Chrome trace that torch.profiler exports."),
    (b"PAR1", "is a Parquet file", "Give the Chrome trace that torch.profiler exports."),
    (b"\x80\x04", "is a Python pickle (a memory snapshot?)", "Give the Chrome trace that torch.profiler exports."),
    (b"\x80\x02", "is a Python pickle (a memory snapshot?)", "Give the Chrome trace that torch.profiler exports."),
    (b"<!DOCTYPE", "is an HTML page", "Download the trace itself, not the page about it."),
    (b"<!doctype", "is an HTML page", "Download the trace itself, not the page about it."),
    (b"<html", "is an HTML page", "Download the trace itself, not the page about it."),
)


@dataclass(frozen=True)
class Contents:
    """What the file holds.

    Attributes:
        data: The decompressed bytes (a read-only map of the file where it is plain).
        container: ``plain``, ``gzip`` or ``zip``.
        file_bytes: Size on disk.
        damaged: What is wrong with the compressed stream, or "".
    """

    data: bytes | mmap.mmap
    container: str
    file_bytes: int
    damaged: str = ""


def open_contents(path: str | Path, progress: Progress | None = None) -> Contents:
    """Return the bytes of a trace file; ``-`` is standard input.

    Args:
        path: The file.
        progress: Called with compressed bytes done and in all, now and then.

    Raises:
        InputError: It can't be read, or is something else.
    """
    name = str(path)
    raw = _standard_input() if name == "-" else _map(name)
    size = len(raw)
    if not size:
        raise InputError(name, "is empty", "The program that wrote it may have been killed before it wrote anything; record again.")
    start = bytes(raw[:64])
    if start[:2] == GZIP:
        data, damaged = _gunzip(name, raw, progress)
        return Contents(data, "gzip", size, damaged)
    if start[:4] == ZIP:
        return Contents(_unzip(name, raw), "zip", size)
    for magic, what, hint in _OTHERS:
        if start.lstrip().startswith(magic):
            raise InputError(name, what, hint)
    return Contents(raw, "plain", size)


def _standard_input() -> bytes:
    try:
        return sys.stdin.buffer.read()
    except (OSError, ValueError, AttributeError) as error:
        raise InputError("-", f"standard input can't be read: {error}", "Pipe a trace into it, or name a file.") from error


def _map(name: str) -> bytes | mmap.mmap:
    try:
        with Path(name).open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                return file.read()
            if not os.fstat(file.fileno()).st_size:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except IsADirectoryError as error:
        raise InputError(name, "is a folder", "Name a trace file in it.") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(name, f"can't be read: {reason}", "Check the path and its permissions.") from error


def _gunzip(name: str, raw: bytes | mmap.mmap, progress: Progress | None) -> tuple[bytes, str]:
    """Decompress all members; what follows the last one is ignored, as gzip does. A damaged stream gives what came before the damage."""
    out = bytearray()
    at, size, damaged = 0, len(raw), ""
    while at < size and bytes(raw[at : at + 2]) == GZIP:
        stream = isal_zlib.decompressobj(wbits=31)
        try:
            while not stream.eof and at < size:
                piece = raw[at : at + _PIECE]
                out += stream.decompress(piece)
                at += len(piece)
                if len(out) > MOST_BYTES or len(out) > MOST_EXPANSION * size + (1 << 20):
                    raise InputError(name, f"unpacks to more than {len(out) >> 30} GiB", "It is too large to read, or no trace at all.")
                if progress is not None:
                    progress(min(at, size), size)
        except (isal_zlib.error, zlib.error, MemoryError) as error:
            damaged = str(error) or type(error).__name__
            break
        if not stream.eof:
            damaged = "the compressed stream is cut"
            break
        at -= len(stream.unused_data)
    if not out:
        raise InputError(name, f"its gzip stream is damaged from the start ({damaged or 'it is empty'})", "Copy or record it again.")
    return bytes(out), damaged


def _unzip(name: str, raw: bytes | mmap.mmap) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = [one for one in archive.infolist() if not one.is_dir() and not _is_litter(one.filename)]
            if len(members) != 1:
                listed = ", ".join(one.filename[:60] for one in members[:3]) or "nothing"
                raise InputError(name, f"is a zip archive of {len(members)} files ({listed})", "Unpack it and name one of them.")
            if members[0].file_size > MOST_BYTES:
                raise InputError(name, f"unpacks to {members[0].file_size >> 30} GiB", "It is too large to read.")
            data = archive.read(members[0])
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise InputError(name, f"is a zip archive that can't be unpacked: {error}", "Unpack it by hand, or copy it again.") from error
    if data[:2] == GZIP:
        return _gunzip(name, data, None)[0]
    return data


def _is_litter(name: str) -> bool:
    return name.startswith("__MACOSX/") or name.rsplit("/", 1)[-1].startswith(".")
