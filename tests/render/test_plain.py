"""Results as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum

import pytest

from tracekit.render.plain import plain


class Kind(Enum):
    FIRST = 1


@dataclass(frozen=True)
class Part:
    a: float
    ratio: float | None = field(default=None, metadata={"ns": False})


@dataclass(frozen=True)
class Whole:
    class_: str = "gemm"
    wall_ns: int = 1_712_003
    cost_ns_per_step: float = 1234.5
    part_ns: Part = field(default_factory=lambda: Part(1500, 2.5))
    kind: Kind = Kind.FIRST
    by_name: Mapping[str, int] = field(default_factory=lambda: {"x_ns": 5, "n": 5})
    hidden: int = field(default=1, metadata={"json": False})
    sensor: str = "s"


def test_nanoseconds_become_exact_microseconds_under_a_new_name() -> None:
    """The word ns in a name, not the letters."""
    value = plain(Whole())
    assert isinstance(value, dict)
    assert list(value) == ["class", "wall_us", "cost_us_per_step", "part_us", "kind", "by_name", "sensor"]
    assert str(value["wall_us"]) == "1712.003"
    assert value["cost_us_per_step"] == Decimal("1.234")


def test_parts_of_a_time_are_times_but_for_what_says_otherwise() -> None:
    """A ratio beside two times stays a ratio."""
    value = plain(Whole())
    assert isinstance(value, dict)
    assert value["part_us"] == {"a": Decimal("1.500"), "ratio": 2.5}
    assert value["by_name"] == {"x_us": Decimal("0.005"), "n": 5}


def test_enums_and_lists() -> None:
    """In lower case; a tuple is a list."""
    assert plain((Kind.FIRST, None, True, "x")) == ["first", None, True, "x"]


def test_no_format_carries_infinity() -> None:
    """JSON has no word for it."""
    with pytest.raises(ValueError, match="inf"):
        plain(float("inf"))


def test_a_lone_surrogate_is_escaped() -> None:
    """No encoding has it."""
    assert plain("a\udc80") == "a\\udc80"


def test_what_is_no_plain_value_is_a_bug() -> None:
    """Better here than in a file."""
    with pytest.raises(TypeError, match="object"):
        plain(object())
