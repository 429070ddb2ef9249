"""The table of kernel classes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.support.paths import SHARED, needs_shared
from tracekit.errors import InputError
from tracekit.kernels import classify, classify_many, copy_direction, load_taxonomy, own_taxonomy
from tracekit.kernels.classify import Row

TABLE = own_taxonomy()


@pytest.mark.parametrize("row", TABLE.kernels, ids=lambda row: f"{row.class_}:{row.pattern.pattern[:20]}")
def test_each_example_lands_in_its_class_through_the_whole_table(row: Row) -> None:
    """Not only in its own row: an earlier one could take it."""
    assert row.examples
    assert {name: classify(name) for name in row.examples} == dict.fromkeys(row.examples, row.class_)
    assert row.class_ not in {classify(name) for name in row.not_}


@pytest.mark.parametrize("row", TABLE.ops, ids=lambda row: row.class_)
def test_each_op_example_decides_where_the_name_says_nothing(row: Row) -> None:
    """A kernel of an unknown name is what its op is."""
    assert {classify("xyzzy", "kernel", op) for op in row.examples} == {row.class_}


def test_no_pattern_stands_twice_and_every_class_is_declared_and_used() -> None:
    """A second copy could never win; a class without a row would be a promise."""
    for rows in (TABLE.kernels, TABLE.ops):
        patterns = [row.pattern.pattern for row in rows]
        assert len(patterns) == len(set(patterns))
    used = {row.class_ for row in (*TABLE.kernels, *TABLE.ops)}
    assert used <= set(TABLE.classes)
    assert set(TABLE.classes) - used == {"memcpy.HtoD", "memcpy.DtoH", "memcpy.PtoP", "memcpy.other", "other"}


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "HtoD"),
        ("Memcpy DtoH (Device -> Pinned)", "DtoH"),
        ("Memcpy DtoD (Device -> Device)", "DtoD"),
        ("Memcpy PtoP (Device -> Device)", "PtoP"),
        ("CopyHostToDevice", "HtoD"),
        ("CopyDeviceToDevice", "DtoD"),
        ("Memcpy Unknown", "other"),
    ],
)
def test_copies_say_their_direction(name: str, direction: str) -> None:
    """As NVIDIA and AMD write it."""
    assert copy_direction(name) == direction
    assert classify(name, "memcpy") == f"memcpy.{direction}"


def test_the_name_decides_before_the_op_does() -> None:
    """A gemm launched by an op called softmax is a gemm."""
    assert classify("volta_sgemm_128x32_nt", "kernel", "aten::_softmax") == "gemm.fp32"
    assert classify("no such kernel") == "other"


def test_many_are_classified_in_order() -> None:
    """One class for each event."""
    assert classify_many(["a", "Memcpy DtoD (x)", "b"], ["kernel", "memcpy", "memset"], ["", "", ""]) == ["other", "memcpy.DtoD", "memset"]


@needs_shared
def test_the_names_of_the_shared_case_land_where_they_should() -> None:
    """Twenty-three names, several with a misleading word."""
    expected = json.loads((SHARED / "cases" / "52-kernel-names.expect.json").read_text())["classes"]
    wrong = {name: classify(name) for name, want in expected.items() if want != "other" and classify(name).split(".")[0] != want}
    assert wrong == {}


@pytest.mark.parametrize("name", ["a" * 2_000_000, "cudnn" * 400_000, "triton_tem_" + "mm_" * 600_000, "<" * 2_000_000])
def test_a_name_of_megabytes_costs_nothing(name: str) -> None:
    """A trace is untrusted: only the start of a name is looked at."""
    begin = time.perf_counter()
    classify(name)
    assert time.perf_counter() - begin < 0.5


def test_the_users_rows_come_before_ours(tmp_path: Path) -> None:
    """And may add classes."""
    path = tmp_path / "mine.toml"
    path.write_text('classes = ["gemm.mine"]\n[[kernel]]\nclass = "gemm.mine"\npattern = "volta"\n')
    table = load_taxonomy(path)
    assert table.classify("volta_sgemm_128x32_nt") == "gemm.mine"
    assert table.classify("ampere_sgemm_128x64_nn") == "gemm.fp32"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[kernel]]\nclass = 'gemm'", "needs class and pattern"),
        ("[[kernel]]\nclass = 'gem'\npattern = 'x'", "no class 'gem'"),
        ("[[kernel]]\nclass = 'gemm'\npattern = '('", "regular expression"),
        ("[kernel]\nclass = 'gemm'", "list of rows"),
        ("[[kernels]]\nclass = 'gemm'", "no such section"),
        ("kernel = ", "TOML"),
    ],
)
def test_a_bad_table_is_refused_with_its_place(tmp_path: Path, text: str, reason: str) -> None:
    """File, row, cause."""
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=reason):
        load_taxonomy(path)


def test_a_table_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    """No traceback."""
    with pytest.raises(InputError, match="can't be read"):
        load_taxonomy(tmp_path / "none.toml")
