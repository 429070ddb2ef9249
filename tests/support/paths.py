"""Where the tests find traces."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "traces"
SHARED = ROOT.parent / "shared"

needs_shared = pytest.mark.skipif(
    not (SHARED / "cases").is_dir(), reason="the shared cases and traces lie beside the checkout, and don't here"
)


def shared_traces() -> list[Path]:
    """Return every public trace at hand, smallest first; [] where there are none."""
    return sorted((SHARED / "traces").glob("*/*.gz"), key=lambda path: path.stat().st_size)


def own_traces() -> list[Path]:
    """Return the project's own traces."""
    return sorted(TRACES.glob("*.json.gz"))
