"""The parts of the benchmark."""

from __future__ import annotations

import gzip
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.support.paths import ROOT, TRACES
from tracekit.linking import link
from tracekit.reading import load


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("bench", ROOT / "scripts" / "bench.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench"] = module
    spec.loader.exec_module(module)
    return module


def test_a_tiled_trace_is_linked_like_the_real_one(bench: ModuleType, tmp_path: Path) -> None:
    """Each copy within itself: three times the events, three times the links."""
    source = tmp_path / "naive.json"
    source.write_bytes(gzip.decompress((TRACES / "naive.json.gz").read_bytes()))
    one = load(source)
    bench.tiled(source, tmp_path / "big.json", 3 * source.stat().st_size / 1e6)
    big = load(tmp_path / "big.json")
    assert big.log.complete
    assert not big.log.repaired
    assert 2.5 <= len(big) / len(one) <= 3.2
    whole = np.unique(big.slices.correlation[: 2 * len(one)])
    assert len(whole) > 1.8 * len(np.unique(one.slices.correlation))
    assert link(big).linked >= 2 * link(one).linked


def test_a_run_is_timed_and_a_failure_is_named(bench: ModuleType) -> None:
    """With its memory; the last line of what it says is why."""
    good = bench.Contestant("good", [sys.executable, "-c", "x = bytearray(50_000_000); import time; time.sleep(0.2)"])
    bad = bench.Contestant("bad", [sys.executable, "-c", "raise SystemExit('no such thing')"])
    bench.compete([good, bad], 1)
    assert good.wall_s[0] >= 0.2
    assert good.peak_bytes[0] > 40_000_000
    assert "no such thing" in bad.failed
    table = bench.table([good, bad], 10)
    assert "| bad | no such thing |" in table[-1]
