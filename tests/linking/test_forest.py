"""Parents, self times and python frames."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.linking.support import linked, row
from tests.support.builder import build
from tests.support.paths import own_traces
from tracekit.linking import Links, depths, roll_up
from tracekit.linking import forest as forest_module
from tracekit.linking.forest import IN_FOREST, enclosers, frame_ends, inherited
from tracekit.trace import Category, Slices, Trace


def parent(trace: Trace, links: Links, name: str) -> str | None:
    """Return the name of the parent of the only slice called ``name``."""
    up = int(links.parent[row(trace, name)])
    return trace.name(up) if up >= 0 else None


def frame(trace: Trace, links: Links, name: str) -> str | None:
    """Return the name of the python frame around the only slice called ``name``."""
    up = int(links.frame[row(trace, name)])
    return trace.name(up) if up >= 0 else None


def test_parent_is_the_nearest_slice_that_encloses() -> None:
    """Ops, annotations and calls nest in one forest."""
    trace, links = linked(build().annotation("outer", 0, 100).op("aten::a", 5, 50).op("aten::b", 10, 20).launch("cudaLaunchKernel", 12, 4))
    assert [parent(trace, links, n) for n in ("outer", "aten::a", "aten::b", "cudaLaunchKernel")] == [None, "outer", "aten::a", "aten::b"]


def test_launch_that_overruns_a_sibling_belongs_to_their_common_parent() -> None:
    """A call that starts inside an op and outlives it lies in what encloses the whole call (TraceLens 603, case 38)."""
    trace, links = linked(build().op("node", 0, 100).op("aten::bwd", 15, 60).op("aten::empty", 50, 5).launch("hipLaunchKernel", 54.85, 9.4))
    assert parent(trace, links, "hipLaunchKernel") == "aten::bwd"


def test_slice_after_a_crossing_one_keeps_its_parent() -> None:
    """A slice that crosses the end of an op takes nothing away from those that come later."""
    trace, links = linked(build().op("a", 0, 100).op("b", 10, 20).annotation("crosses", 25, 40).op("c", 70, 10).op("d", 40, 5))
    assert [parent(trace, links, n) for n in ("crosses", "c", "d")] == ["a", "a", "crosses"]


def test_slice_that_starts_where_another_ends_is_its_sibling() -> None:
    """Intervals are half open."""
    trace, links = linked(build().op("outer", 0, 20).op("a", 0, 10).op("b", 10, 10))
    assert parent(trace, links, "b") == "outer"


def test_longer_of_two_that_start_together_is_the_parent() -> None:
    """Whatever their order in the file."""
    trace, links = linked(build().op("inner", 0, 5).op("outer", 0, 10))
    assert parent(trace, links, "inner") == "outer"


def test_of_two_equal_slices_the_first_in_the_file_is_the_parent() -> None:
    """Profilers write an op before what it calls, also where microseconds can't tell them apart."""
    trace, links = linked(build().op("aten::to", 0, 5).op("aten::_to_copy", 0, 5).launch("cudaMemcpyAsync", 0, 5))
    assert parent(trace, links, "cudaMemcpyAsync") == "aten::_to_copy"
    assert parent(trace, links, "aten::_to_copy") == "aten::to"


def test_slice_of_no_length_is_a_child_but_never_a_parent() -> None:
    """Zero-length slices lie inside what is open, not at its end."""
    trace, links = linked(build().op("op", 0, 10).op("zero", 5, 0).op("also zero", 5, 0).op("tiny", 5, 1).op("at the end", 10, 0))
    assert [parent(trace, links, n) for n in ("tiny", "zero", "also zero", "at the end")] == ["op", "tiny", "tiny", None]


def test_unfinished_op_swallows_nothing() -> None:
    """An op whose end was never recorded (duration -1 or missing) is no parent (case 23)."""
    trace, links = linked(build().op("aten::open_forever", 0, None).op("aten::add", 1, 5))
    assert parent(trace, links, "aten::add") is None


def test_threads_do_not_mix() -> None:
    """Equal times on another thread mean nothing, whatever the low bits of the thread ids (case 60)."""
    trace, links = linked(build().thread(0x7F0000001234).op("a", 0, 100).thread(0x7E0000001234).op("b", 10, 20))
    assert parent(trace, links, "b") is None


def test_self_time_leaves_out_ops_and_calls_inside() -> None:
    """Self time is the duration less that of the direct children."""
    trace, links = linked(build().op("a", 0, 100).op("b", 10, 30).launch("cudaLaunchKernel", 15, 5).runtime("cudaMalloc", 60, 20))
    assert {trace.name(i): int(links.self_ns[i]) for i in range(len(trace))} == {
        "a": 50_000,
        "b": 25_000,
        "cudaLaunchKernel": 5_000,
        "cudaMalloc": 20_000,
    }


def test_self_time_of_an_op_does_not_depend_on_stacks() -> None:
    """A recorded frame takes nothing from the op around it; the frame's own self time is without what it calls."""
    builder = build().op("CompiledFunction", 0, 100).frame("f.py(1): f", 10, 50).frame("g.py(1): g", 52, 5).op("aten::mm", 20, 30)
    trace, links = linked(builder)
    assert {trace.name(i): int(links.self_ns[i]) for i in range(len(trace))} == {
        "CompiledFunction": 70_000,
        "f.py(1): f": 15_000,
        "g.py(1): g": 5_000,
        "aten::mm": 30_000,
    }
    assert parent(trace, links, "aten::mm") == "CompiledFunction"


def test_self_time_is_never_negative() -> None:
    """Children that cross each other can add up to more than their parent."""
    trace, links = linked(build().op("a", 0, 10).op("b", 0.5, 7).annotation("c", 3, 7))
    assert int(links.self_ns[row(trace, "a")]) == 0


def test_gpu_rows_have_no_parent_and_no_self_time() -> None:
    """The forest is one of host slices."""
    trace, links = linked(build().op("a", 0, 10).launch("cudaLaunchKernel", 1, 2).kernel("k", 0, 50).kernel("k2", 5, 10))
    for name in ("k", "k2"):
        assert parent(trace, links, name) is None
        assert links.self_ns[row(trace, name)] == 0


def test_frames_are_a_chain_of_their_own() -> None:
    """A python frame is no parent of an op, and an op none of a frame."""
    trace, links = linked(
        build().frame("main", 0, 100).frame("nn.Module: Linear_0", 10, 80).op("aten::linear", 20, 50).frame("hook", 30, 5)
    )
    assert parent(trace, links, "aten::linear") is None
    assert frame(trace, links, "aten::linear") == "nn.Module: Linear_0"
    assert [trace.name(r) for r in links.frames(row(trace, "hook"))] == ["nn.Module: Linear_0", "main"]


def test_annotation_belongs_to_the_frame_that_encloses_it() -> None:
    """record_function's own enter frame starts before the annotation and ends inside it: not its frame."""
    trace, links = linked(
        build().frame("run", 0, 100).frame("<built-in method _record_function_enter_new>", 10, 5).annotation("forward", 12, 60)
    )
    assert frame(trace, links, "forward") == "run"


def test_frame_that_was_never_closed_is_cut_to_its_caller() -> None:
    """It would swallow what its caller did later (pytorch#189794, case 56)."""
    builder = (
        build().frame("main", 0, 2000).frame("forward", 100, 300).frame("cast", 150, 1850).frame("tail", 450, 100).op("aten::mm", 200, 50)
    )
    trace, links = linked(builder)
    assert [frame(trace, links, n) for n in ("forward", "cast", "tail", "aten::mm")] == ["main", "forward", "main", "cast"]
    assert int(frame_ends(trace.slices)[row(trace, "cast")]) - int(trace.slices.ts_ns[row(trace, "cast")]) == 250_000
    assert links.self_ns[row(trace, "cast")] == 200_000


def test_chain_of_unclosed_frames_is_cut_whatever_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cut can open the next; rounds over all frames and the frame-by-frame way say the same."""
    builder = build().frame("root", 0, 1000)
    for i in range(30):
        builder.frame(f"call{i}", 10 + 2 * i, 100 - 3 * i if i % 2 else 900)
    slices = builder.trace().slices
    by_rounds = frame_ends(slices)
    monkeypatch.setattr(forest_module, "_CLAMP_ROUNDS", 1)
    assert (frame_ends(slices) == by_rounds).all()
    assert (by_rounds <= slices.end_ns).all()


def test_depths_count_what_lies_around() -> None:
    """Roots and slices outside the forest have depth 0."""
    assert depths(np.array([-1, 0, 1, 1, -1, 4, 3], dtype=np.int32)).tolist() == [0, 1, 2, 2, 0, 1, 3]


def test_inherited_is_the_nearest_value_around() -> None:
    """Own values first, then outwards; nothing where nothing has one."""
    up = np.array([-1, 0, 1, 1, -1, 4, 3], dtype=np.int32)
    own = np.array([5, -1, 6, -1, -1, -1, -1], dtype=np.int32)
    assert inherited(up, own).tolist() == [5, 5, 6, 5, -1, -1, 5]


def test_inherited_reaches_through_any_depth() -> None:
    """A chain of ten thousand."""
    up = np.arange(-1, 9_999, dtype=np.int32)
    own = np.full(10_000, -1, dtype=np.int32)
    own[0] = 7
    assert set(inherited(up, own).tolist()) == {7}


def test_roll_up_adds_everything_inside() -> None:
    """A value is counted in each slice around it."""
    up = np.array([-1, 0, 1, 1, -1, 4, 3], dtype=np.int32)
    assert roll_up(up, np.array([1, 2, 4, 8, 16, 32, 64])).tolist() == [79, 78, 4, 72, 48, 32, 64]


def test_roll_up_keeps_large_times_exact() -> None:
    """int64 sums, no float between."""
    big = 2**60 + 1
    assert roll_up(np.array([-1, 0], dtype=np.int32), np.array([1, big])).tolist() == [big + 1, big]


# --- against the plain way

spans = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 15), st.integers(0, 2), st.booleans()), max_size=60)


def slices_of(rows: list[tuple[int, int, int, bool]]) -> Slices:
    """Make slices of (start, duration, thread, op or annotation), sorted as a trace has them."""
    rows = sorted(rows, key=lambda r: (r[0], -r[1]))
    template = build().op("x", 0, 1).trace().slices
    n = len(rows)
    columns = {name: np.repeat(array, n) for name, array in vars(template).items()}
    columns["ts_ns"] = np.array([r[0] for r in rows], dtype=np.int64)
    columns["dur_ns"] = np.array([r[1] for r in rows], dtype=np.int64)
    columns["thread"] = np.array([r[2] for r in rows], dtype=np.int32)
    columns["category"] = np.array([Category.CPU_OP if r[3] else Category.USER_ANNOTATION for r in rows], dtype=np.uint8)
    columns["index"] = np.arange(n, dtype=np.int64)
    return replace(template, **columns)


def plainly(slices: Slices, candidates: np.ndarray, asked: np.ndarray) -> list[int]:
    """Look at every earlier slice of the thread, nearest first."""
    start, end, thread = slices.ts_ns, slices.end_ns, slices.thread
    found = []
    for i in range(len(slices)):
        inside = [j for j in range(i) if candidates[j] and thread[j] == thread[i] and end[i] <= end[j] and start[i] < end[j]]
        found.append(inside[-1] if inside and asked[i] else -1)
    return found


@given(spans)
@settings(max_examples=300, deadline=None)
def test_enclosers_agree_with_looking_at_every_slice(rows: list[tuple[int, int, int, bool]]) -> None:
    """Crossing, equal and zero-length slices included."""
    slices = slices_of(rows)
    every = np.ones(len(slices), dtype=bool)
    ops = slices.category == Category.CPU_OP
    assert enclosers(slices, every, every).tolist() == plainly(slices, every, every)
    assert enclosers(slices, ops, every).tolist() == plainly(slices, ops, every)
    assert enclosers(slices, ops, ~ops).tolist() == plainly(slices, ops, ~ops)


@given(spans)
@settings(max_examples=100, deadline=None)
def test_one_by_one_agrees_with_jumping(rows: list[tuple[int, int, int, bool]]) -> None:
    """The way that takes over on hostile input gives the same forest."""
    slices = slices_of(rows)
    order, first = forest_module._by_thread(slices, np.ones(len(slices), dtype=bool))
    reach = slices.end_ns[order]
    need = np.where(slices.dur_ns[order] > 0, reach, reach + 1)
    jumped = forest_module._previous_reaching(reach, need, first)
    start = np.arange(-1, len(order) - 1)
    start[first] = -1
    todo = np.flatnonzero(~first)
    assert forest_module._previous_one_by_one(reach, need, start, todo).tolist() == jumped.tolist()


def test_hostile_nesting_stays_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deep chain, then siblings that each outlive it and each other: all would walk the whole chain, were they not taken one by one."""
    deep, wide = 3000, 3000
    chain = [(1 + i, 2 * deep - 2 * i, 0, True) for i in range(deep)]
    siblings = [(1 + deep + i, 10 * deep + i, 0, True) for i in range(wide)]
    slices = slices_of([(0, 10**6, 0, True), *chain, *siblings])
    taken = []
    plain = forest_module._previous_one_by_one
    monkeypatch.setattr(forest_module, "_previous_one_by_one", lambda *args: taken.append(len(args[3])) or plain(*args))
    every = np.ones(len(slices), dtype=bool)
    up = enclosers(slices, every, every)
    assert taken == [wide]
    assert up[: deep + 1].tolist() == list(range(-1, deep))
    assert set(up[deep + 1 :].tolist()) == {0}


@pytest.mark.parametrize(
    "path", own_traces() or [pytest.param(None, marks=pytest.mark.skip(reason="no traces"))], ids=lambda p: p.name if p else "none"
)
def test_self_time_agrees_with_key_averages(path: Path) -> None:
    """Every op, annotation and call, to 0.1 %: the rows that torch reckoned in the run that wrote the trace."""
    truth = json.loads(path.with_name(path.name.removesuffix(".json.gz") + ".truth.json").read_text(encoding="utf-8"))
    trace, links = linked(path)
    mine: Counter[str] = Counter()
    for at in np.flatnonzero(trace.slices.is_any(IN_FOREST)):
        key = trace.name(at)
        mine["ProfilerStep*" if key.startswith("ProfilerStep#") else key] += int(links.self_ns[at])
    # Rows of the GPU (kernels, annotations projected there) carry the same keys and no host time; overhead rows name no thread in the file.
    rows = {r["key"]: r["self_cpu_us"] for r in truth["key_averages"] if r["cpu_us"] > 0 and r["key"] in mine}
    assert set(rows) == set(mine)
    wrong = {key: (mine[key] / 1000, us) for key, us in rows.items() if abs(mine[key] / 1000 - us) > max(us / 1000, 0.01)}
    assert wrong == {}
