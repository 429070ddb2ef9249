"""Asks tracekit and its peers the same questions about the same files, and writes docs/peers.md: what each says, beside what an independent count says.

    python scripts/peers.py --hta venv/bin/python --tracelens venv/bin/python --perfetto [--cases FOLDER] TRACE...

The judge is the file itself, read with the standard library and exact decimals: how many GPU events it holds, and how long at least one of them runs.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "peers.md"
TIMEOUT_S = 300
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
OFF_SHARE = 0.001
"""A busy time that differs by more from the file's is marked."""

TRACEKIT = """
import json, sys
from tracekit.analysis import analyze
from tracekit.intervals import total
a = analyze(sys.argv[1])
work, links = a.work, a.links
busy = sum(total(work.start_ns[work.device == d], work.end_ns[work.device == d]) for d in set(work.device.tolist()))
print(json.dumps({"events": len(work), "linked": links.linked, "busy_us": busy / 1000}))
"""
HTA = """
import json, sys
from hta.trace_analysis import TraceAnalysis
t = TraceAnalysis(trace_files={0: sys.argv[1]})
frame = t.t.get_trace(0)
gpu = frame[frame.stream >= 0]
row = t.get_temporal_breakdown(visualize=False).to_dict('records')[0]
linked = int((gpu.index_correlation > 0).sum())
print(json.dumps({"events": len(gpu), "linked": linked, "busy_us": float(row['kernel_time(us)'] - row['idle_time(us)'])}))
"""
TRACELENS = """
import json, sys
from TraceLens import TreePerfAnalyzer
a = TreePerfAnalyzer.from_file(sys.argv[1])
gpu = [e for e in a.tree.events if a.tree.event_to_category(e) in ('kernel', 'gpu_memcpy', 'gpu_memset')]
linked = sum(e.get('parent') is not None for e in gpu)
lines = a.get_df_gpu_timeline().set_index('type')['time ms']
print(json.dumps({"events": len(gpu), "linked": linked, "busy_us": float(lines['busy_time']) * 1000}))
"""
SQL = (
    "select count(*) from slice where category in ('kernel', 'gpu_memcpy', 'gpu_memset')",
    # Union of intervals: a stretch starts where an event starts after everything before it has ended.
    """with e as (select t.upid as device, s.ts, s.ts + max(s.dur, 0) as finish from slice s join thread_track k on s.track_id = k.id
      join thread t using (utid) where s.category in ('kernel', 'gpu_memcpy', 'gpu_memset')),
    r as (select *, max(finish) over (partition by device order by ts, finish rows between unbounded preceding and 1 preceding) as reach from e)
    select sum(max(finish - max(ts, ifnull(reach, ts)), 0)) from r""",
)


@dataclass(frozen=True)
class Said:
    """What a tool says of a trace; ``failed`` is why it says nothing."""

    events: int | None = None
    linked: int | None = None
    busy_us: float | None = None
    failed: str = ""


def judge(path: Path) -> Said:
    """Return what the file itself says; ``failed`` where the standard library can't read it, so that there is no judge."""
    with contextlib.suppress(OSError, ValueError, EOFError):
        raw = path.read_bytes()
        document = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw, parse_float=Decimal, strict=False)
        found = document["traceEvents"] if isinstance(document, dict) else document
        spans: dict[Any, list[tuple[Decimal, Decimal]]] = {}
        for event in found:
            if event.get("ph") == "X" and event.get("cat", "").lower() in GPU:
                start = Decimal(event["ts"])
                spans.setdefault(event["pid"], []).append((start, start + Decimal(event["dur"])))
        return Said(sum(map(len, spans.values())), None, float(sum(map(union, spans.values()), Decimal(0))))
    return Said(failed="not JSON")


def union(spans: Sequence[tuple[Decimal, Decimal]]) -> Decimal:
    """Return how long at least one of some intervals lasts."""
    out, reach = Decimal(0), Decimal("-Infinity")
    for start, end in sorted(spans):
        if end > reach:
            out += end - max(start, reach)
            reach = end
    return out


def ask(python: str, code: str, path: Path) -> Said:
    """Return what a tool says, run in an interpreter of its own."""
    try:
        done = subprocess.run(
            [python, "-c", code, str(path.resolve())], capture_output=True, text=True, timeout=TIMEOUT_S, cwd=ROOT, check=False
        )
    except subprocess.TimeoutExpired:
        return Said(failed=f"over {TIMEOUT_S} s")
    if done.returncode == 0:
        return Said(**json.loads(done.stdout.strip().splitlines()[-1]))
    last = done.stderr.strip().splitlines()[-1:] or ["no word"]
    return Said(failed="raises " + last[0].split(":")[0].split(".")[-1][:30])


def perfetto(paths: Sequence[Path]) -> dict[Path, Said]:
    """Return what Perfetto's trace processor says, all in one process."""
    from tracekit.writing import ui_folder

    folder = next(one for one in sorted(ui_folder().iterdir()) if (one / "engine_bundle.js").is_file())
    script = ROOT / "tests" / "support" / "trace_processor.cjs"
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "answers.json"
        asked = json.dumps([{"trace": str(path.resolve()), "queries": SQL} for path in paths])
        subprocess.run(
            ["node", str(script), str(folder), str(out)], input=asked.encode(), check=True, capture_output=True, timeout=TIMEOUT_S
        )
        answers = json.loads(out.read_text(encoding="utf-8"))
    said = {}
    for path, answer in zip(paths, answers, strict=True):
        if answer["error"]:
            said[path] = Said(failed="refuses it")
        else:
            count, busy = (rows[0][0] for rows in answer["answers"])
            said[path] = Said(int(count), None, float(busy or 0) / 1000)
    return said


def busy_cell(said: Said | None, right: Said) -> str:
    """Return a cell: the busy time, marked where it isn't the file's."""
    if said is None:
        return ""
    if said.failed or said.busy_us is None:
        return said.failed
    text = f"{said.busy_us:,.1f}"
    if right.busy_us is None or abs(said.busy_us - right.busy_us) <= max(OFF_SHARE * right.busy_us, 0.01):
        return text
    return f"**{text}**" if right.busy_us == 0 else f"**{text}** ({100 * (said.busy_us / right.busy_us - 1):+.1f} %)"


def events_cell(said: Said | None) -> str:
    """Return a cell: events seen, and how many of them have a launch."""
    if said is None or said.failed:
        return "–" if said else ""
    return f"{said.events:,}" if said.linked is None else f"{said.events:,}, {said.linked:,}"


def page(rows: Sequence[tuple[str, Said, Mapping[str, Said]]], loaded: Mapping[str, tuple[int, int]], versions: str) -> str:
    """Return the page."""
    tools = list(rows[0][2]) if rows else []
    exact = {tool: sum(not cell.startswith("**") and bool(cell) and cell[0].isdigit() for cell in column(rows, tool)) for tool in tools}
    lines = [
        "<!-- written by scripts/peers.py: run it again instead of editing -->",
        "# The same questions, asked of others\n",
        f"{versions}\n",
        "The judge is the file, read with Python's standard library and exact decimals. GPU busy is the time in which at least one GPU event",
        f"runs (the union, per device); figures more than {100 * OFF_SHARE:g} % off are bold. HTA leaves out the last step and events without a launch by",
        "design, and rounds times to microseconds; its AssertionErrors are its own check that no time came out negative, its TypeErrors come from",
        "pandas 3. TraceLens leaves out events without a launch by default. Perfetto drops slices that overlap.",
        f"Within {100 * OFF_SHARE:g} % of the file: {', '.join(f'{tool} {count} of {len(rows)}' for tool, count in exact.items())}.\n",
        "## GPU busy, µs\n",
        f"| trace | the file | {' | '.join(tools)} |",
        f"|---|--:|{'--:|' * len(tools)}",
    ]
    lines += [
        f"| {name} | {right.busy_us or 0:,.1f} | {' | '.join(busy_cell(said[tool], right) for tool in tools)} |"
        for name, right, said in rows
    ]
    lines += [
        "",
        "## GPU events: seen, and linked to their launch\n",
        f"| trace | the file | {' | '.join(tools)} |",
        f"|---|--:|{'--:|' * len(tools)}",
    ]
    lines += [f"| {name} | {right.events:,} | {' | '.join(events_cell(said[tool]) for tool in tools)} |" for name, right, said in rows]
    if loaded:
        lines += [
            "",
            "## Odd files that are read at all\n",
            "Lists left open, cut files, NaN, bad escapes, zip, old schemas and the like; one of them is no trace and has to be refused.",
            "That a file is read doesn't say that it is read right.\n",
            "| | read |",
            "|---|--:|",
        ]
        lines += [f"| {tool} | {count} of {of} |" for tool, (count, of) in loaded.items()]
    return "\n".join(lines) + "\n"


def column(rows: Sequence[tuple[str, Said, Mapping[str, Said]]], tool: str) -> list[str]:
    """Return the cells of a tool."""
    return [busy_cell(said[tool], right) for _, right, said in rows]


def main() -> int:
    """Ask, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--hta")
    parser.add_argument("--tracelens")
    parser.add_argument("--perfetto", action="store_true")
    parser.add_argument("--cases", type=Path, help="folder of odd files")
    parser.add_argument("--versions", default="", help="a sentence that names them")
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    given = parser.parse_args()
    asked = {"tracekit": (sys.executable, TRACEKIT), "HTA": (given.hta, HTA), "TraceLens": (given.tracelens, TRACELENS)}
    cases = (
        sorted(one for one in given.cases.iterdir() if one.suffix in {".json", ".gz", ".zip"} and ".expect." not in one.name)
        if given.cases
        else []
    )
    said: dict[Path, dict[str, Said]] = {path: {} for path in (*given.traces, *cases)}
    for tool, (python, code) in asked.items():
        for path in said:
            if python:
                said[path][tool] = ask(python, code, path)
    if given.perfetto:
        for path, answer in perfetto(list(said)).items():
            said[path]["Perfetto"] = answer
    rows = [(path.name.removesuffix(".json.gz"), judge(path), said[path]) for path in given.traces]
    tools = list(rows[0][2])
    loaded = {tool: (sum(not said[path][tool].failed for path in cases), len(cases)) for tool in tools} if cases else {}
    text = page([row for row in rows if row[1].events], loaded, given.versions)
    given.output.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
