"""Reads small files by every means there is, and holds the results against each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tracekit.errors import TracekitError
from tracekit.reading.loading import load_with
from tracekit.reading.sound import HAVE_NATIVE
from tracekit.trace import Trace

MEANS = [(False, 1), *([(True, 1), (True, 2)] if HAVE_NATIVE else [])]
"""Compiled or not, and with how many threads."""

_PARTS = ("slices", "flows", "instants", "counters", "asyncs")
_LOG = ("in_file", "kept", "dropped", "repaired", "places", "phases", "categories", "content_bytes", "container")


def event(**fields: object) -> str:
    """Return the text of an X event; fields are raw JSON text, and None leaves one out."""
    known = {"ph": '"X"', "cat": '"cpu_op"', "name": '"op"', "pid": "1", "tid": "2", "ts": "10", "dur": "5", **fields}
    return "{" + ", ".join(f'"{key}": {value}' for key, value in known.items() if value is not None) + "}"


def document(*events: str, before: str = "", after: str = "") -> str:
    """Return a file of these events."""
    return "{" + before + '"traceEvents": [' + ",\n".join(events) + "]" + after + "}"


def read(tmp_path: Path, content: str | bytes, name: str = "t.json") -> Trace:
    """Read content by every means, check that all agree, and return the trace."""
    path = tmp_path / name
    path.write_bytes(content.encode("utf-8", errors="surrogatepass") if isinstance(content, str) else content)
    return agreed(path)


def agreed(path: Path, *, args: bool = True) -> Trace:
    """Read a file by every means, check that all agree, and return the trace.

    Raises:
        TracekitError: What all of them raise.
    """
    results: list[Trace | TracekitError] = []
    for native, threads in MEANS:
        try:
            trace = load_with(path, native=native, threads=threads)
            trace.check()
            results.append(trace)
        except TracekitError as error:
            results.append(error)
    first = results[0]
    for other in results[1:]:
        assert type(first) is type(other), (first, other)
        if isinstance(first, TracekitError):
            assert str(first) == str(other)
        else:
            assert isinstance(other, Trace)
            same(first, other, args=args)
    if isinstance(first, TracekitError):
        raise first
    return first


def same(a: Trace, b: Trace, *, args: bool = True) -> None:
    """Assert that two traces are equal in everything but where their args stand."""
    assert tuple(a.strings) == tuple(b.strings)
    assert a.threads == b.threads
    assert a.metadata == b.metadata
    assert (a.base_ns, a.devices) == (b.base_ns, b.devices)
    for field in _LOG:
        assert getattr(a.log, field) == getattr(b.log, field), field
    for part in _PARTS:
        one, other = getattr(a, part), getattr(b, part)
        for column, values in vars(one).items():
            if column not in {"args_at", "args_len"}:
                assert np.array_equal(values, getattr(other, column)), (part, column)
        for row in range(len(one)) if args else ():
            assert a.mark_args(one, row) == b.mark_args(other, row)
