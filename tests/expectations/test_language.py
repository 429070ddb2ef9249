"""The file of expectations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit.errors import InputError
from tracekit.expectations import parse_expectations, read_expectations
from tracekit.expectations.language import Bounds


def bounds(text: str) -> Bounds:
    """Return the bounds of `kernels = TEXT`."""
    (item,) = parse_expectations(f"[step]\nkernels = {text}", "e.toml").items
    assert item.bounds is not None
    return item.bounds


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("5", [5], [4, 6]),
        ('"<= 5"', [0, 5], [5.1]),
        ('"< 5"', [0, 4.9], [5]),
        ('">= 5"', [5, 1e9], [4.9]),
        ('"> 5"', [5.1], [5]),
        ('"3..5"', [3, 4, 5], [2.9, 5.1]),
        ('"100 ± 10 %"', [90, 110], [89, 111]),
        ('"100 ± 5"', [95, 105], [94, 106]),
    ],
)
def test_bounds_are_written_as_people_write_them(text: str, inside: list[float], outside: list[float]) -> None:
    """A number, one side, a range, or a middle with its width."""
    found = bounds(text)
    assert all(found.holds(value) for value in inside)
    assert not any(found.holds(value) for value in outside)


@pytest.mark.parametrize("text", ['"about 5"', "true", "-1", "[1]", '"5..3"', "nan"])
def test_what_is_no_bound_is_refused_with_its_place(text: str) -> None:
    """The key and what would do."""
    with pytest.raises(InputError, match=r"e\.toml \(step\.kernels\).*no bound"):
        bounds(text)


def test_a_key_that_means_nothing_is_refused() -> None:
    """A typing mistake must not pass as met."""
    with pytest.raises(InputError, match=r"step\.kernel\).*no such expectation"):
        parse_expectations("[step]\nkernel = 5", "e.toml")


def test_a_section_that_means_nothing_is_refused() -> None:
    """With those that exist."""
    with pytest.raises(InputError, match="Use trace, step, attention, findings"):
        parse_expectations("[steps]\nkernels = 5", "e.toml")


def test_a_pattern_that_is_no_regular_expression_is_refused() -> None:
    """Before any trace is read."""
    with pytest.raises(InputError, match="regular expression"):
        parse_expectations('[step.names]\n"(" = 0', "e.toml")


def test_a_file_without_expectations_is_refused() -> None:
    """It would be met by anything."""
    with pytest.raises(InputError, match="holds no expectation"):
        parse_expectations("# nothing yet", "e.toml")


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    """Place, cause, what to do."""
    with pytest.raises(InputError, match="No such file"):
        read_expectations(tmp_path / "none.toml")


def test_items_keep_the_files_order_and_places() -> None:
    """Each line becomes an expectation with its dotted path."""
    text = '[attention]\nbackend = ["flash", "cudnn"]\n[step]\nwall_us = "<= 10"\n[step.classes]\n"memcpy.DtoD" = 0\n[findings]\nallow = ["TK211"]'
    items = parse_expectations(text, "e.toml").items
    assert [item.key for item in items] == ["attention.backend", "step.wall_us", "step.classes.memcpy.DtoD", "findings"]
    assert items[0].choices == ("flash", "cudnn")
    assert items[1].is_time
