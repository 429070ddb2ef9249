"""The types that ``link`` makes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.linking.support import linked, name
from tests.support.builder import build
from tracekit.linking import Steps

BUILDER = build().step(0, 0, 100).op("a", 5, 50).op("b", 10, 30).frame("f", 12, 20).launch("cudaLaunchKernel", 15, 5).kernel("k", 60, 20)


def test_counts_add_up() -> None:
    """Linked and unlinked are all GPU events."""
    _, links = linked(build().launch("cudaLaunchKernel", 0, 5).kernel("k", 10, 5).kernel("lost", 20, 5, correlation=0))
    assert (links.linked, links.unlinked, len(links.gpu)) == (1, 1, 2)


def test_ancestors_go_outwards() -> None:
    """From the launch to the step mark."""
    trace, links = linked(BUILDER)
    assert [name(trace, r) for r in links.ancestors(links.launch[0])] == ["b", "a", "ProfilerStep#0"]


def test_frames_go_outwards_from_any_slice() -> None:
    """The frame of a call, then its callers."""
    trace, links = linked(BUILDER)
    assert [name(trace, r) for r in links.frames(links.launch[0])] == ["f"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("reason", [0, 3]),  # a reason on a linked event's neighbour that is missing on the other
        ("method", [0, 0]),
        ("op", [0, 0]),
        ("launch", [-1, -1]),
    ],
)
def test_check_notices_a_broken_promise(field: str, value: list[int]) -> None:
    """Conservation is asserted, not hoped for."""
    trace, links = linked(build().launch("cudaLaunchKernel", 0, 5).kernel("k", 10, 5).kernel("lost", 20, 5, correlation=9))
    if field == "reason":
        value = [3, 0]
    broken = replace(links, **{field: np.array(value, dtype=getattr(links, field).dtype)})
    with pytest.raises(AssertionError):
        broken.check(trace)


def test_steps_at_finds_the_mark_around_a_time() -> None:
    """Half open; -1 between and outside the marks."""
    marks = np.array([0, 1]), np.array([10, 40]), np.array([20, 50])
    steps = Steps(("a", "b"), *marks, marked=True)
    assert steps.at(np.array([9, 10, 19, 20, 45, 50])).tolist() == [-1, 0, 0, -1, 1, -1]
