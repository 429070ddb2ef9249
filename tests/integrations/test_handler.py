"""``on_trace_ready``: a file is written, read and told about, and a training run isn't stopped by it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import tracekit
from tests.integrations.fake import FakeProfiler
from tracekit.errors import InputError, OutputError
from tracekit.integrations.checking import ExpectationError

WRONG = "[step]\nkernels = 1\n"


def test_it_writes_and_tells(tmp_path: Path) -> None:
    """The verdict and each warning, a line each."""
    lines: list[str] = []
    ready = tracekit.handler(tmp_path / "new" / "folder", say=lines.append)
    ready(FakeProfiler())
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == ["trace_step7.json.gz"]
    assert "4.53 ms" in lines[0]
    assert any(line.startswith("TK101 ") for line in lines)
    assert len(ready.recorded) == 1


def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an earlier recording nor that of another rank."""
    ready = tracekit.handler(tmp_path, name="a/../b c", say=lambda _: None)
    ready(FakeProfiler())
    ready(FakeProfiler())
    monkeypatch.setenv("RANK", "3")
    ready(FakeProfiler())
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a_.._b_c_rank3_step7.json.gz",
        "a_.._b_c_step7.json.gz",
        "a_.._b_c_step7_2.json.gz",
    ]


def test_the_logger_warns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without ``say``: findings and missed expectations as warnings, the verdict as information."""
    with caplog.at_level(logging.INFO, "tracekit"):
        tracekit.handler(tmp_path, expect=WRONG)(FakeProfiler())
    levels = {record.levelno for record in caplog.records}
    assert levels == {logging.INFO, logging.WARNING}
    assert "isn't as expected" in caplog.text


def test_it_raises_when_asked(tmp_path: Path) -> None:
    """As a gate; the trace is there all the same."""
    with pytest.raises(ExpectationError, match="kernels"):
        tracekit.handler(tmp_path, expect=WRONG, raises=True, say=lambda _: None)(FakeProfiler())
    assert list(tmp_path.iterdir())


def test_bad_expectations_are_refused_before_the_run(tmp_path: Path) -> None:
    """Not after hours of training."""
    with pytest.raises(InputError):
        tracekit.handler(tmp_path, expect="kernels = = 1")


def test_an_unreadable_trace_doesnt_stop_a_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is said; with ``raises`` it raises."""
    broken = tmp_path / "broken"
    broken.write_bytes(b"no trace at all")
    with caplog.at_level(logging.WARNING, "tracekit"):
        tracekit.handler(tmp_path / "out")(FakeProfiler(broken))
    assert "trace_step7.json.gz" in caplog.text
    with pytest.raises(InputError):
        tracekit.handler(tmp_path / "out2", raises=True)(FakeProfiler(broken))


def test_a_folder_that_cant_be_made_is_one_line(tmp_path: Path) -> None:
    """Its path, the cause, what to do."""
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="can't be written"):
        tracekit.handler(tmp_path / "file" / "below")(FakeProfiler())
