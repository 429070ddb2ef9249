"""Elements that aren't as they should be: what is mended, what is lost, and where reading goes on."""

# ruff: noqa: UP031  (JSON text is full of braces, which other ways of formatting would have doubled)

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.reading.support import document, event, read
from tracekit.reading.damaged import EVENT_BYTES, Damaged, Piece, extent, sound_value
from tracekit.trace import Drop, Repair, Trace

GOOD = event(name='"good"', ts="100")


def among(tmp_path: Path, *odd: str, separator: str = ",") -> Trace:
    """Read odd elements with a good event before and behind them; the good ones must survive."""
    trace = read(tmp_path, '{"traceEvents": [' + separator.join([GOOD, *odd, GOOD]) + "]}")
    assert [trace.name(row) for row in range(len(trace))].count("good") == 2
    return trace


@pytest.mark.parametrize(
    ("name", "shown", "repair"),
    [
        (r'"C:\new\models\x.py(3): run"', "C:\\new\\models\\x.py(3): run", Repair.BAD_ESCAPE),
        (r'"half \ud83d pair"', "half \ufffd pair", Repair.BAD_ESCAPE),
        ('"a\nb\tc\x01"', "a\nb\tc\x01", Repair.CONTROL_CHARACTER),
        ('"a "quoted" word"', 'a "quoted" word', Repair.UNESCAPED_QUOTE),
        ('"{"unit": "lux", "dtype": "f32"}(21): run"', '{"unit": "lux", "dtype": "f32"}(21): run', Repair.UNESCAPED_QUOTE),
        ('"x = {"a": 1}\n  y"', 'x = {"a": 1}\n  y', Repair.UNESCAPED_QUOTE),
    ],
)
def test_names_are_mended(tmp_path: Path, name: str, shown: str, repair: Repair) -> None:
    """What a writer forgot to escape is read as it was meant."""
    trace = among(tmp_path, event(name=name))
    assert trace.name(0) == shown
    assert trace.log.repaired[repair] == 1
    assert not trace.log.dropped


def test_bytes_that_are_no_utf8_are_replaced(tmp_path: Path) -> None:
    """Such an event is kept, with U+FFFD in its name."""
    text = document(GOOD, event(name='"a@b"', ts="0"), GOOD).encode().replace(b"@", b"\xff")
    trace = read(tmp_path, text)
    assert trace.name(0) == "a\ufffdb"
    assert trace.log.repaired == {Repair.BAD_UTF8: 1}


@pytest.mark.parametrize("word", ["NaN", "nan", "Infinity", "-Infinity", "inf", "-inf", "-nan"])
def test_not_a_number_in_args_is_unknown(tmp_path: Path, word: str) -> None:
    """NaN and Infinity, however written, come out as None and are counted."""
    trace = among(tmp_path, event(ts="0", args='{"bandwidth": %s, "External id": 7}' % word))
    assert trace.args(0) == {"bandwidth": None, "External id": 7}
    assert trace.slices.external_id[0] == 7
    assert trace.log.repaired == {Repair.NOT_A_NUMBER: 1}


def test_a_duration_that_is_not_a_number_is_none(tmp_path: Path) -> None:
    """The event is kept with 0, and both repairs are counted."""
    trace = among(tmp_path, event(ts="0", dur="NaN"))
    assert trace.slices.dur_ns[0] == 0
    assert trace.log.repaired == {Repair.NOT_A_NUMBER: 1, Repair.NO_DURATION: 1}


@pytest.mark.parametrize(
    "text",
    [
        "[%s,%s,]" % (GOOD, GOOD),
        "[,%s,%s]" % (GOOD, GOOD),
        "[%s,,%s]" % (GOOD, GOOD),
        "[%s, {%s, }]" % (GOOD, GOOD[1:-1]),
    ],
)
def test_a_comma_too_many_is_counted(tmp_path: Path, text: str) -> None:
    """Leading, trailing and doubled commas cost nothing but a line in the log."""
    trace = read(tmp_path, text)
    assert (trace.log.kept, trace.log.dropped, trace.log.repaired) == (2, {}, {Repair.TRAILING_COMMA: 1})


def test_a_missing_comma_is_counted(tmp_path: Path) -> None:
    """Events that nothing separates are both read."""
    trace = read(tmp_path, '{"traceEvents": [' + GOOD + "\n" + GOOD + "]}")
    assert (trace.log.kept, trace.log.repaired) == (2, {Repair.MISSING_COMMA: 1})


@pytest.mark.parametrize("odd", ["null", "5", "-1.5e3", '"text"', '"a ] } { b"', "[]", '[1, {"ph": "X"}]', "true"])
def test_an_element_that_is_no_object_is_dropped_and_counted(tmp_path: Path, odd: str) -> None:
    """It counts as one element of the file."""
    trace = among(tmp_path, odd)
    assert (trace.log.in_file, trace.log.dropped) == (3, {Drop.NOT_AN_OBJECT: 1})


@pytest.mark.parametrize("odd", ['{"ph": "X" "name": oops}', '{"ph": "X", "ts": 01, "dur": 1}', '{"ph": @, "ts": 1}', "{{}}"])
def test_what_no_repair_helps_is_one_event_lost(tmp_path: Path, odd: str) -> None:
    """Reading goes on at the next event."""
    trace = among(tmp_path, odd)
    assert (trace.log.in_file, trace.log.dropped) == (3, {Drop.UNREADABLE: 1})
    assert [(place.reason, place.offset_bytes) for place in trace.log.places] == [(Drop.UNREADABLE, 17 + len(GOOD) + 1)]


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ("{}", Drop.NO_PHASE),
        (event(ph=None), Drop.NO_PHASE),
        (event(ph="null"), Drop.NO_PHASE),
        (event(ts=None), Drop.NO_TIME),
        (event(ts="null"), Drop.NO_TIME),
        (event(ts='"soon"'), Drop.NO_TIME),
        (event(ts="1e300"), Drop.TIME_OUT_OF_RANGE),
        (event(ts="9223372036854776"), Drop.TIME_OUT_OF_RANGE),
        (event(ts="9000000000000000", dur="9000000000000000"), Drop.TIME_OUT_OF_RANGE),
    ],
)
def test_an_event_that_cannot_be_placed_is_dropped_by_name(tmp_path: Path, odd: str, reason: Drop) -> None:
    """Without a phase or a usable time there is nothing to keep."""
    trace = among(tmp_path, odd)
    assert (trace.log.in_file, trace.log.dropped) == (3, {reason: 1})


def test_a_list_of_objects_inside_an_event_is_no_border(tmp_path: Path) -> None:
    """What looks like the next event may be part of this one."""
    inner = '[{"name": "a"}, {"name": "b"}, {"ph": "X", "ts": 1}]'
    trace = among(tmp_path, event(ts="0", args='{"list": %s}' % inner), event(ts="1", name='"C:\\q"', args='{"list": %s}' % inner))
    assert trace.log.in_file == 4
    assert trace.args(0) == trace.args(1) == {"list": json.loads(inner)}


def test_a_key_given_twice_counts_once(tmp_path: Path) -> None:
    """As in every JSON reader, the last one holds."""
    trace = among(
        tmp_path, '{"ph": "i", "ts": 1, "ph": "X", "ts": 3, "dur": 1, "dur": 2, "name": "a", "name": "b", "args": {"a": 1}, "args": {}}'
    )
    assert (trace.name(0), trace.slices.ts_ns[0], trace.slices.dur_ns[0], trace.args(0)) == ("b", 3000, 2000, {})


def test_nesting_beyond_all_measure_costs_one_event(tmp_path: Path) -> None:
    """A million brackets are refused in bounded time, and the events around them stay."""
    began = time.perf_counter()
    deep = 300_000
    trace = among(tmp_path, event(args='{"a": ' + "[" * deep + "]" * deep + "}"), event(args="[" * deep))
    assert trace.log.dropped == {Drop.UNREADABLE: 2}
    assert time.perf_counter() - began < 20


@pytest.mark.parametrize("depth", [90, 101, 390, 401, 900, 1100])
def test_all_means_agree_on_how_deep_is_too_deep(tmp_path: Path, depth: int) -> None:
    """The limit doesn't depend on who reads."""
    trace = among(tmp_path, event(args='{"a": ' + "[" * depth + "]" * depth + "}"))
    assert bool(trace.log.dropped) == (depth > 390)


def test_an_event_longer_than_any_is_skipped(tmp_path: Path) -> None:
    """A name of more than the limit is dropped, and reading goes on behind it."""
    huge = event(name='"' + "x" * (EVENT_BYTES + 1000) + '"')
    trace = among(tmp_path, huge)
    assert (trace.log.in_file, trace.log.dropped) == (3, {Drop.UNREADABLE: 1})


def test_brackets_reach_as_far_as_their_partner() -> None:
    """Strings may hold brackets, and bare words end the search."""
    assert extent(b'{"a": "}", "b": [1, {}]} tail', 0, 29) == (24, False)
    assert extent(b'{"a": [1, 2', 0, 11) == (None, True)
    assert extent(b'{"a": "unended', 0, 14) == (None, True)
    assert extent(b'{"a": [1}', 0, 9) == (None, False)
    assert extent(b'{"a": oops}', 0, 11) == (None, False)


def test_a_sound_value_ends_where_it_ends() -> None:
    """The offset counts bytes, also behind characters of more than one."""
    data = '{"ä": 1.50} x'.encode()
    assert sound_value(data, 0, len(data)) == ({"ä": "1.50"}, 12, False)
    assert sound_value(data[:5], 0, 5) == (None, 0, True)
    assert sound_value(b'{"a": NaN}', 0, 10) == (None, 0, False)


def test_more_of_the_file_is_asked_for_at_the_end_of_a_piece() -> None:
    """An event that may go on isn't decided upon."""
    text = GOOD.encode()
    for cut in range(2, len(text) - 1):
        piece = Piece(text[:cut], cut, 0, seamed=False, final=False)
        assert Damaged(piece).event(0) is None
    whole = Damaged(Piece(text, len(text), 0, seamed=False, final=False)).event(0)
    assert whole is not None
    assert whole.end == len(text)
