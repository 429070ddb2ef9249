"""CSV of results."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from tests.render.support import written
from tracekit.render.formats.csv import main_list


@dataclass(frozen=True)
class Launch:
    name: str
    ts_ns: int


@dataclass(frozen=True)
class Row:
    name: str
    class_: str = "gemm"
    dur_ns: int = 1500
    launch: Launch | None = None
    kernels: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    causal: bool | None = None


@dataclass(frozen=True)
class Result:
    title: str
    rows: tuple[Row, ...]


def rows(*given: Row) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written(Result("t", given), "csv"))))


def test_parts_are_flattened_and_the_header_never_varies() -> None:
    """A part that is absent leaves its fields empty."""
    without, with_ = rows(Row("a")), rows(Row("a", launch=Launch("cudaLaunchKernel", 2500)))
    assert list(without[0]) == list(with_[0])
    assert (without[0]["launch_name"], with_[0]["launch_name"], with_[0]["launch_ts_us"]) == ("", "cudaLaunchKernel", "2.500")
    assert with_[0]["class"] == "gemm"


def test_lists_and_mappings_are_joined() -> None:
    """One field each."""
    (row,) = rows(Row("a", kernels=("x", "y"), counts={"k": 2}, causal=True))
    assert (row["kernels"], row["counts"], row["causal"]) == ("x; y", "k=2", "true")


@pytest.mark.parametrize("name", ["=cmd()", "+1", "-1", "@x", "\t=x"])
def test_a_name_is_no_formula(name: str) -> None:
    """A spreadsheet would run it."""
    assert rows(Row(name))[0]["name"][0] in "'\\"


def test_a_name_makes_no_line_and_no_field() -> None:
    """Whatever it holds."""
    (row,) = rows(Row('a\n"b",c\x1b'))
    assert row["name"] == 'a\\n"b",c\\x1b'


def test_a_result_without_rows_is_a_bug() -> None:
    """Said when it is written first."""
    with pytest.raises(TypeError, match="Row has no list of rows"):
        main_list(Row)
