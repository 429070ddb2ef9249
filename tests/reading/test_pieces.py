"""Pieces: however a file is cut and damaged, the result is that of one long read."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reading.support import MEANS, document, event, same
from tests.support.paths import ROOT
from tracekit.errors import InputError
from tracekit.reading import pieces
from tracekit.reading.loading import load_with
from tracekit.reading.pieces import cut
from tracekit.trace import Repair, Trace

ODDITIES = [
    b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\x00", b"\xff", b"NaN", b"null", b"1e999", b'{"ph":"X","ts":1}', b'"ts":5,',
    b"},{", b'], "traceEvents": [', b" " * 300, b"[" * 120, b'{"a":' * 401, b'"name": "C:\\q",', b"9" * 400, b'"args": {"stream": null},',
]  # fmt: skip


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut wherever an event seems to end."""
    monkeypatch.setattr(pieces, "PIECE_BYTES", 64)


def sample() -> bytes:
    """Return a file with a little of everything."""
    inner = '{"External id": 3, "list": [{"name": "a"}, {"ph": "X"}], "path": "C:\\\\x", "v": 1.5}'
    rows = [
        event(name=json.dumps(f"op{i}"), ts=f"{i}.5", args=inner if i % 2 else None, cat='"kernel"' if i % 3 else '"cpu_op"')
        for i in range(8)
    ]
    rows += [event(ph='"B"'), event(ph='"E"', ts="30"), event(ph='"s"', id='"0x5"'), event(ph='"i"'), event(ph='"M"', ts=None)]
    return document(*rows, before='"schemaVersion": 1, ', after=', "with_stack": 1').encode()


def outcome(path: Path, *, native: bool, threads: int) -> Trace | str:
    """Return the checked trace, or that it was refused."""
    try:
        trace = load_with(path, native=native, threads=threads)
    except InputError as error:
        return "refused" if "\n" not in str(error) else str(error)
    trace.check()
    return trace


def count_by_json(data: bytes) -> int | None:
    """Return how many elements Python's own parser finds; None where it refuses the text, or there is more than one array."""
    try:
        value = json.loads(data, parse_constant=lambda name: 1 / 0, parse_int=str, parse_float=str)
    except (ValueError, RecursionError, ZeroDivisionError):
        return None
    found = value.get("traceEvents") if isinstance(value, dict) and data.count(b'"traceEvents"') == 1 else value
    return len(found) if isinstance(found, list) else None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), times=st.integers(0, 4), packed=st.booleans())
def test_any_damage_gives_one_answer_by_all_means(tmp_path: Path, seed: int, times: int, packed: bool) -> None:
    """In large pieces and small, compiled and not: the same events, the same counts; and as many as JSON itself finds."""
    rnd, data = random.Random(seed), bytearray(sample())
    for _ in range(times):
        at = rnd.randrange(len(data) + 1)
        what = rnd.randrange(4)
        if what == 0:
            data[at:at] = rnd.choice(ODDITIES)
        elif what == 1:
            del data[at : at + rnd.choice((1, 3, 50))]
        elif what == 2:
            data[at:at] = data[at // 2 : at // 2 + 80]
        elif at < len(data):
            data[at] ^= 1 << rnd.randrange(8)
    path = tmp_path / "t.json"
    path.write_bytes(gzip.compress(bytes(data)) if packed else bytes(data))
    first = outcome(path, native=MEANS[-1][0], threads=1)
    wanted = count_by_json(bytes(data))
    assert wanted is None or (isinstance(first, Trace) and first.log.in_file == wanted)
    normal = pieces.PIECE_BYTES
    for size in (64, 300):
        pieces.PIECE_BYTES = size
        try:
            for native, threads in MEANS:
                other = outcome(path, native=native, threads=threads)
                assert isinstance(first, str) == isinstance(other, str)
                if isinstance(first, Trace) and isinstance(other, Trace):
                    same(first, other)
        finally:
            pieces.PIECE_BYTES = normal


def test_pieces_end_where_events_begin(small_pieces: None) -> None:
    """All bytes are in one piece each, in order, and each but the last ends behind a comma."""
    data = sample()[50:]
    found = list(cut([data[i : i + 37] for i in range(0, len(data), 37)], b"", 50))
    assert b"".join(one.data for one in found) == data
    assert [one.base for one in found] == [50 + sum(one.size for one in found[:i]) for i in range(len(found))]
    assert all(one.data.rstrip().endswith(b",") and one.seamed and not one.final for one in found[:-1])
    assert len(found) > 5
    assert found[-1].final


@pytest.mark.usefixtures("small_pieces")
def test_a_wrong_guess_is_read_again(tmp_path: Path) -> None:
    """Objects in a list inside an event look like events; no piece that begins among them counts."""
    inner = ", ".join('{"name": "n%d", "ph": "X", "ts": 1, "dur": 1}' % i for i in range(40))  # noqa: UP031
    path = tmp_path / "t.json"
    path.write_text(document(event(), event(args='{"list": [' + inner + "]}"), event()))
    for native, threads in MEANS:
        trace = load_with(path, native=native, threads=threads)
        assert (trace.log.kept, trace.log.dropped, trace.log.repaired) == (3, {}, {})
        assert len(trace.args(1)["list"]) == 40


@pytest.mark.usefixtures("small_pieces")
def test_what_follows_the_array_is_metadata_in_however_many_pieces(tmp_path: Path) -> None:
    """A tail that looks like events isn't read as such."""
    path = tmp_path / "t.json"
    tail = ", ".join(f'{{"name": "x{i}"}}' for i in range(50))
    path.write_text(document(event(), after=f', "list": [{tail}], "b": 2'))
    for native, threads in MEANS:
        trace = load_with(path, native=native, threads=threads)
        assert (trace.log.in_file, len(trace.metadata["list"]), trace.metadata["b"]) == (1, 50, 2)


def test_first_places_are_those_of_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of each reason, the earliest, however the file was cut."""
    monkeypatch.setattr(pieces, "PIECE_BYTES", 100)
    path = tmp_path / "t.json"
    path.write_text(document(*[event(dur=None)] * 10, event(), "5", "6", "7", "8"))
    log = load_with(path).log
    assert [place.reason for place in log.places[:3]] == [Repair.NO_DURATION] * 3
    assert len(log.places) == 6
    assert log.places[0].excerpt.startswith('{"ph": "X"')


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupted_it_stops_at_once(tmp_path: Path) -> None:
    """Ctrl-C ends a read within moments and leaves nothing behind."""
    path = tmp_path / "t.json"
    path.write_text(document(*[event(name='"C:\\q"')] * 60_000))
    program = f"import tracekit, sys; print('go', flush=True); tracekit.load({str(path)!r})"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.8)
        child.send_signal(signal.SIGINT)
        began = time.perf_counter()
        _, errors = child.communicate(timeout=20)
    assert time.perf_counter() - began < 3
    assert b"KeyboardInterrupt" in errors
    assert [one.name for one in tmp_path.iterdir()] == ["t.json"]
