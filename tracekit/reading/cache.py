"""Big traces, read once: their columns are kept in the user's cache folder under a hash of the file's content.

A cached trace is one file: a header in JSON, then the columns as they lie in memory, which are mapped and not read, then what args are read from where
the file itself was packed. Whatever is wrong with a cached file, the trace is read anew; a cached file is never believed beyond its own length.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from isal import isal_zlib

from tracekit.reading.container import GZIP, ZIP, Progress
from tracekit.reading.content import FileContent, KeptContent, WithAside
from tracekit.reading.loading import load
from tracekit.reading.repair import parse_args
from tracekit.trace import Device, Drop, Marks, Place, ReadLog, Repair, Slices, Strings, Thread, Trace

FORMAT = 1
"""Raised whenever the file's form changes; a change of the reader's code is noticed by itself."""

LEAST_BYTES = 48 << 20
LEAST_PACKED_BYTES = 4 << 20
"""Smaller files are read faster than they would be looked up, or nearly."""

MOST_BYTES = 2 << 30
"""What the folder holds at most: who was used longest ago goes first."""

_MAGIC = b"tracekit-cache\n"
_BLOCK_BYTES = 8 << 20
_ALIGN = 64
_MARKS = ("flows", "instants", "counters", "asyncs")
_SUFFIX = ".columns"


def folder() -> Path:
    """Return the folder of cached traces: ``TRACEKIT_CACHE_DIR``, or ``tracekit`` in the user's cache folder."""
    own = os.environ.get("TRACEKIT_CACHE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    return (Path(base) if base else Path.home() / ".cache") / "tracekit"


def load_cached(path: str | Path, *, progress: Progress | None = None) -> Trace:
    """Read a trace, or what was kept of an earlier reading of the same content.

    Raises:
        InputError: As for ``load``.
    """
    if not _pays(path):
        return load(path, progress=progress)
    try:
        place = folder() / f"{_key(Path(path))}{_SUFFIX}"
    except (OSError, RuntimeError):  # unreadable: load says so; no home
        return load(path, progress=progress)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return _restored(place, str(path))
    trace = load(path, progress=progress)
    with contextlib.suppress(OSError):
        _store(trace, place)
        _bound(place.parent)
    return trace


def clear() -> tuple[int, int]:
    """Delete all cached traces; return how many there were, and their bytes."""
    count = size = 0
    for path, info in _listed(folder()):
        with contextlib.suppress(OSError):
            path.unlink()
            count, size = count + 1, size + info.st_size
    return count, size


def held() -> tuple[int, int]:
    """Return how many traces are cached, and their bytes."""
    sizes = [info.st_size for _, info in _listed(folder())]
    return len(sizes), sum(sizes)


def _pays(path: str | Path) -> bool:
    if str(path) == "-":
        return False
    try:
        info = Path(path).stat()
        if not stat.S_ISREG(info.st_mode) or info.st_size < LEAST_PACKED_BYTES:
            return False
        with Path(path).open("rb") as file:
            packed = file.read(4)
    except (OSError, ValueError):
        return False
    return packed[:2] == GZIP or packed == ZIP or info.st_size >= LEAST_BYTES


# --- the key


def _key(path: Path) -> str:
    """Return a hash of the file's content and of the code that reads it."""
    out = hashlib.sha256(f"{FORMAT} {_code()} {path.stat().st_size}".encode())
    with path.open("rb", buffering=0) as file, ThreadPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
        size = os.fstat(file.fileno()).st_size
        for digest in pool.map(lambda at: _digest(file.fileno(), at), range(0, size, _BLOCK_BYTES)):
            out.update(digest)
    return out.hexdigest()[:40]


def _digest(file: int, at: int) -> bytes:
    return hashlib.sha256(os.pread(file, _BLOCK_BYTES, at)).digest()


def _code() -> str:
    here = Path(__file__).parent
    files = sorted([*here.glob("*.py"), *here.glob("*.toml"), *here.glob("_native*"), here.parent / "trace.py"])
    return " ".join(f"{file.name} {info.st_size} {info.st_mtime_ns}" for file in files for info in (file.stat(),))


# --- writing


def _store(trace: Trace, place: Path) -> None:
    content = trace.content
    if not isinstance(content, WithAside):
        return
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    header, parts = _described(trace, content)
    text = json.dumps(header).encode()
    beside = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            file.write(_MAGIC + len(text).to_bytes(8, "little") + text)
            for part in parts:
                file.write(b"\0" * (-file.tell() % _ALIGN))
                file.write(part)
        beside.replace(place)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()


def _described(trace: Trace, content: WithAside) -> tuple[dict[str, Any], list[Any]]:
    parts: list[Any] = []
    columns: dict[str, list[tuple[str, str, int]]] = {}
    for name in ("slices", *_MARKS):
        columns[name] = []
        for field in fields(getattr(trace, name)):
            array = np.ascontiguousarray(getattr(getattr(trace, name), field.name))
            columns[name].append((field.name, array.dtype.str, len(array)))
            parts.append(array.view(np.uint8).data if len(array) else b"")
    kept = content.content
    pieces = kept.pieces() if isinstance(kept, KeptContent) else None
    parts.append(content.aside)
    parts += [data for _, _, data in pieces or ()]
    sum_ = 0
    for part in parts:
        sum_ = isal_zlib.crc32(part, sum_)
    log = trace.log
    header = {
        "crc": sum_,
        "columns": columns,
        "aside": [len(content.aside), content.aside_at],
        "pieces": None if pieces is None else [(base, size, len(data)) for base, size, data in pieces],
        "strings": list(trace.strings),
        "threads": [(one.pid, one.tid, one.name, one.process_name, one.process_label) for one in trace.threads],
        "devices": [(one.id, one.name, dict(one.properties)) for one in trace.devices],
        "base_ns": trace.base_ns,
        "metadata": dict(trace.metadata),
        "log": {
            "container": log.container, "file_bytes": log.file_bytes, "content_bytes": log.content_bytes, "in_file": log.in_file, "kept": log.kept,
            "dropped": {one.name: count for one, count in log.dropped.items()}, "repaired": {one.name: count for one, count in log.repaired.items()},
            "places": [(type(one.reason).__name__, one.reason.name, one.offset_bytes, one.excerpt) for one in log.places],
            "phases": dict(log.phases), "categories": dict(log.categories),
        },
    }  # fmt: skip
    return header, parts


# --- reading


class _Parts:
    """The parts of a mapped file, one after the other.

    Raises:
        ValueError: The file is shorter than it says.
    """

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self._data, self._at, self.crc = data, at, 0

    def array(self, dtype: str, count: int) -> Any:
        """Return the next part as a read-only array that isn't copied."""
        kind = np.dtype(dtype)
        if kind.kind not in "iu":
            raise ValueError("no column of numbers")
        at = self._next(count * kind.itemsize)
        return np.frombuffer(self._data, dtype=kind, count=count, offset=at)

    def text(self, size: int) -> bytes:
        """Return the next part as bytes."""
        at = self._next(size)
        return self._data[at : at + size]

    def _next(self, size: int) -> int:
        at = self._at + -self._at % _ALIGN
        if size < 0 or at + size > len(self._data):
            raise ValueError("shorter than it says")
        self._at = at + size
        self.crc = isal_zlib.crc32(memoryview(self._data)[at : at + size], self.crc)
        return at


def _restored(place: Path, path: str) -> Trace:
    """Return a cached trace.

    Raises:
        OSError, ValueError, KeyError, TypeError: There is none, or it is damaged.
    """
    with place.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        start = len(_MAGIC) + 8
        if data[: len(_MAGIC)] != _MAGIC:
            raise ValueError("no cached trace")
        size = int.from_bytes(data[len(_MAGIC) : start], "little")
        header = json.loads(data[start : start + size])
        parts = _Parts(data, start + size)
        trace = _rebuilt(header, parts, path)
        if parts.crc != header["crc"]:
            raise ValueError("damaged")
        _check(trace)
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        with contextlib.suppress(OSError):
            place.unlink()
        raise ValueError(str(error)) from error
    with contextlib.suppress(OSError):
        os.utime(place)  # used now
    return trace


def _check(trace: Trace) -> None:
    """Raise ``AssertionError`` unless every number points at something that is there."""
    trace.log.check()
    for part in (trace.slices, *(getattr(trace, name) for name in _MARKS)):
        assert len({len(column) for column in vars(part).values()}) == 1, "columns of different lengths"
        for column, limit in ((part.name, len(trace.strings)), (part.thread, len(trace.threads))):
            assert not len(column) or (column.min() >= 0 and column.max() < limit), "a number out of range"


def _rebuilt(header: dict[str, Any], parts: _Parts, path: str) -> Trace:
    listed = header["columns"]
    made: dict[str, Any] = {
        name: {field: parts.array(dtype, count) for field, dtype, count in listed[name]} for name in ("slices", *_MARKS)
    }
    aside = parts.text(header["aside"][0])
    content: FileContent | KeptContent
    if header["pieces"] is None:
        content = FileContent(path, _opened(path))
    else:
        content = KeptContent.of([(base, size, parts.text(length)) for base, size, length in header["pieces"]])
    log = header["log"]
    return Trace(
        path=path,
        slices=Slices(**made["slices"]),
        strings=Strings(header["strings"]),
        threads=tuple(Thread(*one) for one in header["threads"]),
        **{name: Marks(**made[name]) for name in _MARKS},
        devices=tuple(Device(*one) for one in header["devices"]),
        base_ns=header["base_ns"],
        metadata=header["metadata"],
        log=replace(
            ReadLog(path, log["container"], log["file_bytes"], log["content_bytes"], log["in_file"], log["kept"]),
            dropped={Drop[name]: count for name, count in log["dropped"].items()},
            repaired={Repair[name]: count for name, count in log["repaired"].items()},
            places=tuple(Place((Drop if kind == "Drop" else Repair)[name], at, text) for kind, name, at, text in log["places"]),
            phases=log["phases"],
            categories=log["categories"],
        ),
        content=WithAside(content, aside, header["aside"][1]),
        parse_args=parse_args,
    )


def _opened(path: str) -> IO[bytes]:
    return Path(path).open("rb", buffering=0)


# --- the folder


def _listed(place: Path) -> Iterator[tuple[Path, os.stat_result]]:
    if not place.is_dir():
        return
    for path in place.iterdir():
        if path.name.endswith((_SUFFIX, ".part")):
            with contextlib.suppress(OSError):
                yield path, path.stat()


def _bound(place: Path) -> None:
    """Delete who was used longest ago, until the rest fits."""
    known = sorted(_listed(place), key=lambda one: one[1].st_mtime_ns)
    size = sum(info.st_size for _, info in known)
    for path, info in known[:-1]:
        if size <= MOST_BYTES:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            size -= info.st_size


__all__ = ["clear", "folder", "held", "load_cached"]
