"""A slow reader of sound traces, written independently of tracekit with the standard library alone: what ``tracekit.load`` is held against.

It reads the whole file with ``json`` and exact decimals, and knows nothing of chunks, repairs or columns. Only what JSON itself allows is read.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

GPU = ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset")
NO_STREAM = 4294967295


@dataclass(frozen=True)
class PlainSlice:
    """An X event, in the words of ``trace.Slices``."""

    ts_ns: int
    dur_ns: int
    index: int
    name: str
    pid: int | str
    tid: int | str
    device: int
    stream: int
    correlation: int
    external_id: int
    args: dict[str, Any]


@dataclass(frozen=True)
class PlainTrace:
    """What the file holds."""

    in_file: int
    slices: list[PlainSlice]
    marks: dict[str, list[tuple[int, str, str, int | str, int | str, int, int]]]
    phases: dict[str, int]
    categories: dict[str, int]
    metadata: dict[str, Any]


def content_of(path: Path) -> bytes:
    """Return the file's content, unpacked."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(archive.namelist()[-1])
    return data


def ns(value: Decimal) -> int:
    """Return microseconds as ns."""
    return int((value * 1000).quantize(Decimal(1), rounding=ROUND_HALF_EVEN))


def number(value: Any) -> int:
    """Return an id; -1 where it is none."""
    if isinstance(value, str):
        try:
            return int(value, 16 if value[:2] in {"0x", "0X"} else 10)
        except ValueError:
            return -1
    return int(value) if isinstance(value, Decimal) else -1


def row(value: Any) -> int | str:
    """Return a pid or tid."""
    return int(value) if isinstance(value, Decimal) else value


def read(path: Path) -> PlainTrace:
    """Read a trace that is sound JSON and has times wherever they belong."""
    text = content_of(path).decode("utf-8")
    exact = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    plain = json.loads(text)
    events, values = (one if isinstance(one, list) else one["traceEvents"] for one in (exact, plain))
    slices: list[PlainSlice] = []
    marks: dict[str, list[Any]] = {"flows": [], "instants": [], "counters": [], "asyncs": []}
    phases: dict[str, int] = {}
    categories: dict[str, int] = {}
    for index, (event, value) in enumerate(zip(events, values, strict=True)):
        phase = event["ph"]
        phases[phase] = phases.get(phase, 0) + 1
        if phase == "X":
            category = event.get("cat", "")
            categories[category] = categories.get(category, 0) + 1
            slices.append(_slice(event, value.get("args") or {}, index))
        for kind, letters in (("flows", "stf"), ("instants", "iIR"), ("counters", "C"), ("asyncs", "ben")):
            if phase in letters:
                where = (row(event.get("pid", Decimal(0))), row(event.get("tid", Decimal(0))))
                marks[kind].append((ns(event["ts"]), event.get("name", ""), event.get("cat", ""), *where, number(event.get("id")), index))
    slices.sort(key=lambda one: (one.ts_ns, -one.dur_ns, one.index))
    metadata = {} if isinstance(plain, list) else {key: value for key, value in plain.items() if key != "traceEvents"}
    return PlainTrace(len(events), slices, marks, phases, categories, metadata)


def _slice(event: dict[str, Any], args: dict[str, Any], index: int) -> PlainSlice:
    given = event.get("args") or {}
    gpu = event.get("cat") in GPU
    device = number(given.get("device", event.get("pid"))) if gpu else -1
    stream = number(given.get("stream", event.get("tid"))) if gpu else -1
    correlation = number(given.get("correlation"))
    external = number(given.get("External id", given.get("external id")))
    return PlainSlice(
        ts_ns=ns(event["ts"]),
        dur_ns=max(ns(event.get("dur", Decimal(0))), 0),
        index=index,
        name=event["name"],
        pid=row(event["pid"]),
        tid=row(event["tid"]),
        device=-1 if device == NO_STREAM else device,
        stream=-1 if stream == NO_STREAM else stream,
        correlation=-1 if correlation in {0, NO_STREAM} else correlation,
        external_id=-1 if external == 0 else external,
        args=args,
    )
