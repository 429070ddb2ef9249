"""Several traces in one table."""

from __future__ import annotations

import pytest

from tests.support.builder import build
from tests.support.paths import TRACES
from tracekit.analysis import analyze
from tracekit.diff import Variants, compare_variants

NAMES = ("naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn")


@pytest.fixture(scope="module")
def six() -> Variants:
    """The six ways to compute attention."""
    return compare_variants([analyze(TRACES / f"{name}.json.gz") for name in NAMES])


def test_the_six_variants_stand_against_the_first(six: Variants) -> None:
    """Math is slower than naive, everything fused is faster; the first has no one to differ from."""
    rows = dict(zip(NAMES, six.variants, strict=True))
    assert [row.label for row in six.variants] == list(NAMES)
    assert rows["naive"].ratio == 1
    assert rows["naive"].significant is None
    assert rows["sdpa_math"].ratio == pytest.approx(2.22, abs=0.02)
    assert all(rows[name].significant for name in NAMES[1:])
    assert all((rows[name].ratio or 9) < 0.3 for name in NAMES[3:])


def test_each_has_its_kernels_and_copies(six: Variants) -> None:
    """5 kernels and a Memcpy by hand, 20 in math, one fused."""
    assert [round(row.kernels) for row in six.variants] == [5, 5, 20, 1, 1, 1]
    assert [round(row.memcpys) for row in six.variants] == [1, 0, 0, 0, 0, 0]
    assert [row.kernels_per_call for row in six.variants] == [5, 5, 20, 1, 1, 1]
    assert [row.backend for row in six.variants][2:] == ["math", "efficient", "flash", "cudnn"]


def test_occupancy_says_where_it_is_from(six: Variants) -> None:
    """Recorded for flash, computed for cuDNN: the profiler doesn't see its launches."""
    flash, cudnn = six.variants[4:]
    assert (flash.occupancy_source, cudnn.occupancy_source) == ("recorded", "computed")
    assert cudnn.occupancy_pct is not None
    assert cudnn.occupancy_pct > 0


def test_rates_follow_from_the_shapes(six: Variants) -> None:
    """4·B·H·L²·D operations, over the GPU time of a call; a causal call that shows itself computes half of them."""
    full = 4 * 8 * 16 * 2048**2 * 64
    for row, share in zip(six.variants, (1, 1, 0.5, 0.5, 0.5, 0.5), strict=True):
        assert row.gpu_ns_per_call is not None
        assert row.tflop_s is not None
        assert row.tflop_s * row.gpu_ns_per_call * 1000 == pytest.approx(full * share, rel=0.01), row.label


def test_traces_without_attention_or_gpu_have_blanks() -> None:
    """What isn't there is None, and nothing is divided by nothing."""
    (row,) = compare_variants([analyze(build().op("aten::relu", 10, 5).trace())]).variants
    assert (row.backend, row.kernels_per_call, row.tflop_s, row.occupancy_pct) == ("", None, None, None)
