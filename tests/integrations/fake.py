"""A profiler that needs no torch: it exports a trace of ours."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import TRACES


@dataclass
class FakeProfiler:
    """What the handler needs of ``torch.profiler.profile``."""

    trace: Path = TRACES / "naive.json.gz"
    step_num: int = 7

    def export_chrome_trace(self, path: str, /) -> None:
        """Copy the trace, as torch writes it."""
        shutil.copyfile(self.trace, path)
