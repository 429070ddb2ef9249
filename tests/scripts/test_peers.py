"""The parts of the comparison with peers."""

from __future__ import annotations

import importlib.util
import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.builder import build
from tests.support.paths import ROOT, TRACES
from tracekit.analysis import analyze


@pytest.fixture(scope="module")
def peers() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("peers", ROOT / "scripts" / "peers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["peers"] = module
    spec.loader.exec_module(module)
    return module


def test_the_judge_takes_overlapping_time_once(peers: ModuleType, tmp_path: Path) -> None:
    """A union per device, exact."""
    trace = build().launch("cudaLaunchKernel", 0, 1).kernel("a", 1, 10).kernel("b", 6, 10).kernel("inside", 7, 1).kernel("c", 100, 0.5)
    path = trace.write(tmp_path / "t.json")
    assert peers.judge(path) == peers.Said(4, None, 15.5)
    assert peers.union([(Decimal(3), Decimal(4)), (Decimal(1), Decimal(2))]) == 2


def test_tracekit_says_what_the_judge_says(peers: ModuleType) -> None:
    """Asked as the others are, in a process of its own."""
    path = TRACES / "two_streams.json.gz"
    said, right = peers.ask(sys.executable, peers.TRACEKIT, path), peers.judge(path)
    assert (said.events, said.failed) == (right.events, "")
    assert said.busy_us == pytest.approx(right.busy_us)
    assert said.linked == analyze(str(path)).links.linked


def test_a_tool_that_raises_is_said_to(peers: ModuleType, tmp_path: Path) -> None:
    """With the error's name."""
    assert peers.ask(sys.executable, "raise ValueError('no')", tmp_path).failed == "raises ValueError"


def test_the_page_marks_what_is_off(peers: ModuleType) -> None:
    """And counts who is right."""
    right = peers.Said(2, None, 100.0)
    rows = [("t", right, {"good": peers.Said(2, 2, 100.01), "bad": peers.Said(1, 1, 90.0), "gone": peers.Said(failed="raises KeyError")})]
    text = peers.page(rows, {"good": (3, 4)}, "Versions.")
    assert "| t | 100.0 | 100.0 | **90.0** (-10.0 %) | raises KeyError |" in text
    assert "good 1 of 1, bad 0 of 1, gone 0 of 1" in text
    assert "| good | 3 of 4 |" in text
