"""A plugin for pytest: ``tracekit_trace`` profiles a callable of yours, ``tracekit.assert_trace`` holds it against what you expect.

    def test_attention_is_fused(tracekit_trace):
        recorded = tracekit_trace(lambda: model(batch))
        assert_trace(recorded, "step.kernels = 1")

pytest loads this module at its start, so it imports nothing of tracekit's until it is used. torch is the test's own, from where the test imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tracekit.integrations.checking import Recorded


class Tracer:
    """Profiles callables; each trace lies in the test's own folder.

    Attributes:
        folder: Where.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0

    def __call__(self, step: Callable[[], object], *, steps: int = 3, warm_up: int = 2, **options: Any) -> Recorded:
        """Run a callable under torch.profiler and return its trace with what it shows.

        Args:
            step: Runs one step.
            steps: Steps recorded.
            warm_up: Steps before, under the profiler but not recorded.
            options: Handed to ``torch.profiler.profile`` (``record_shapes``, ``with_stack``, …); shapes are recorded unless said otherwise.
        """
        profiler = _profiler()
        from tracekit.integrations.checking import record_of

        self._count += 1
        path = self.folder / f"trace{self._count}.json.gz"
        given = {"record_shapes": True, **options}
        schedule = profiler.schedule(wait=0, warmup=max(warm_up, 1), active=steps, repeat=1)
        with profiler.profile(schedule=schedule, on_trace_ready=lambda one: one.export_chrome_trace(str(path)), **given) as running:
            for _ in range(max(warm_up, 1) + steps):
                step()
                running.step()
        return record_of(path)


def _profiler() -> Any:
    torch = sys.modules.get("torch")
    if torch is None:
        pytest.fail("tracekit_trace profiles with torch, which this test hasn't imported", pytrace=False)
    return torch.profiler


@pytest.fixture
def tracekit_trace(tmp_path: Path) -> Tracer:
    """Profile a callable: ``recorded = tracekit_trace(step)``."""
    return Tracer(tmp_path)
