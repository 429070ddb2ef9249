"""Annotated traces: nothing of the original is lost, and what is ours can be told apart."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tests.support.builder import Builder, build
from tests.support.paths import SHARED, TRACES, needs_shared
from tracekit.analysis import analyze
from tracekit.findings import find
from tracekit.writing import annotate

Event = dict[str, Any]


def events_of(data: bytes) -> list[Event]:
    document = json.loads(data)
    found: list[Event] = document["traceEvents"] if isinstance(document, dict) else document
    return found


def both(path: Path) -> tuple[list[Event], list[Event]]:
    """Return the events of a file and of its annotated form."""
    raw = path.read_bytes()
    analysis = analyze(str(path))
    result = annotate(analysis, find(analysis))
    before = events_of(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    after = events_of(gzip.decompress(result.data))
    assert len(before) == result.events
    assert len(after) == result.events + result.added
    return before, after


def written(trace: Builder, tmp_path: Path) -> tuple[list[Event], list[Event]]:
    return both(trace.write(tmp_path / "trace.json"))


def assert_kept(before: list[Event], after: list[Event]) -> None:
    """Each original event stands in its place with all its members and args; a shortened one says how long it was."""
    for old, new in zip(before, after, strict=False):
        args, more = old.get("args") or {}, new.get("args") or {}
        for key, value in old.items():
            if key == "args" or new[key] == value:
                continue
            assert key == "dur"
            assert new["dur"] < value
            assert more["tracekit.original_dur_us"] == pytest.approx(value, abs=0.0006)
        if old.get("ph") == "M" and "tracekit.original" in more:
            assert json.loads(more["tracekit.original"]) == args
        else:
            assert {key: more.get(key) for key in args} == args


@pytest.mark.parametrize("name", ["naive", "sdpa_math", "gpt", "gpt_stacks", "cuda_graph", "two_streams"])
def test_every_original_event_is_still_there(name: str) -> None:
    """With all its members and args, in its place."""
    assert_kept(*both(TRACES / f"{name}.json.gz"))


@needs_shared
@pytest.mark.parametrize(
    "name",
    ["hta/mi250_toy_train", "hta/alexnet", "tracelens/h100_gaunernst_bert-small-uncased", "tracelens/sglang_decode_sglang_Qwen3-8B_decode"],
)
def test_events_of_public_traces_are_kept(name: str) -> None:
    """Other vendors and versions."""
    assert_kept(*both(SHARED / "traces" / f"{name}.json.gz"))


def test_our_slices_say_that_they_are_ours() -> None:
    """By category, so that SQL can tell them from the original ones."""
    _, after = both(TRACES / "naive.json.gz")
    ours = {event.get("cat") for event in after if event.get("ph") == "b"}
    assert {"finding", "tracekit.step", "tracekit.idle", "tracekit.attention"} <= ours
    titles = [event["name"] for event in after if event.get("cat") == "finding"]
    assert any(title.startswith("TK101 error: masked_fill out of place") for title in titles)


def test_gpu_events_gain_what_is_known_of_them() -> None:
    """Class, op, stack, step, launch, latency."""
    _, after = both(TRACES / "naive.json.gz")
    copies = [event["args"] for event in after if event.get("cat") == "gpu_memcpy" and "tracekit.op" in event["args"]]
    assert copies[0]["tracekit.class"] == "memcpy.DtoD"
    assert copies[0]["tracekit.op_stack"] == "aten::masked_fill > aten::clone > aten::copy_"
    assert copies[0]["tracekit.launch"] == "cudaMemcpyAsync"
    assert copies[0]["tracekit.step"].startswith("ProfilerStep#")


def nests(events: list[Event]) -> bool:
    """Say whether the slices of each track are nested or disjoint."""
    tracks: dict[tuple[Any, Any], list[tuple[int, int]]] = {}
    for event in events:
        if event.get("ph") == "X":
            start = round(event["ts"] * 1000)
            tracks.setdefault((event["pid"], event["tid"]), []).append((start, start + round(event["dur"] * 1000)))
    for slices in tracks.values():
        stack: list[int] = []
        for start, end in sorted(slices, key=lambda one: (one[0], -one[1])):
            while stack and stack[-1] <= start:
                stack.pop()
            if stack and end > stack[-1]:
                return False
            stack.append(end)
    return True


def test_slices_that_cross_are_shortened_so_that_a_viewer_keeps_them(tmp_path: Path) -> None:
    """A step mark that outlives the frame it began in: the frame ends where the mark begins."""
    trace = build().frame("profiler.step", 0, 12).step(1, 10, 90).op("aten::mm", 20, 30).launch("cudaLaunchKernel", 25, 5)
    trace.kernel("primary", 40, 40).launch("cudaLaunchKernelExC", 32, 5).kernel("secondary", 70, 30)
    before, after = written(trace, tmp_path)
    assert not nests(before)
    assert nests(after)
    assert_kept(before, after)


def test_slices_of_a_real_trace_with_stacks_nest_afterwards() -> None:
    """Perfetto 52 drops thirty of them otherwise, ProfilerStep first."""
    before, after = both(TRACES / "gpt_stacks.json.gz")
    assert not nests(before)
    assert nests(after)


def test_a_damaged_file_is_annotated_as_it_was_mended(tmp_path: Path) -> None:
    """What was lost is lost, the rest is there, and all of it is sound."""
    path = tmp_path / "cut.json"
    text = build().op("aten::a", 0, 5).op("aten::b", 10, 5).text()
    path.write_text(text[: text.rindex("aten::b")])
    analysis = analyze(tracekit.load(path))
    result = annotate(analysis, find(analysis))
    names = [event.get("name") for event in json.loads(gzip.decompress(result.data))["traceEvents"]]
    assert result.events == analysis.trace.log.kept
    assert "aten::a" in names
    assert "aten::b" not in names


def test_names_that_choke_viewers_are_made_safe(tmp_path: Path) -> None:
    """A backslash at the end of a string costs Perfetto 52 every event; ours never have one."""
    trace = build().op("C:\\dir\\", 0, 50).launch("cudaLaunchKernel", 5, 5).kernel("k", 20, 10)
    _, after = written(trace, tmp_path)
    texts = [
        value
        for event in after
        for key, value in (event.get("args") or {}).items()
        if key.startswith("tracekit.") and isinstance(value, str)
    ]
    assert not [text for text in texts if text.endswith("\\") and text != "C:\\dir\\"]
