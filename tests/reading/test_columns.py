"""Columns: ids, rows, order, names."""

# ruff: noqa: UP031  (JSON text is full of braces, which other ways of formatting would have doubled)

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.reading.support import document, event, read
from tracekit.reading.columns import time_order
from tracekit.trace import Category, Repair


def kernel(**args: object) -> str:
    """Return the text of a kernel event on row (0, 7)."""
    inner = ", ".join(f'"{key}": {value}' for key, value in args.items())
    return event(cat='"kernel"', pid="0", tid="7", args="{" + inner + "}")


@pytest.mark.parametrize(
    ("args", "device", "stream"),
    [
        ({}, 0, 7),
        ({"device": 2, "stream": 20}, 2, 20),
        ({"device": '"2"', "stream": '"20"'}, 2, 20),
        ({"stream": 4294967295}, 0, -1),
        ({"stream": -1}, 0, -1),
        ({"stream": "null"}, 0, -1),
        ({"stream": 94316201123840}, 0, 94316201123840),
        ({"device": 1.0, "stream": 7.0}, 1, 7),
    ],
)
def test_device_and_stream(tmp_path: Path, args: dict[str, object], device: int, stream: int) -> None:
    """A GPU event's args say where it ran; where they don't, its row does."""
    s = read(tmp_path, document(kernel(**args))).slices
    assert (s.device[0], s.stream[0]) == (device, stream)


def test_a_handle_beyond_int64_is_folded_and_counted(tmp_path: Path) -> None:
    """Streams of some runtimes are 64-bit pointers."""
    trace = read(tmp_path, document(kernel(stream=2**64 - 16), kernel(stream=2**64 - 16), kernel(stream=2**64 - 32)))
    assert len(set(trace.slices.stream.tolist())) == 2
    assert trace.log.repaired == {Repair.STREAM_OUT_OF_RANGE: 3}


@pytest.mark.parametrize(("raw", "kept"), [("5", 5), ('"5"', 5), ("0", -1), ("-1", -1), ("4294967295", -1), ("null", -1), ('"x"', -1)])
def test_correlations_that_mean_unknown_are_absent(tmp_path: Path, raw: str, kept: int) -> None:
    """roctracer writes 0, others -1, where they don't know."""
    assert read(tmp_path, document(kernel(correlation=raw))).slices.correlation[0] == kept


def test_an_external_id_of_either_spelling(tmp_path: Path) -> None:
    """Old files write it small; 0 means none."""
    s = read(
        tmp_path, document(*[event(args='{"%s": %d}' % one) for one in (("External id", 3), ("external id", 4), ("External id", 0))])
    ).slices
    assert s.external_id.tolist() == [3, 4, -1]


def test_host_events_have_no_stream(tmp_path: Path) -> None:
    """An op's args may hold a stream (Triton's do); the category decides."""
    s = read(tmp_path, document(event(args='{"stream": 0, "device": 0}'))).slices
    assert (s.device[0], s.stream[0]) == (-1, -1)


def test_order_is_by_start_then_length_then_place() -> None:
    """Ties are broken the same way always."""
    ts = np.array([5, 3, 5, 5, 3], dtype=np.int64)
    dur = np.array([1, 2, 9, 9, 2], dtype=np.int64)
    assert time_order(ts, dur).tolist() == [1, 4, 2, 3, 0]


def test_rows_get_their_names(tmp_path: Path) -> None:
    """Metadata events name processes and threads; a thread's sign may be missing there."""
    meta = [
        '{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}',
        '{"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "CPU"}}',
        '{"ph": "M", "name": "thread_name", "pid": 1, "tid": 549452224, "args": {"name": "loader"}}',
        '{"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "main"}}',
    ]
    trace = read(tmp_path, document(*meta, event(), event(tid="-549452224", ts="11")))
    assert [(one.tid, one.name, one.process_name, one.process_label) for one in trace.threads] == [
        (2, "main", "python", "CPU"),
        (-549452224, "loader", "python", "CPU"),
    ]


def test_rows_with_text_ids_and_rows_with_wide_ids_keep_apart(tmp_path: Path) -> None:
    """Nothing is cut to 32 bits, and 7.0 is 7."""
    rows = [event(tid=tid) for tid in ("140589156634432", "140593451601728", '"stream 7"', "7", "7.0")]
    assert len(read(tmp_path, document(*rows)).threads) == 4


def test_names_are_numbered_by_first_use(tmp_path: Path) -> None:
    """However the file was cut; the same name in other letters of JSON is the same."""
    trace = read(tmp_path, document(event(name='"b"'), event(name='"a"'), event(name=r'"\u0062"'), event(name=None)))
    assert tuple(trace.strings) == ("b", "a", "")
    assert trace.slices.name.tolist() == [0, 1, 0, 2]


def test_flow_ids_may_be_text(tmp_path: Path) -> None:
    """Decimal and hex text are numbers; other text gets a number of its own."""
    ids = ("5", '"5"', '"0x1f"', '"abc"', '"def"', '"abc"', "null")
    flows = read(tmp_path, document(*[event(ph='"s"', id=one) for one in ids])).flows
    assert flows.id.tolist() == [5, 5, 31, -2, -3, -2, -1]


def test_events_of_all_kinds_find_their_place(tmp_path: Path) -> None:
    """Phases sort into slices, flows, instants, counters and asyncs; others are kept and counted."""
    trace = read(tmp_path, document(*[event(ph=f'"{one}"') for one in "XstfiIRCbenSFTpNO("]))
    sizes = [len(part) for part in (trace.slices, trace.flows, trace.instants, trace.counters, trace.asyncs)]
    assert sizes == [1, 3, 3, 1, 7]
    assert "".join(map(chr, trace.asyncs.phase)) == "benbenn"
    assert (trace.log.kept, trace.log.phases["N"], trace.log.phases["("]) == (18, 1, 1)


def test_a_list_without_categories_is_of_ops(tmp_path: Path) -> None:
    """torch without Kineto writes one."""
    trace = read(tmp_path, "[" + event(cat=None) + "]")
    assert trace.slices.category.tolist() == [Category.CPU_OP]


def test_columns_are_read_only(tmp_path: Path) -> None:
    """Nobody changes a trace."""
    trace = read(tmp_path, document(event()))
    with pytest.raises(ValueError, match="read-only"):
        trace.slices.ts_ns[0] = 1
