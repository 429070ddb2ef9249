"""Numbers in words."""

from __future__ import annotations

import pytest

from tracekit import units


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (850, "850 ns"),
        (999.96, "1.00 µs"),
        (12_345, "12.3 µs"),
        (999_990, "1.00 ms"),
        (4_560_000, "4.56 ms"),
        (7_890_000_000, "7.89 s"),
    ],
)
def test_a_duration_has_the_unit_that_suits_it(ns: float, text: str) -> None:
    """Three digits, and never 1000 of a unit."""
    assert units.ns_text(ns) == text


def test_a_signed_duration_shows_its_sign() -> None:
    """A difference says its direction."""
    assert units.ns_text(1500, signed=True) == "+1.50 µs"
    assert units.ns_text(-1500, signed=True) == "-1.50 µs"


def test_decimal_microseconds_keep_every_nanosecond() -> None:
    """No float in between: an epoch time keeps its three decimals, below zero too."""
    assert units.decimal_us(1_767_189_312_000_300_001) == "1767189312000300.001"
    assert units.decimal_us(-1) == "-0.001"


def test_shares_ratios_sizes_and_counts_read_as_people_write_them() -> None:
    """One form each."""
    assert units.pct_text(0.0312) == "3.1 %"
    assert units.pct_text(0.25) == "25 %"
    assert units.ratio_text(2.314) == "2.31×"
    assert units.bytes_text(1536) == "1.5 KiB"
    assert units.count_text(1234) == "1,234"
    assert units.count_text(2.5) == "2.5"
    assert units.plural(1, "kernel") == "1 kernel"
    assert units.plural(3, "kernel") == "3 kernels"
