"""Views are tested from the project's root, so that the paths in them are the same everywhere."""

from __future__ import annotations

import pytest

from tests.support.paths import ROOT


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
