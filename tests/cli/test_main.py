"""The command line as a user meets it."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.builder import build
from tests.support.paths import ROOT, TRACES

NAIVE, MATH = TRACES / "naive.json.gz", TRACES / "sdpa_math.json.gz"
COMMANDS = {
    "summary": ("trace", "read", "gpu", "steps", "classes", "attention", "verdict"),
    "ops": ("ops",),
    "kernels": ("kernels",),
    "links": ("links", "launches_without_gpu"),
    "attention": ("attention",),
}


def run(*args: object, text: bytes | None = None) -> subprocess.CompletedProcess[str]:
    """Run tracekit; no run may show a traceback."""
    command = [sys.executable, "-m", "tracekit", *map(str, args)]
    done = subprocess.run(command, capture_output=True, input=text, cwd=ROOT, check=False, timeout=120)
    result = subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in result.stderr
    return result


def one_line_error(*args: object, text: bytes | None = None) -> str:
    """Return what a run that must fail says: one line on stderr, nothing on stdout, exit code 2."""
    done = run(*args, text=text)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tracekit: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_json_has_its_schema_and_the_keys_of_the_contract(command: str) -> None:
    """Fields may be added, never renamed."""
    document = json.loads(run(command, NAIVE, "--format", "json").stdout)
    assert document["schema"] == f"tracekit.{command}/1"
    assert set(COMMANDS[command]) <= set(document)


def test_diff_json_has_the_keys_of_the_contract() -> None:
    """The step with its quantities, the ledgers, the residue, the sentences."""
    document = json.loads(run("diff", NAIVE, MATH, "--format", "json").stdout)
    assert {"schema", "a", "b", "step", "rows", "cpu_rows", "shifted_to_cpu", "residue_us", "summary"} <= set(document)
    assert set(document["step"]) >= {"wall_us", "host_us", "gpu_busy_us", "gpu_idle_us"}
    assert set(document["step"]["wall_us"]) == {"a", "b", "delta", "ratio", "low", "high", "significant", "a_median", "b_median"}
    assert document["step"]["wall_us"]["a"] == pytest.approx(4526, abs=1)
    assert document["step"]["wall_us"]["ratio"] == pytest.approx(2.215, abs=0.001)
    assert {
        "region",
        "match",
        "stage",
        "class",
        "a_us",
        "b_us",
        "delta_us",
        "a_count",
        "b_count",
        "a_kernels",
        "b_kernels",
        "confidence",
    } <= set(document["rows"][0])


def test_csv_has_a_line_for_each_row() -> None:
    """And a header."""
    rows = list(csv.DictReader(io.StringIO(run("links", NAIVE, "--format", "csv").stdout)))
    assert len(rows) == 68
    assert rows[-1]["launch_name"]


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize(
    "args", [("summary", NAIVE), ("kernels", MATH), ("ops", MATH), ("links", NAIVE), ("attention", MATH), ("diff", NAIVE, MATH)]
)
def test_tables_keep_to_the_width(args: tuple[object, ...], width: int) -> None:
    """No line is longer than asked for, and no colour gets into a pipe."""
    out = run(*args, "--width", width).stdout
    assert max(map(len, out.splitlines())) <= width
    assert "\x1b" not in out


@pytest.mark.parametrize(("condition", "code"), [("step_us > +3%", 1), ("step_us > +300%", 0)])
def test_diff_fails_by_a_gate(condition: str, code: int) -> None:
    """Exit code 1, the reason on stderr, the result on stdout all the same."""
    done = run("diff", NAIVE, MATH, "--fail-if", condition)
    assert done.returncode == code
    assert ("more than noise" in done.stderr) is bool(code)
    assert "2.22×" in done.stdout


def test_a_gate_that_is_none_is_an_error() -> None:
    """It says how one looks."""
    assert "step_us > +3%" in one_line_error("diff", NAIVE, MATH, "--fail-if", "slow")


def test_diff_of_many_is_a_table_of_variants() -> None:
    """One row each, in the order given."""
    document = json.loads(run("diff", NAIVE, MATH, TRACES / "sdpa_flash.json.gz", "--format", "json").stdout)
    assert document["schema"] == "tracekit.variants/1"
    assert [row["label"] for row in document["variants"]] == ["naive", "sdpa_math", "sdpa_flash"]


def test_diff_says_what_changed_in_its_first_lines() -> None:
    """The answer before the tables."""
    lines = run("diff", NAIVE, MATH, "--width", 160).stdout.splitlines()
    assert lines[0] == "naive → sdpa_math"
    assert lines[1].startswith("sdpa_math is 2.22× as slow as naive")
    assert "20 kernels a step against 5; 1 Memcpy DtoD a step gone." in lines[:8]


def test_markdown_is_a_table() -> None:
    """For a pull request."""
    assert "|---" in run("summary", NAIVE, "--format", "md").stdout.replace(" ", "").replace(":", "-").replace("--", "-").replace(
        "|-", "|---"
    )


def test_standard_input_is_read() -> None:
    """As -."""
    done = run("summary", "-", "--format", "json", text=NAIVE.read_bytes())
    assert json.loads(done.stdout)["gpu"]["events"] == 68


def test_an_output_is_written_once_and_never_lost(tmp_path: Path) -> None:
    """An existing file needs --force; its suffix says the format."""
    out = tmp_path / "out.json"
    assert run("summary", NAIVE, "-o", out).returncode == 0
    assert json.loads(out.read_text())["schema"] == "tracekit.summary/1"
    before = out.read_text()
    assert "exists" in one_line_error("summary", MATH, "-o", out)
    assert out.read_text() == before
    assert run("summary", MATH, "-o", out, "--force").returncode == 0
    assert out.read_text() != before
    assert list(tmp_path.iterdir()) == [out]


def test_a_device_is_written_to_and_stays_a_device(tmp_path: Path) -> None:
    """Renaming over /dev/null, as root, would leave a machine without one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    assert run("summary", NAIVE, "-o", pipe, "--format", "json").returncode == 0
    assert json.loads(reader.communicate(timeout=30)[0])["schema"] == "tracekit.summary/1"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_an_output_stays_when_the_input_is_bad(tmp_path: Path) -> None:
    """Inputs are read before outputs are opened."""
    out = tmp_path / "keep.md"
    out.write_text("mine")
    one_line_error("summary", tmp_path / "none.json", "-o", out, "--force")
    assert out.read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"<!DOCTYPE html><html>", "HTML page"),
        (b'{"nodes": []}', "traceEvents"),
        (b"\x00\x01\x02binary", "binary"),
        (b"not json", "no JSON"),
        (b"\x1f\x8b\x08\x00rubbish", "gzip"),
    ],
)
def test_what_is_no_trace_is_said_in_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    """File, cause, what to do; exit code 2."""
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    line = one_line_error("summary", path)
    assert str(path) in line
    assert words in line


def test_a_missing_file_a_folder_and_a_bad_option_are_one_line(tmp_path: Path) -> None:
    """Whatever goes wrong."""
    assert "No such file" in one_line_error("summary", tmp_path / "none.json")
    assert "folder" in one_line_error("summary", tmp_path)
    assert "--width" in one_line_error("summary", NAIVE, "--width", "x")
    assert "No such command" in one_line_error("sumary", NAIVE)
    assert "no annotation or op is called" in one_line_error("summary", NAIVE, "--step", "none")
    assert "its folder doesn't exist" in one_line_error("summary", NAIVE, "-o", tmp_path / "no" / "out.json")


HOSTILE = "evil\x1b[31m\n|<script>alert(1)</script>\x00`=cmd()"


@pytest.mark.parametrize("args", [("summary",), ("ops",), ("ops", "--tree"), ("kernels",), ("links",), ("attention",)])
@pytest.mark.parametrize("format_", ["table", "md", "csv", "json"])
def test_a_hostile_name_drives_nothing(tmp_path: Path, args: tuple[str, ...], format_: str) -> None:
    """Escapes never reach the terminal, a newline makes no row, HTML stays text, in every command and format."""
    trace = (
        build()
        .step(1, 0, 90)
        .annotation(HOSTILE, 0, 80)
        .op(HOSTILE, 1, 50)
        .launch(HOSTILE, 10, 5)
        .kernel(HOSTILE, 20, 10)
        .kernel("x" * 2_000_000, 40, 5)
    )
    path = trace.write(tmp_path / "hostile.json")
    done = run(args[0], path, *args[1:], "--format", format_)
    assert done.returncode == 0
    if format_ != "json":
        assert "\x1b" not in done.stdout
        assert "\x00" not in done.stdout
    if format_ == "md":
        assert "<script>" not in done.stdout
    if format_ in {"table", "md"}:
        assert max(map(len, done.stdout.splitlines())) < 20_000
    if format_ == "json":
        json.loads(done.stdout)


def test_check_and_expect_work_together(tmp_path: Path) -> None:
    """A draft is met by its trace and not by another; exit code 1 then."""
    draft = tmp_path / "expect.toml"
    assert run("expect", NAIVE, "-o", draft).returncode == 0
    assert run("check", NAIVE, "--expect", draft).returncode == 0
    missed = run("check", MATH, "--expect", draft)
    assert missed.returncode == 1
    assert "not met" in missed.stdout


@pytest.mark.parametrize("command", [*COMMANDS, "diff", "check", "expect"])
def test_every_help_has_an_example_that_names_the_command(command: str) -> None:
    """One can copy it."""
    assert f"Example: tracekit {command}" in " ".join(run(command, "--help").stdout.split())


def test_the_version_is_the_packages() -> None:
    """One version, in setup.cfg."""
    assert run("--version").stdout.startswith("tracekit 0.")


def test_slice_writes_a_smaller_trace(tmp_path: Path) -> None:
    """And says what it left out; it doesn't overwrite."""
    path = tmp_path / "part.json.gz"
    done = run("slice", NAIVE, "-o", path, "--steps", "4-5")
    assert done.returncode == 0
    assert "Left out: " in done.stderr
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert path.stat().st_size < NAIVE.stat().st_size
    steps = json.loads(run("summary", path, "--format", "json").stdout)["steps"]
    assert [step["name"] for step in steps] == ["ProfilerStep#4", "ProfilerStep#5"]
    assert "exists" in one_line_error("slice", NAIVE, "-o", path, "--steps", "4-5")


def test_slice_wants_to_know_what(tmp_path: Path) -> None:
    """Without a part it would be a copy."""
    assert "--steps" in one_line_error("slice", NAIVE, "-o", tmp_path / "a.json")


def test_repair_writes_a_clean_trace(tmp_path: Path) -> None:
    """And says what it mended and lost."""
    broken, mended = tmp_path / "broken.json", tmp_path / "mended.json"
    broken.write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": "1", "dur": 1}, {"ph": "X", "na')
    done = run("repair", broken, "-o", mended)
    assert done.returncode == 0
    assert "Mended: 1 number as text" in done.stderr
    assert "Lost: 1 truncated" in done.stderr
    assert len(json.loads(mended.read_text())["traceEvents"]) == 1
