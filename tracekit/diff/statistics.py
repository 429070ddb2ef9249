"""Whether a difference of two sets of steps is more than noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tracekit.diff.result import Quantity

Samples = NDArray[np.float64]

# 97.5 % quantiles of Student's t for 1, 2, … degrees of freedom; 1.96 beyond.
_T = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
    2.110,
    2.101,
    2.093,
    2.086,
)

BUSY_NOISE = 0.02
"""Two runs of one program differ by so much in GPU time: clocks and memory placement. Measured on the repeats in ``traces/repeats``."""

HOST_NOISE = 0.35
"""…and by so much in the time that the GPU waits for the host: one process launches faster than the next, for as long as it lives."""


def quantity(a: Samples, b: Samples, noise_ns: float) -> Quantity:
    """Return the comparison of a quantity of the steps.

    The band is Welch's 95 % interval of the difference of means, widened by the noise between runs, which the steps of one run can't show.

    Args:
        a: float64[m], the quantity of each step of the first side, ns.
        b: float64[n], of the second.
        noise_ns: What two runs of the same program may differ by.
    """
    mean_a, mean_b = _mean(a), _mean(b)
    delta = mean_b - mean_a
    half = _half_width(a, b)
    low = high = None
    significant = None
    if half is not None:
        width = math.hypot(half, noise_ns)
        low, high = delta - width, delta + width
        significant = not low <= 0 <= high
    return Quantity(
        a=mean_a,
        b=mean_b,
        delta=delta,
        ratio=mean_b / mean_a if mean_a > 0 else None,
        low=low,
        high=high,
        significant=significant,
        a_median=float(np.median(a)) if len(a) else 0.0,
        b_median=float(np.median(b)) if len(b) else 0.0,
    )


def _mean(values: Samples) -> float:
    return float(values.mean()) if len(values) else 0.0


def _half_width(a: Samples, b: Samples) -> float | None:
    """Return half of Welch's interval; None with fewer than two steps a side."""
    if len(a) < 2 or len(b) < 2:
        return None
    var_a, var_b = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    if var_a + var_b == 0:
        return 0.0
    freedom = (var_a + var_b) ** 2 / (var_a**2 / (len(a) - 1) + var_b**2 / (len(b) - 1))
    t = _T[int(freedom) - 1] if 1 <= freedom < len(_T) + 1 else 1.96
    return float(t * math.sqrt(var_a + var_b))
