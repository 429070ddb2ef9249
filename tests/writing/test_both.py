"""Two traces in one file."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.builder import build
from tests.support.paths import TRACES
from tests.support.perfetto import ask, engine_folder
from tracekit.analysis import Analysis, analyze
from tracekit.writing import Annotated, annotate_both

SAME = ("ph", "cat", "tid")


def of(name: str) -> Analysis:
    """Return one of our traces."""
    return analyze(str(TRACES / f"{name}.json.gz"))


def events(data: bytes) -> list[dict[str, Any]]:
    """Return a file's events."""
    found: list[dict[str, Any]] = json.loads(gzip.decompress(data))["traceEvents"]
    return found


@pytest.fixture(scope="module")
def both() -> Annotated:
    """Attention by hand, and the math backend."""
    return annotate_both(of("naive"), of("sdpa_math"))


def test_nothing_of_either_is_lost(both: Annotated) -> None:
    """Each event is there with its args, moved by a constant."""
    document = json.loads(gzip.decompress(both.data))
    for base, one in zip((100_000, 200_000), document["tracekit"], strict=True):
        original = events((TRACES / f"{one['label']}.json.gz").read_bytes())
        mine = [event for event in document["traceEvents"] if base <= event["pid"] < base + 100_000]
        assert len(mine) > len(original)
        for old, new in zip(original, mine, strict=False):
            assert [old.get(key) for key in SAME] == [new.get(key) for key in SAME]
            if old["ph"] == "X":
                assert new["ts"] - old["ts"] == pytest.approx(one["moved_us"], abs=0.002)
                assert (new["dur"], new["name"]) == (old["dur"], old["name"])
                assert {key: new["args"][key] for key in old.get("args", {})} == old.get("args", {})


def test_processes_and_flows_are_kept_apart(both: Annotated) -> None:
    """No pid and no flow id serves both."""
    groups: dict[bool, set[int]] = {True: set(), False: set()}
    for event in events(both.data):
        if event["ph"] in "sf" and "id" in event:
            groups[event["pid"] < 200_000].add(event["id"])
    assert groups[True]
    assert groups[False]
    assert not groups[True] & groups[False]
    names = {event["pid"]: event["args"]["name"] for event in events(both.data) if event.get("name") == "process_name"}
    assert Counter(name.split(":")[0] for name in names.values())["differences"] == 1


def test_the_first_steps_begin_together(both: Annotated) -> None:
    """On the device."""
    steps = [event for event in events(both.data) if event.get("cat") == "tracekit.step" and event["ph"] == "b" and event["pid"] == 300_000]
    begins: dict[str, float] = {}
    for event in steps:
        label = event["name"].split()[0]
        if event["name"].startswith(("naive Prof", "sdpa_math Prof")):
            begins.setdefault(label, event["ts"])
    assert len(begins) == 2
    assert len(set(begins.values())) == 1


def test_differences_are_marked_and_matches_joined(both: Annotated) -> None:
    """With the change in the name, and a flow between the attention calls."""
    found = events(both.data)
    marks = [event for event in found if event.get("cat") == "tracekit.difference" and event["ph"] == "b" and "args" in event]
    assert any("fp32 without tensor cores" in event["name"] for event in marks)
    assert {event["args"]["match"].split(",")[0] for event in marks} <= {"matched", "only here"}
    joined = Counter(int(event["bind_id"], 16) for event in found if "bind_id" in event)
    assert any(flow >= 1 << 50 and count == 2 for flow, count in joined.items())


def test_perfetto_reads_all_of_it(both: Annotated, tmp_path: Path) -> None:
    """Without an error."""
    engine_folder()
    path = tmp_path / "both.json.gz"
    path.write_bytes(both.data)
    queries = (
        "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
        "select count(*) from slice where category = 'tracekit.difference' and dur > 0",
        "select count(*) from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id "
        "join thread_track ta on a.track_id = ta.id join thread ha on ta.utid = ha.utid join process pa on ha.upid = pa.upid "
        "join thread_track tb on b.track_id = tb.id join thread hb on tb.utid = hb.utid join process pb on hb.upid = pb.upid where pa.name not like pb.name "
        "and substr(pa.name, 1, 5) != substr(pb.name, 1, 5)",
    )
    answer = ask({path: queries}, tmp_path)[path]
    assert answer.error is None
    stats, marks, joined = answer.rows
    assert stats == []
    assert marks[0][0] > 5
    assert joined[0][0] >= 1


def test_a_trace_against_itself_has_no_difference() -> None:
    """And two labels."""
    found = events(annotate_both(of("naive"), of("naive")).data)
    assert not [event for event in found if event.get("cat") == "tracekit.difference" and "args" in event]
    names = {event["args"]["name"] for event in found if event.get("name") == "process_name"}
    assert {"A: naive: python3", "B: naive: python3"} <= names


def test_no_time_is_negative(tmp_path: Path) -> None:
    """Though one trace begins at 0 and the other long before its step."""
    early = build().op("before", 0, 10).step(1, 5000, 50).op("aten::mm", 5001, 5).launch("cudaLaunchKernel", 5002, 2).kernel("k", 5010, 5)
    late = build().step(1, 0, 50).op("aten::mm", 1, 5).launch("cudaLaunchKernel", 2, 2).kernel("k", 10, 5)
    paths = [early.write(tmp_path / "a.json"), late.write(tmp_path / "b.json")]
    found = events(annotate_both(*[analyze(str(path)) for path in paths]).data)
    assert min(event["ts"] for event in found if "ts" in event) >= 0
