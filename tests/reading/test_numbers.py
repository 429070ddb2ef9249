"""Numbers as a trace writes them."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reading.support import document, event, read
from tracekit.reading.numbers import BEYOND, Number, fold, id_of, ns_of_text, row_of
from tracekit.trace import Repair


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1661203462599114", 1661203462599114000),
        ("1715264400000000.123", 1715264400000000123),
        ("0.0005", 0),
        ("0.0015", 2),
        ("0.00250000001", 3),
        ("1.00149999", 1001),
        ("-3.25", -3250),
        ("-0.0005", 0),
        ("1e3", 1000000),
        ("1.5E-2", 15),
        ("0e0", 0),
        ("12.", 12000),
    ],
)
def test_times_are_exact(text: str, ns: int) -> None:
    """Decimal text becomes ns without a float between, half to even beyond the third decimal."""
    assert ns_of_text(text.encode()) == ns


@given(st.decimals(min_value=-(10**15), max_value=10**15, places=7, allow_nan=False))
def test_times_are_rounded_as_decimal_rounds(value: Decimal) -> None:
    """The same as exact decimal arithmetic, for any number of decimals."""
    assert ns_of_text(f"{value:f}".encode()) == int((value * 1000).quantize(Decimal(1), rounding=ROUND_HALF_EVEN))


@pytest.mark.parametrize("text", ["", "-", ".", "abc", "1.2.3", "1e", "0x10", "1" * 401, "٣", "1 2"])
def test_other_text_is_no_time(text: str) -> None:
    """None where it is no number, or a longer one than anybody writes."""
    assert ns_of_text(text.encode()) is None


def test_a_time_beyond_all_ranges_is_never_written_out() -> None:
    """An exponent of a million costs nothing."""
    assert ns_of_text(b"1e999999") == BEYOND
    assert ns_of_text(b"-1e999999") == -BEYOND
    assert ns_of_text(b"1e-999999") == 0


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (7, 7), ("7", 7), ("0x1F", 31), (Number("7.0"), 7), (Number("7"), 7), (" 7 ", 7), ("-1", -1),
        (True, None), (None, None), ("seven", None), (Number("7.5"), None), ([], None), ("", None),
    ],
)  # fmt: skip
def test_ids_are_whole_numbers(value: object, found: int | None) -> None:
    """Ints, and text and floats that are one."""
    assert id_of(value) == found


def test_wide_handles_keep_apart() -> None:
    """Handles above 2⁶³ are folded to int64 alike when alike."""
    assert fold(2**64 - 16) == fold(2**64 - 16) != fold(2**64 - 32)
    assert fold(5) == 5


def test_rows_are_ints_or_text() -> None:
    """A tid of 7.0 is 7; text stays text."""
    assert [row_of(one) for one in (Number("7.0"), Number("7.5"), "Spans", None, [])] == [7, "7.5", "Spans", 0, 0]


@pytest.mark.parametrize(
    ("ts", "ns"), [('"12.5"', 12500), ('"1715264400000000.123"', 1715264400000000123), ('" 3 "', 3000), ('"1e1"', 10000)]
)
def test_times_written_as_text_are_read_and_counted(tmp_path: Path, ts: str, ns: int) -> None:
    """NPU and rocprof traces write numbers as text."""
    trace = read(tmp_path, document(event(ts=ts, dur='"1.5"')))
    assert (trace.slices.ts_ns[0], trace.slices.dur_ns[0]) == (ns, 1500)
    assert trace.log.repaired == {Repair.NUMBER_AS_TEXT: 1}


@pytest.mark.parametrize(
    ("dur", "repair"),
    [(None, Repair.NO_DURATION), ("null", Repair.NO_DURATION), ("-1", Repair.NEGATIVE_DURATION), ("-0.001", Repair.NEGATIVE_DURATION)],
)
def test_wrong_durations_are_nothing_and_counted(tmp_path: Path, dur: str | None, repair: Repair) -> None:
    """A duration that is missing or negative is read as 0."""
    trace = read(tmp_path, document(event(dur=dur)))
    assert trace.slices.dur_ns[0] == 0
    assert trace.log.repaired == {repair: 1}


@pytest.mark.parametrize(
    "digits", ["4000000000000000", "4000000000000001", "4000000000000000.9999", "9223372036854.775807", "8999999999999999.5"]
)
def test_times_near_the_edge_are_the_same_by_all_means(tmp_path: Path, digits: str) -> None:
    """Where the fast ways aren't sure, the slow one decides."""
    trace = read(tmp_path, document(event(ts=digits, dur="0")))
    assert trace.slices.ts_ns[0] == int((Decimal(digits) * 1000).quantize(Decimal(1), rounding=ROUND_HALF_EVEN))
