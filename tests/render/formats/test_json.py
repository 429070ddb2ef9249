"""JSON of results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import pytest

from tests.render.support import written


@dataclass(frozen=True)
class Result:
    SCHEMA: ClassVar[str] = "tracekit.test/1"

    wall_ns: int
    name: str = "a"


def test_the_schema_comes_first() -> None:
    """A reader knows what follows."""
    assert list(json.loads(written(Result(1), "json"))) == ["schema", "wall_us", "name"]


def test_every_nanosecond_is_kept() -> None:
    """Beyond what a double holds of microseconds."""
    value = json.loads(written(Result(1_764_598_523_123_456_789), "json"), parse_float=Decimal)
    assert value["wall_us"] == Decimal("1764598523123456.789")


def test_any_name_is_carried_whole() -> None:
    """JSON has an escape for each."""
    name = '\x00\x1b"\\\n<script>\u2028'
    assert json.loads(written(Result(1, name), "json"))["name"] == name


def test_a_list_is_no_result() -> None:
    """There is no schema for it."""
    with pytest.raises(AttributeError, match="SCHEMA"):
        written([1], "json")
