"""The fixture, as a test of somebody else's uses it; torch is a stand-in here, the real one runs it by hand."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tests.integrations.fake import FakeProfiler
from tracekit.integrations.pytest_plugin import Tracer


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Put a stand-in for torch in its place; the options that its profiler got come back."""
    given: list[dict[str, Any]] = []

    class Running:
        def __init__(self) -> None:
            self.steps = 0

        def step(self) -> None:
            self.steps += 1

    @contextmanager
    def profile(*, on_trace_ready: Callable[[object], None], schedule: dict[str, int], **options: Any) -> Iterator[Running]:
        running = Running()
        given.append({**options, **schedule})
        yield running
        assert running.steps == schedule["warmup"] + schedule["active"]
        on_trace_ready(FakeProfiler())

    fake = types.ModuleType("torch")
    fake.profiler = types.SimpleNamespace(profile=profile, schedule=lambda **given: given)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", fake)
    return given


def test_the_fixture_profiles_and_reads(torch: list[dict[str, Any]], tracekit_trace: Tracer) -> None:
    """The plugin is installed with the package: the fixture is there by itself."""
    calls = []
    recorded = tracekit_trace(lambda: calls.append(1), steps=4, warm_up=1, with_stack=True)
    assert len(calls) == 5
    assert torch == [{"record_shapes": True, "with_stack": True, "wait": 0, "warmup": 1, "active": 4, "repeat": 1}]
    tracekit.assert_trace(recorded, "[step]\nkernels = 5\n")
    assert Path(recorded.path).parent == tracekit_trace.folder
    assert tracekit_trace(lambda: None).path != recorded.path


def test_without_torch_it_says_so(monkeypatch: pytest.MonkeyPatch, tracekit_trace: Tracer) -> None:
    """The tool never imports it by itself."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with pytest.raises(pytest.fail.Exception, match="hasn't imported"):
        tracekit_trace(lambda: None)


def test_pytest_starts_without_the_analyser(tmp_path: Path) -> None:
    """Every run of everybody's pytest loads the plugin: it has to cost nothing."""
    (tmp_path / "test_it.py").write_text(
        textwrap.dedent(
            """
            import sys

            def test_light():
                heavy = {"numpy", "pandas", "networkx", "rich", "tracekit.reading"} & set(sys.modules)
                assert not heavy
            """
        )
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert run.returncode == 0, run.stdout
