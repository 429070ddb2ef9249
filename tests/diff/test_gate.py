"""Conditions that fail a comparison."""

from __future__ import annotations

import math

import pytest

from tests.support.paths import TRACES
from tracekit.diff import Diff, compare, failed, parse_gate
from tracekit.errors import OptionError


@pytest.fixture(scope="module")
def slower() -> Diff:
    """Math against naive: +121 % a step."""
    return compare(TRACES / "naive.json.gz", TRACES / "sdpa_math.json.gz")


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("step_us > +3%", True),
        ("step_us>3 %", True),
        ("step_us > +300%", False),
        ("step_us > 1000", True),
        ("step_us > 10000", False),
        ("step_us < -3%", False),
        ("gpu_busy_us > +3%", True),
    ],
)
def test_a_slower_step_fails_beyond_the_limit(slower: Diff, text: str, fails: bool) -> None:
    """The limit is a share or µs; the sign says the direction."""
    assert (failed(parse_gate(text), slower) is not None) is fails


def test_a_faster_step_fails_only_the_gate_that_asks_for_it() -> None:
    """In place is 11 % faster."""
    diff = compare(TRACES / "naive.json.gz", TRACES / "naive_inplace.json.gz")
    assert failed(parse_gate("step_us > 0%"), diff) is None
    assert "-11." in (failed(parse_gate("step_us < -5%"), diff) or "")


def test_noise_never_fails() -> None:
    """A repeat differs by something, but by nothing that counts."""
    a, b = sorted((TRACES / "repeats").glob("gpt_*.json.gz"))[:2]
    diff = compare(a, b)
    assert diff.step.wall_ns.delta != 0
    assert failed(parse_gate("step_us > -50%"), diff) is None
    assert failed(parse_gate("step_us < 50%"), diff) is None


def test_something_out_of_nothing_is_an_endless_share(slower: Diff) -> None:
    """From zero, any growth is beyond any share."""
    gate = parse_gate("gpu_idle_us > 900%")
    idle = slower.step.gpu_idle_ns
    assert math.isfinite(idle.delta)
    assert parse_gate("gpu_idle_us > 50").limit == 50_000
    assert gate.limit == 9


@pytest.mark.parametrize("text", ["", "step_us", "step > 3%", "step_us >= 3%", "step_us > x", "step_us > 3% or so", "__class__ > 1"])
def test_what_is_no_condition_is_named(text: str) -> None:
    """One line says how a condition looks."""
    with pytest.raises(OptionError, match="is no condition"):
        parse_gate(text)
