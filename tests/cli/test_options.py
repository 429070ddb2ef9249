"""Where output goes, and what happens when it can't."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.builder import build
from tests.support.paths import ROOT, TRACES

NAIVE = TRACES / "naive.json.gz"
TRACEKIT = f"{sys.executable} -m tracekit"


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash; its exit code is the last one's that isn't 0."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("args", [f"summary {NAIVE}", f"links {NAIVE} --format csv", "--help"])
def test_a_full_disk_is_one_line(args: str) -> None:
    """Not a bug of ours."""
    done = shell(f"{TRACEKIT} {args} >/dev/full")
    assert done.returncode == 2
    assert "standard output: " in done.stderr
    assert done.stderr.rstrip().splitlines()[-1].endswith(("No space left on device.", "give -o FILE."))
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_closed_output_is_one_line() -> None:
    """As a service may have it."""
    done = shell(f"{TRACEKIT} summary {NAIVE} >&-")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is closed" in done.stderr


@pytest.mark.parametrize("args", [f"links {NAIVE} --format json", "--help"])
def test_a_reader_that_has_seen_enough_is_no_error(args: str) -> None:
    """As head(1) is."""
    done = shell(f"{TRACEKIT} {args} | true")
    assert done.returncode == 0
    assert "Error" not in done.stderr


def test_ctrl_c_is_quiet(tmp_path: Path) -> None:
    """Exit code 130 and no traceback."""
    pipe = tmp_path / "trace.json"
    os.mkfifo(pipe)
    run = subprocess.Popen([sys.executable, "-m", "tracekit", "summary", str(pipe)], stderr=subprocess.PIPE, cwd=ROOT)
    writer = pipe.open("wb")  # returns once tracekit has begun to read
    time.sleep(0.2)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=30)
    writer.close()
    assert run.returncode == 130
    assert said.strip() == b""


def test_a_suffix_that_the_command_can_not_write_is_refused(tmp_path: Path) -> None:
    """Rather than a table in a file called .csv."""
    done = shell(f"{TRACEKIT} rules -o {tmp_path}/rules.csv")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "rules writes no csv" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_notices_of_a_format_for_programs_go_to_stderr() -> None:
    """So that standard output stays one JSON text."""
    done = shell(f"{TRACEKIT} summary {NAIVE} --format json")
    assert done.stdout.startswith("{\n")
    assert done.stderr.startswith("note: 20 GPU events of 68")


def test_no_arguments_show_the_help() -> None:
    """Readable, with exit code 2."""
    done = shell(TRACEKIT)
    assert done.returncode == 2
    assert "\nCommands:\n" in done.stderr


def test_the_width_is_that_of_columns() -> None:
    """Where no terminal tells."""
    assert max(map(len, shell(f"{TRACEKIT} summary {NAIVE}", COLUMNS="60").stdout.splitlines())) <= 60


def test_colour_is_asked_for_or_a_terminals() -> None:
    """Never in a pipe by itself."""
    assert "\x1b[" in shell(f"{TRACEKIT} summary {NAIVE} --color").stdout
    assert "\x1b[" not in shell(f"{TRACEKIT} summary {NAIVE}").stdout


def test_debug_shows_where_an_error_comes_from() -> None:
    """Anywhere among the arguments."""
    done = shell(f"{TRACEKIT} summary none.json --debug")
    assert done.returncode != 0
    assert "Traceback" in done.stderr


def test_a_bug_is_one_line_and_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do, and no traceback."""
    from tracekit import cli

    def broken(*_: object, **__: object) -> None:
        raise KeyError("evil\x1b[31m")

    monkeypatch.setattr(cli.group, "main", broken)
    with pytest.raises(SystemExit) as left:
        cli.main(["summary"])
    assert left.value.code == cli.BUG
    said = capsys.readouterr().err
    assert said.startswith("tracekit: a bug of tracekit: KeyError")
    assert "--debug" in said
    assert "\x1b" not in said
    assert said.count("\n") == 1


def test_classes_and_steps_of_ones_own_are_used(tmp_path: Path) -> None:
    """--taxonomy and --step."""
    trace = build()
    for i in range(3):
        trace.annotation("train", 100 * i, 90).launch("cudaLaunchKernel", 100 * i + 5, 5).kernel("my_kernel", 100 * i + 20, 50)
    path = trace.write(tmp_path / "trace.json")
    table = tmp_path / "mine.toml"
    table.write_text('classes = ["mine"]\n[[kernel]]\nclass = "mine"\npattern = "my_kernel"\n')
    done = shell(f"{TRACEKIT} summary {path} --step train --taxonomy {table}")
    assert done.returncode == 0, done.stderr
    assert "of 3 steps" in done.stdout
    assert "\nmine " in done.stdout
