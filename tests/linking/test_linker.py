"""Linking whole traces: the odd inputs with their answers, and the public ones."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.linking.support import linked, name
from tests.support.builder import build
from tests.support.paths import SHARED, needs_shared, own_traces, shared_traces
from tracekit.errors import TracekitError
from tracekit.linking import Links, Method, Reason, link
from tracekit.trace import Category, Strings, Thread, Trace

CASES = sorted((SHARED / "cases").glob("*.expect.json"))
NO_TRACES = [pytest.param(None, marks=pytest.mark.skip(reason="no traces at hand"))]


def expectation(case: Path) -> dict[str, Any]:
    """Return the right answers of a case."""
    return dict(json.loads(case.read_text(encoding="utf-8")))


def case(number: str) -> tuple[Trace, Links, dict[str, Any]]:
    """Load and link the case with that number."""
    (path,) = (p for p in CASES if p.name.startswith(number))
    expect = expectation(path)
    return *linked(path.parent / expect["file"]), expect


def op_stack(trace: Trace, links: Links, launch: int) -> tuple[str, ...]:
    """Return the ops around a launch, outer first."""
    ops = [r for r in links.ancestors(launch) if trace.slices.category[r] == Category.CPU_OP]
    return tuple(trace.name(r) for r in reversed(ops))


@needs_shared
@pytest.mark.parametrize("path", CASES or NO_TRACES, ids=lambda p: p.name.split(".")[0] if p else "none")
def test_case_links_as_its_answer_says(path: Path) -> None:
    """Launch, op and stack of every GPU event, and those that can't be linked."""
    expect = expectation(path)
    if expect["readable"] == "no" or "linked" not in expect:
        pytest.skip("nothing to link")
    try:
        trace, links = linked(path.parent / expect["file"])
    except TracekitError:
        assert expect["readable"] == "yes-or-clear-error"
        return
    # Events whose duration is wrong may be kept with 0 µs or dropped; the answer lists them all.
    want = Counter((r["kernel"], r.get("runtime"), r.get("op"), tuple(r.get("stack", ()))) for r in expect["linked"])
    got: Counter[tuple[str, str | None, str | None, tuple[str, ...]]] = Counter()
    unlinked: Counter[str] = Counter()
    for i, gpu in enumerate(links.gpu):
        if links.launch[i] < 0:
            unlinked[trace.name(gpu)] += 1
            continue
        launch = int(links.launch[i])
        got[trace.name(gpu), name(trace, launch), name(trace, links.op[i]), op_stack(trace, links, launch)] += 1
    assert got == want
    assert unlinked == Counter(expect.get("unlinked", []))


@needs_shared
def test_orphans_at_the_start_are_named() -> None:
    """Case 26: three kernels of before, and two launches that nothing came of."""
    trace, links, expect = case("26")
    assert Counter(Reason(r) for r in links.reason)[Reason.LAUNCHED_BEFORE_TRACE] == 3
    assert sorted(trace.name(r) for r in links.lost_launches) == sorted(expect["launches_without_gpu"])


@needs_shared
def test_graph_replays_keep_their_kernels() -> None:
    """Case 27: five kernels for each of two graph launches, and an eager one that no graph launched."""
    trace, links, expect = case("27")
    graphs = Counter(links.launch[links.method == Method.GRAPH].tolist())
    assert list(graphs.values()) == expect["graphs"]["kernels_per_launch"]
    assert [trace.name(g) for g in links.gpu[links.method == Method.CORRELATION]] == ["rowan_argmax"]


@needs_shared
def test_merged_ranks_keep_apart() -> None:
    """Case 33: each device's kernels were launched by one process."""
    trace, links, expect = case("33")
    pids = {str(trace.slices.device[g]): trace.threads[trace.slices.thread[links.launch[i]]].pid for i, g in enumerate(links.gpu)}
    assert pids == expect["links_by_device"]


@needs_shared
def test_backward_is_told_from_forward() -> None:
    """Case 42: 30 µs forward, 64 µs backward, and the forward op of both backward kernels."""
    trace, links, expect = case("42")
    backward = links.backward[links.launch]
    durations = trace.slices.dur_ns[links.gpu]
    assert durations[backward].sum() == expect["backward_us"] * 1000
    assert durations[~backward].sum() == expect["forward_us"] * 1000
    for gpu, op, is_backward in zip(links.gpu, links.op, backward, strict=True):
        if is_backward:
            forward = int(links.forward[op])
            assert f"{trace.name(forward)}@{int(trace.slices.ts_ns[forward]) // 1000}" == expect["forward_of"][trace.name(gpu)]
    assert set(links.step.tolist()) == {0}


@needs_shared
def test_steps_with_a_gap_are_three() -> None:
    """Case 50: by launch, 12 missing, and the evaluation's kernel in no step."""
    trace, links, expect = case("50")
    assert [n.partition("#")[2] for n in links.steps.names] == list(expect["step_us"])
    assert (links.steps.end_ns - links.steps.start_ns).tolist() == [us * 1000 for us in expect["step_us"].values()]
    durations = trace.slices.dur_ns[links.gpu]
    for i, us in enumerate(expect["step_gpu_us_by_launch"].values()):
        assert durations[links.step == i].sum() == us * 1000
    assert durations[links.step == -1].sum() == expect["outside_steps_us"] * 1000
    assert any("12" in notice for notice in links.notices)


@needs_shared
def test_unclosed_frame_swallows_nothing() -> None:
    """Case 56: tail is a child of main, and lib.cast ends with its caller."""
    trace, links, expect = case("56")
    by_name = {trace.name(i): i for i in range(len(trace))}
    tail, cast = by_name["net.py(9): tail"], by_name["<built-in method lib.cast>"]
    assert name(trace, links.frame[tail]) == "train.py(10): main"
    assert links.self_ns[cast] == (expect["clamped"]["<built-in method lib.cast>"] - 50) * 1000  # aten::mm inside takes 50 µs


@pytest.mark.parametrize("path", [*shared_traces(), *own_traces()] or NO_TRACES, ids=lambda p: p.name if p else "none")
def test_real_trace_links_with_conservation(path: Path) -> None:
    """Every GPU event is linked or has a reason; where a trace has true External ids, the op is the one that they name."""
    trace, links = linked(path)
    s = trace.slices
    assert links.linked + links.unlinked == len(links.gpu) == len(trace.gpu_rows)
    assert not {Reason(r) for r in links.reason} & {Reason.AMBIGUOUS, Reason.NO_CORRELATION}
    ids = s.external_id[links.gpu]
    if not trace.base_ns:  # until early 2024 the External id of a GPU event was its own correlation (kineto#873)
        return
    ops = s.rows(Category.CPU_OP)
    op_of = dict(zip(s.external_id[ops].tolist(), ops.tolist(), strict=True))
    named = [(op_of[int(x)], int(links.op[i])) for i, x in enumerate(ids) if int(x) in op_of and links.launch[i] >= 0]
    assert all(by_id == by_time for by_id, by_time in named)


@needs_shared
@pytest.mark.parametrize(
    ("file", "orphans"),
    [
        ("tracelens/h100_Qwen_Qwen1.5-0.5B-Chat.json.gz", 509),
        ("tracelens/mi300_Qwen_Qwen1.5-0.5B-Chat.json.gz", 463),
        ("tracelens/mi300_resnet_act_checkpoint.json.gz", 968),
        ("hta/diff_test_v100_graphs.json.gz", 614),
        ("hta/nccl_rank0_of_2.json.gz", 0),
    ],
)
def test_orphans_of_real_traces_were_launched_before(file: str, orphans: int) -> None:
    """The counts of the folder's README; all of them by the one reason."""
    _, links = linked(SHARED / "traces" / file)
    assert links.unlinked == orphans
    assert set(links.reason.tolist()) <= {Reason.NONE, Reason.LAUNCHED_BEFORE_TRACE}


@needs_shared
def test_real_graph_replay_hangs_on_its_launch() -> None:
    """SGLang on HIP: 544 kernels of one hipGraphLaunch (TraceLens 827)."""
    trace, links = linked(SHARED / "traces" / "tracelens" / "sglang_decode_sglang_Qwen3-8B_decode.json.gz")
    graph = links.launch[links.method == Method.GRAPH]
    assert len(graph) == 544
    assert {trace.name(r) for r in graph} == {"hipGraphLaunch"}


def test_reordering_events_of_one_time_changes_nothing() -> None:
    """The file's order decides only between slices with the same start and end."""
    builder = build().op("a", 0, 50).op("b", 0, 20).launch("cudaLaunchKernel", 0, 5).kernel("k", 60, 5)
    trace, links = linked(builder)
    builder.events.reverse()
    again, other = linked(builder)
    assert [name(trace, r) for r in links.parent] == [name(again, r) for r in other.parent]


def random_trace(seed: int) -> Trace:
    """Return a small trace of nothing but accidents: crossing slices, ids that clash, processes that share them, marks anywhere."""
    rng = np.random.default_rng(seed)
    n, threads, ids, until = int(rng.integers(0, 60)), int(rng.integers(1, 6)), int(rng.integers(1, 30)), int(rng.integers(1, 50))
    names = (
        "aten::mm",
        "ProfilerStep#1",
        "ProfilerStep#3",
        "cudaLaunchKernel",
        "cudaMemcpyAsync",
        "cudaStreamBeginCapture",
        "cudaStreamEndCapture",
    )
    names += ("MmBackward0", "cudaGraphLaunch", "cuLaunchKernel", "k", "ac2g", "fwdbwd", "f.py(1): f")
    start, length = np.sort(rng.integers(0, until, n)), rng.integers(0, until, n) * (rng.random(n) < 0.9)
    order = np.lexsort((np.arange(n), -length, start))
    columns = {
        "ts_ns": start[order],
        "dur_ns": length[order],
        "name": rng.integers(0, len(names), n, dtype=np.int32),
        "category": rng.integers(0, len(Category), n, dtype=np.uint8),
        "thread": rng.integers(0, threads, n, dtype=np.int32),
        "correlation": rng.integers(-1, ids, n),
        "external_id": rng.integers(-1, ids, n),
        "index": rng.permutation(n),
    }
    template = build().op("x", 0, 1).flow("ac2g", 1, 0, 1).trace()
    slices = replace(
        template.slices, **{k: columns[k] if k in columns else np.full(n, -1).astype(v.dtype) for k, v in vars(template.slices).items()}
    )
    marks = {
        "ts_ns": rng.integers(0, until, n),
        "name": rng.integers(0, len(names), n, dtype=np.int32),
        "phase": rng.choice(np.array([ord("s"), ord("f"), ord("t")], np.uint8), n),
        "thread": rng.integers(0, threads, n, dtype=np.int32),
        "id": rng.integers(-1, ids, n),
    }
    marks["raw_category"] = marks["name"]
    flows = replace(
        template.flows, **{k: marks[k] if k in marks else np.full(n, -1).astype(v.dtype) for k, v in vars(template.flows).items()}
    )
    rows = tuple(Thread(int(rng.integers(0, 3)), i) for i in range(threads))
    return replace(template, slices=slices, flows=flows, threads=rows, strings=Strings(names))


@pytest.mark.parametrize("block", range(5))
def test_random_traces_keep_every_promise(block: int) -> None:
    """Whatever a file holds: nothing is lost, every event without a launch has a reason, the forests are forests."""
    for seed in range(100 * block, 100 * (block + 1)):
        trace = random_trace(seed)
        links = link(trace)
        links.check(trace)
        s = trace.slices
        joined = links.launch >= 0
        by_id = joined & np.isin(links.method, (Method.CORRELATION, Method.GRAPH)) & (s.correlation[links.gpu] >= 0)
        assert (s.correlation[links.launch[by_id]] == s.correlation[links.gpu[by_id]]).all()
        assert (links.step[joined] == links.slice_step[links.launch[joined]]).all()
        assert (links.forward[links.forward >= 0] < len(trace)).all()
        assert not links.backward[links.gpu].any()


def test_arrays_are_read_only() -> None:
    """Links are shared by every analysis."""
    _, links = linked(build().op("a", 0, 50).launch("cudaLaunchKernel", 0, 5).kernel("k", 60, 5))
    for value in vars(links).values():
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable
