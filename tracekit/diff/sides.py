"""One side of a comparison: the steps that count, and what happens in them, per step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.analysis.kernels import device_of
from tracekit.attention import Region
from tracekit.trace import I64

FIRST_IS_WARM_UP = 1.3
"""A first step so many times as long as the median of the others still warms up: lazy loading, autotuning, the allocator's first blocks."""

LAST_IS_CUT = 0.8
"""A last step so much shorter than the median has lost its tail: no next step shows where its period ends."""

FEWEST = 3  # steps below which none is left out


@dataclass(frozen=True)
class SideData:
    """A trace and the steps of it that are compared.

    Attributes:
        analysis: The trace's analysis.
        label: Short name.
        steps: int64[k], indices of the steps compared.
        left_out: Names of the steps left out, with why.
    """

    analysis: Analysis
    label: str
    steps: I64
    left_out: tuple[str, ...]

    @property
    def count(self) -> int:
        """Number of steps compared, at least 1 as a divisor."""
        return max(len(self.steps), 1)

    @cached_property
    def in_steps(self) -> NDArray[np.bool_]:
        """Whether each GPU event was launched in a step compared (bool[g])."""
        return np.isin(self.analysis.links.step, self.steps)

    @cached_property
    def hosts_in_steps(self) -> NDArray[np.bool_]:
        """Whether each slice's start lies in the mark of a step compared (bool[n])."""
        return np.isin(self.analysis.links.slice_step, self.steps)

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """Attention calls of the steps compared."""
        names = {self.analysis.links.steps.names[i] for i in self.steps}
        return tuple(region for region in self.analysis.attention.attention if region.step in names)

    def mean(self, values: I64) -> float:
        """Return the mean over the steps compared of a quantity of all steps (int64[k])."""
        return float(values[self.steps].sum()) / self.count

    def inside(self, regions: Sequence[Region]) -> NDArray[np.bool_]:
        """Return whether each slice lies within one of some attention calls (bool[n])."""
        slices = self.analysis.trace.slices
        inside = np.zeros(len(slices), dtype=bool)
        for region in regions:
            for row in region.rows:
                span = np.arange(row, np.searchsorted(slices.ts_ns, slices.ts_ns[row] + slices.dur_ns[row]))
                inside[span[slices.thread[span] == slices.thread[row]]] = True
        return inside

    @property
    def device(self) -> str:
        """Name of the device, or ""."""
        return str(device_of(self.analysis, self.analysis.windows.device).get("name", ""))


def side(analysis: Analysis, label: str) -> SideData:
    """Return a side with its steady steps."""
    wall = analysis.windows.wall_ns
    names = analysis.links.steps.names
    kept = list(range(len(wall)))
    out = []
    if len(kept) > FEWEST and wall[0] > FIRST_IS_WARM_UP * np.median(wall[1:]):
        out.append(f"{names[0]} (longer than the others: warm-up)")
        kept = kept[1:]
    if len(kept) > FEWEST and wall[kept[-1]] < LAST_IS_CUT * np.median(wall[kept[:-1]]):
        out.append(f"{names[kept[-1]]} (the last: no next step shows where its period ends)")
        kept = kept[:-1]
    return SideData(analysis, label, np.array(kept, dtype=np.int64), tuple(out))


def labels(paths: Sequence[str]) -> list[str]:
    """Return a short name for each path, distinct: the file's stem, with as many folders as it takes, or a letter before equal paths."""
    parts = [_stem(path) for path in paths]
    for depth in range(1, max(len(one) for one in parts) + 1):
        found = ["/".join(one[-depth:]) for one in parts]
        if len(set(found)) == len(found):
            return found
    return [f"{chr(ord('A') + i % 26)}: {one[-1]}" for i, one in enumerate(parts)]


def _stem(path: str) -> list[str]:
    pure = PurePath(path)
    name = pure.name
    for suffix in (".gz", ".zip", ".json", ".pt.trace", ".trace"):
        name = name.removesuffix(suffix)
    return [*pure.parts[:-1], name or pure.name or path]
