"""Pictures of a moment."""

from __future__ import annotations

import numpy as np

from tests.support.builder import Builder, build
from tests.support.paths import TRACES
from tracekit.analysis import Analysis, analyze
from tracekit.analysis.closeup import closeup
from tracekit.analysis.picture import Picture


def lane(picture: Picture | None, label: str) -> list[tuple[str, int, int]]:
    """Return name, start and length (µs) of a lane's bars."""
    assert picture is not None
    bars = next(bars for title, bars in picture.lanes if title == label)
    return [(bar.name, (picture.start_ns + bar.start_ns) // 1000, bar.length_ns // 1000) for bar in bars]


def row(analysis: Analysis, name: str) -> int:
    """Return the first row of that name."""
    slices = analysis.trace.slices
    return int(np.flatnonzero(slices.name == analysis.trace.strings.index(name))[0])


def work(delay: int) -> Builder:
    """An op whose kernel runs so much later, between others."""
    trace = build().step(0, 0, 1000).op("aten::mm", 100, 40).launch("cudaLaunchKernel", 110, 10).kernel("gemm", 110 + delay, 50)
    return trace.op("aten::add", 150, 30).launch("cudaLaunchKernel", 155, 10).kernel("add", 165 + delay, 20)


def test_a_kernel_is_shown_with_its_stream_and_the_thread_that_launched_it() -> None:
    """The step's mark spans the picture and is left out; the op and its launch are a level each."""
    analysis = analyze(work(20).trace())
    picture = closeup(analysis, [row(analysis, "gemm")])
    assert lane(picture, "evidence") == [("gemm", 130, 50)]
    assert lane(picture, "stream 7") == [("gemm", 130, 50), ("add", 185, 20)]
    assert lane(picture, "host") == [("aten::mm", 100, 40), ("aten::add", 150, 30)]


def test_a_host_slice_whose_work_is_far_behind_is_shown_on_the_gpu() -> None:
    """There the time goes; near by, both are in one picture."""
    late, soon = analyze(work(700).trace()), analyze(work(20).trace())
    assert lane(closeup(late, [row(late, "aten::mm")]), "evidence") == [("aten::mm: its GPU work", 810, 50)]
    assert lane(closeup(soon, [row(soon, "aten::mm")]), "evidence") == [("aten::mm", 100, 40)]


def test_evidence_that_follows_at_once_is_in_the_picture() -> None:
    """An eager attention call is all of its ops."""
    analysis = analyze(str(TRACES / "naive.json.gz"))
    names = ("aten::matmul", "aten::mul", "aten::masked_fill", "aten::softmax")
    shown = lane(closeup(analysis, [row(analysis, name) for name in names]), "evidence")
    assert [name for name, _, _ in shown] == [f"{name}: its GPU work" for name in names]


def test_nothing_has_no_picture() -> None:
    """A finding about the file has no slices."""
    assert closeup(analyze(work(20).trace()), []) is None
