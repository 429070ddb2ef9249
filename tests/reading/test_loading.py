"""Whole files through the door."""

# ruff: noqa: UP031  (JSON text is full of braces, which other ways of formatting would have doubled)

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tracekit
from tests.reading.support import MEANS, agreed, document, event, read
from tests.support import plain_reader
from tests.support.paths import ROOT, SHARED, needs_shared, own_traces, shared_traces
from tracekit.errors import InputError
from tracekit.reading.loading import load_with
from tracekit.trace import Drop, Repair, Trace


def assert_equal(trace: Trace, plain: plain_reader.PlainTrace) -> None:
    """Assert that every event is as the slow reader has it, its times to the nanosecond."""
    s = trace.slices
    assert trace.log.in_file == trace.log.kept == plain.in_file
    assert trace.log.phases == plain.phases
    assert trace.log.categories == plain.categories
    assert trace.metadata == plain.metadata
    assert len(s) == len(plain.slices)
    for column in ("ts_ns", "dur_ns", "index", "device", "stream", "correlation", "external_id"):
        wanted = np.array([getattr(one, column) for one in plain.slices], dtype=np.int64)
        assert np.array_equal(getattr(s, column), wanted), column
    threads = [trace.threads[one] for one in s.thread]
    assert [(one.pid, one.tid) for one in threads] == [(one.pid, one.tid) for one in plain.slices]
    assert [trace.name(row) for row in range(len(s))] == [one.name for one in plain.slices]
    for row in range(0, len(s), max(1, len(s) // 2000)):
        assert trace.args(row) == plain.slices[row].args
    for kind, wanted_marks in plain.marks.items():
        marks = getattr(trace, kind)
        where = [trace.threads[one] for one in marks.thread]
        found = [
            (int(ts), trace.strings[name], trace.strings[raw], at.pid, at.tid, int(number), int(index))
            for ts, name, raw, at, number, index in zip(
                marks.ts_ns, marks.name, marks.raw_category, where, marks.id, marks.index, strict=True
            )
        ]
        assert found == wanted_marks, kind


@pytest.mark.parametrize("native", [native for native, threads in MEANS if threads == 1])
@pytest.mark.parametrize("path", own_traces(), ids=lambda path: path.name)
def test_every_event_of_our_traces_is_as_a_slow_reader_has_it(path: Path, native: bool) -> None:
    """The fast readers and the plain one agree on every event, to the nanosecond."""
    assert_equal(load_with(path, native=native), plain_reader.read(path))


_SMALL = [path for path in shared_traces() if path.stat().st_size < 600_000] or [Path("none")]


@needs_shared
@pytest.mark.parametrize("path", _SMALL, ids=lambda path: path.name)
def test_every_event_of_public_traces_is_as_a_slow_reader_has_it(path: Path) -> None:
    """The same for traces of other machines, vendors and years."""
    assert_equal(tracekit.load(path), plain_reader.read(path))


@needs_shared
@pytest.mark.parametrize("path", _SMALL, ids=lambda path: path.name)
def test_all_means_agree_on_public_traces(path: Path) -> None:
    """Compiled or not, one thread or two: the same trace."""
    agreed(path, args=path.stat().st_size < 100_000)


CASES = sorted((SHARED / "cases").glob("*.expect.json")) or [Path("none")]


@needs_shared
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.removesuffix(".expect.json"))
def test_odd_inputs_are_read_as_far_as_they_can_be(path: Path) -> None:
    """Each case keeps as many events as its expectation says, and partial ones say what is missing."""
    expect = json.loads(path.read_text(encoding="utf-8"))
    file = path.with_name(expect["file"])
    if expect["readable"] == "no":
        with pytest.raises(InputError, match="traceEvents"):
            agreed(file)
        return
    trace = agreed(file)
    if "bad_durations" not in expect:
        assert expect.get("events_min", expect.get("events") or 0) <= trace.log.kept <= expect.get("events_max", expect.get("events") or 0)
    assert len(trace.gpu_rows) == expect["gpu_ops"]
    if expect["readable"] == "partial":
        assert trace.log.dropped or trace.log.repaired
        assert trace.log.places


def test_a_bare_list_and_an_object_give_the_same_events(tmp_path: Path) -> None:
    """Both forms of the format are read alike."""
    events = [event(ts=str(i)) for i in range(3)]
    one, other = read(tmp_path, document(*events)), read(tmp_path, "[" + ",".join(events) + "]")
    assert one.slices.ts_ns.tolist() == other.slices.ts_ns.tolist() == [0, 1000, 2000]
    assert other.log.complete


@pytest.mark.parametrize("end", ["", ",", ",\n"])
def test_an_unclosed_list_is_whole(tmp_path: Path, end: str) -> None:
    """The format allows a missing bracket in the list form: nothing is dropped, and the log is complete."""
    trace = read(tmp_path, "[" + event() + "," + event() + end)
    assert (trace.log.kept, trace.log.dropped, dict(trace.log.repaired)) == (2, {}, {Repair.UNCLOSED: 1})
    assert trace.log.complete


def test_an_object_cut_between_events_is_not_complete(tmp_path: Path) -> None:
    """An object that ends there was cut."""
    trace = read(tmp_path, '{"traceEvents": [' + event() + ",")
    assert trace.log.repaired == {Repair.TRUNCATED: 1}
    assert not trace.log.complete


def test_every_cut_of_a_file_keeps_all_whole_events(tmp_path: Path) -> None:
    """Wherever a file is cut, each event that ends before the cut is kept, and the rest of one is counted."""
    events = [event(name=json.dumps(f"o{i}"), args='{"External id": %d}' % i) for i in range(3)]
    text = document(*events)
    ends = [text.index(one) + len(one) for one in events]
    for at in range(text.index("[") + 1, len(text)):
        trace = read(tmp_path, text[:at])
        whole = sum(end <= at for end in ends)
        assert trace.log.kept == whole, text[:at]
        assert sum(trace.log.dropped.values()) <= 1
        assert set(trace.log.dropped) <= {Drop.TRUNCATED}


def test_metadata_stands_before_and_behind_the_events(tmp_path: Path) -> None:
    """Top-level values are kept wherever they stand."""
    trace = read(
        tmp_path,
        document(
            event(),
            before='"schemaVersion": 1, "deviceProperties": [{"id": 3, "name": "GPU"}], ',
            after=', "with_stack": 1, "baseTimeNanoseconds": 1700000000000000001',
        ),
    )
    assert trace.metadata["schemaVersion"] == trace.metadata["with_stack"] == 1
    assert trace.base_ns == 1700000000000000001
    assert [(one.id, one.name) for one in trace.devices] == [(3, "GPU")]


def test_two_arrays_of_events_are_both_read(tmp_path: Path) -> None:
    """A repeated key loses no event."""
    trace = read(tmp_path, '{"traceEvents": [' + event() + '], "x": 1, "traceEvents": [' + event() + "," + event() + '], "y": 2}')
    assert trace.log.kept == 3
    assert trace.slices.index.tolist() == [0, 1, 2]
    assert trace.metadata == {"x": 1, "y": 2}


def test_events_nested_in_events_are_found(tmp_path: Path) -> None:
    """A viewer once wrote traceEvents into traceEvents."""
    trace = read(tmp_path, '{"traceEvents": {"traceEvents": [' + event() + '], "a": 1}, "b": 2}')
    assert trace.log.kept == 1
    assert trace.log.repaired == {Repair.NESTED_EVENTS: 1}


def test_an_empty_array_is_a_trace_without_events(tmp_path: Path) -> None:
    """Nothing ran: that is a finding, not an error."""
    assert read(tmp_path, '{"traceEvents": []}').log.in_file == 0


def test_begin_and_end_events_make_slices(tmp_path: Path) -> None:
    """An E ends the latest open B of its row; what has no partner is counted."""
    rows = [
        event(ph='"B"', name='"outer"', ts="0", dur=None),
        event(ph='"B"', name='"inner"', ts="2", dur=None),
        event(ph='"E"', name=None, ts="5", dur=None),
        event(ph='"E"', name=None, ts="9", dur=None),
        event(ph='"E"', name='"alone"', ts="11", dur=None),
        event(ph='"B"', name='"open"', ts="12", dur=None),
    ]
    trace = read(tmp_path, document(*rows))
    found = [(trace.name(i), int(trace.slices.ts_ns[i]), int(trace.slices.dur_ns[i])) for i in range(len(trace))]
    assert found == [("outer", 0, 9000), ("inner", 2000, 3000), ("open", 12000, 0)]
    assert (trace.log.kept, trace.log.dropped, trace.log.repaired) == (5, {Drop.UNMATCHED_END: 1}, {Repair.UNCLOSED_BEGIN: 1})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"   \n ", "nothing but blanks"),
        (b"hello", "no JSON: it begins with 'hello'"),
        (b"<!DOCTYPE html><html>", "HTML page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"SQLite format 3\x00", "SQLite file"),
        (b"\x0a\x10\x08\x00\x12\x04pack", "Perfetto trace"),
        (b"\x28\xb5\x2f\xfd123", "zstd"),
        (b"\xff\xfe{\x00", "UTF-16"),
        (b'{"schema": "1.0.2", "nodes": []}', "execution trace"),
        (b'{"a": 1}', "has no traceEvents, so it is no Chrome trace"),
        (b"\x1f\x8b\x08\x00broken", "damaged from the start"),
        (b"PK\x03\x04broken", "zip archive that can't be unpacked"),
    ],
)
def test_what_is_no_trace_is_named(tmp_path: Path, content: bytes, says: str) -> None:
    """The error says what the file is and what to do, in one line."""
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_folders_and_missing_files_are_named(tmp_path: Path) -> None:
    """A folder and a path that isn't there are errors of one line."""
    with pytest.raises(InputError, match="is a folder"):
        tracekit.load(tmp_path)
    with pytest.raises(InputError, match="No such file"):
        tracekit.load(tmp_path / "none.json")


def test_standard_input_is_read(tmp_path: Path) -> None:
    """``-`` reads a pipe, packed or not."""
    program = "import tracekit; t = tracekit.load('-'); print(t.log.kept, t.log.container, t.args(0))"
    text = document(event(args='{"a": 1}')).encode()
    for data, container in ((text, "plain"), (gzip.compress(text), "gzip")):
        done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=True, cwd=ROOT)
        assert done.stdout.decode().split(maxsplit=2) == ["1", container, "{'a': 1}\n"]


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    """The callback is told of every byte."""
    path = tmp_path / "t.json"
    path.write_text(document(*[event()] * 100))
    told: list[tuple[int, int]] = []
    load_with(path, progress=lambda done, size: told.append((done, size)))
    assert told[-1] == (path.stat().st_size, path.stat().st_size)


def test_args_are_read_from_a_file_that_is_gone(tmp_path: Path) -> None:
    """A trace keeps its file open: deleting or replacing it meanwhile does no harm."""
    path = tmp_path / "t.json"
    path.write_text(document(event(args='{"a": [1, 2]}')))
    trace = tracekit.load(path)
    path.unlink()
    assert trace.args(0) == {"a": [1, 2]}


def test_a_file_that_shrinks_is_an_error_of_one_line(tmp_path: Path) -> None:
    """Args that are no longer there raise an input error."""
    path = tmp_path / "t.json"
    path.write_text(document(event(args='{"a": 1}')))
    trace = tracekit.load(path)
    os.truncate(path, 10)
    with pytest.raises(InputError, match="became shorter"):
        trace.args(0)


def test_many_gzip_members_are_one_file(tmp_path: Path) -> None:
    """Members, and rubbish behind the last, as gzip itself reads them."""
    text = document(*[event(args='{"a": 1}')] * 50).encode()
    data = b"".join(gzip.compress(text[i : i + 100]) for i in range(0, len(text), 100)) + b"\0\0\0"
    trace = read(tmp_path, data)
    assert (trace.log.kept, trace.log.complete, trace.log.container) == (50, True, "gzip")


def test_a_cut_gzip_stream_gives_what_came_before(tmp_path: Path) -> None:
    """A damaged container is named, and what was whole is kept."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=0) as file:
        file.write(document(*[event()] * 1000).encode())
    trace = read(tmp_path, buffer.getvalue()[:30000])
    assert trace.log.repaired[Repair.DAMAGED_CONTAINER] == 1
    assert 300 < trace.log.kept < 400
    assert not trace.log.complete
