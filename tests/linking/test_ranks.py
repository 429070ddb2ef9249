"""Files that hold several ranks: the ids of one mean nothing to another."""

from __future__ import annotations

import pytest

from tests.linking.support import launches, linked, reasons
from tests.support.builder import Builder, build
from tracekit.linking import Reason


def rank(builder: Builder, host: int | str, gpu: int | str, names: list[str], *, at: float = 0, delay: float = 50) -> Builder:
    """Add a rank: one op with one launch and one kernel for each name, ids counted from 1."""
    builder.rank(host, gpu)
    for i, name in enumerate(names):
        start = at + 100 * i
        builder.op(f"{host}/{name}", start, 40).launch("cudaLaunchKernel", start + 10, 5).kernel(
            f"{gpu}/{name}", start + delay, 20, device=0
        )
    return builder


def test_ranks_one_after_another_are_told_apart_by_their_place_in_the_file() -> None:
    """Merged by concatenation, same ids in both (TraceLens 581, case 33)."""
    trace, links = linked(rank(rank(build(), 5100, 0, ["mm", "relu"]), 5200, 1, ["conv", "relu"], at=7))
    assert {(k, op) for k, _, op in launches(trace, links)} == {
        ("0/mm", "5100/mm"),
        ("0/relu", "5100/relu"),
        ("1/conv", "5200/conv"),
        ("1/relu", "5200/relu"),
    }
    assert any("2 processes" in notice for notice in links.notices)


def test_ranks_that_share_a_device_number_are_told_apart_too() -> None:
    """Each container calls its GPU 0."""
    trace, links = linked(rank(rank(build(), 5100, 0, ["a", "b", "c"]), 5200, 0, ["a", "b", "c"], at=7))
    by_time = [(k, op) for k, _, op in launches(trace, links)]
    assert by_time == [(f"0/{n}", f"{p}/{n}") for n in "abc" for p in (5100, 5200)]


def test_place_says_nothing_where_gpu_rows_stand_behind_all_hosts() -> None:
    """A merger may write all host rows first: then the ids' times must tell."""
    names = [f"k{i}" for i in range(12)]
    builder = rank(rank(build(), 5100, 0, names), 5200, 1, names, at=500)
    builder.events.sort(key=lambda event: event["cat"] == "kernel")
    trace, links = linked(builder)
    assert {(k, op) for k, _, op in launches(trace, links)} == {(f"{d}/{n}", f"{p}/{n}") for d, p in ((0, 5100), (1, 5200)) for n in names}


def test_labels_of_a_merger_tell_ranks_apart() -> None:
    """SGLang's merger writes the rank before each process id; in a file sorted by time the place tells nothing."""
    builder = rank(rank(build(), "[TP0] 77", "[TP0] 0", ["a", "b"]), "[TP1] 77", "[TP1] 0", ["a", "b"], at=3)
    builder.events.sort(key=lambda event: event["ts"])
    trace, links = linked(builder)
    assert {(k, op) for k, _, op in launches(trace, links)} == {(f"[TP{r}] 0/{n}", f"[TP{r}] 77/{n}") for r in (0, 1) for n in "ab"}


def test_causality_tells_ranks_apart_in_a_file_sorted_by_time() -> None:
    """Another rank's calls come after the kernels that would be theirs."""
    names = [f"k{i}" for i in range(12)]
    builder = rank(rank(build(), 5100, 0, names), 5200, 1, names, at=500)
    builder.events.sort(key=lambda event: event["ts"])
    trace, links = linked(builder)
    assert {(k, op) for k, _, op in launches(trace, links)} == {(f"{d}/{n}", f"{p}/{n}") for d, p in ((0, 5100), (1, 5200)) for n in names}


def test_what_nothing_tells_apart_is_ambiguous() -> None:
    """Two ranks in step, sorted by time: a guess would be wrong half of the time."""
    builder = rank(rank(build(), 5100, 0, list("abcdefghij")), 5200, 1, list("abcdefghij"), at=1)
    builder.events.sort(key=lambda event: event["ts"])
    _, links = linked(builder)
    assert set(reasons(links)) == {Reason.AMBIGUOUS}


def test_row_that_two_ranks_share_is_ambiguous_in_a_file_sorted_by_time() -> None:
    """Each rank calls its GPU 0: every id stands twice on the row, and to give all to one rank would be wrong for half."""
    builder = rank(rank(build(), 5100, 0, list("abcdefghij")), 5200, 0, list("abcdefghij"), at=500)
    builder.events.sort(key=lambda event: event["ts"])
    _, links = linked(builder)
    assert set(reasons(links)) == {Reason.AMBIGUOUS}


def test_graphs_of_one_rank_do_not_look_like_a_shared_row() -> None:
    """Many kernels with one id are what a graph launch makes."""
    builder = build()
    for host, gpu, at in ((5100, 0, 0), (5200, 1, 500)):
        builder.rank(host, gpu)
        for i in range(10):
            builder.launch("cudaGraphLaunch", at + 100 * i, 5).kernel("a", at + 100 * i + 20, 5).kernel("b", at + 100 * i + 30, 5)
    builder.events.sort(key=lambda event: event["ts"])
    trace, links = linked(builder)
    assert set(reasons(links)) == {Reason.NONE}
    s = trace.slices
    pairs = {(trace.threads[s.thread[g]].pid, trace.threads[s.thread[r]].pid) for g, r in zip(links.gpu, links.launch, strict=True)}
    assert pairs == {(0, 5100), (1, 5200)}


def test_orphan_of_one_rank_is_not_given_to_the_other() -> None:
    """Its id exists, but in the other process."""
    builder = rank(build(), 5100, 0, ["a", "b", "c"])
    rank(builder, 5200, 1, ["a"], at=7)
    builder.kernel("1/orphan", 5, 2, correlation=3)
    trace, links = linked(builder)
    assert ("1/orphan", None, None) in launches(trace, links)


def test_process_that_launches_nothing_does_not_count() -> None:
    """Data loader workers have their own process and no calls."""
    builder = (
        build()
        .thread(1, pid=10)
        .op("load", 0, 50)
        .thread(1, pid=20)
        .op("aten::mm", 0, 50)
        .launch("cudaLaunchKernel", 10, 5)
        .kernel("k", 60, 5)
    )
    trace, links = linked(builder)
    assert launches(trace, links) == [("k", "cudaLaunchKernel", "aten::mm")]
    assert not any("processes" in notice for notice in links.notices)


@pytest.mark.parametrize("count", [2, 3])
def test_steps_of_each_rank_go_by_its_own_marks(count: int) -> None:
    """A launch between two ranks' marks belongs to the step that its own process was in."""
    builder = build()
    for r in range(count):
        builder.rank(100 + r, r)
        for n in (0, 1):
            start = 100 * n + 10 * r
            builder.step(n, start, 100).launch("cudaLaunchKernel", start + 95, 2).kernel(f"k{r}{n}", start + 200, 5, device=r)
    trace, links = linked(builder)
    assert links.steps.names == ("ProfilerStep#0", "ProfilerStep#1")
    assert {trace.name(g): int(links.step[i]) for i, g in enumerate(links.gpu)} == {f"k{r}{n}": n for r in range(count) for n in (0, 1)}
