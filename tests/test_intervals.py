"""Unions, gaps and overlaps, against a slow set of nanoseconds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracekit import intervals

Pairs = list[tuple[int, int]]
PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


def arrays(pairs: Pairs) -> tuple[intervals.Ns, intervals.Ns]:
    return np.array([a for a, _ in pairs], dtype=np.int64), np.array([b for _, b in pairs], dtype=np.int64)


def points(pairs: Pairs) -> set[int]:
    return {x for a, b in pairs for x in range(a, b)}


def points_of(found: tuple[intervals.Ns, intervals.Ns]) -> set[int]:
    return points(list(zip(found[0].tolist(), found[1].tolist(), strict=True)))


@given(PAIRS)
def test_union_holds_the_same_nanoseconds_in_disjoint_parts(pairs: Pairs) -> None:
    """A union covers what the intervals cover, sorted, and no part touches the next."""
    starts, ends = intervals.union(*arrays(pairs))
    assert points_of((starts, ends)) == points(pairs)
    assert (starts < ends).all()
    assert (starts[1:] > ends[:-1]).all()


@given(PAIRS)
def test_total_is_the_length_of_the_union(pairs: Pairs) -> None:
    """Time covered twice counts once."""
    assert intervals.total(*arrays(pairs)) == len(points(pairs))


@given(PAIRS, st.integers(0, 40), st.integers(0, 40))
def test_gaps_and_covered_share_the_window(pairs: Pairs, low: int, high: int) -> None:
    """What is covered and what isn't add up to the window."""
    window = set(range(low, high))
    assert points_of(intervals.gaps(*arrays(pairs), low, high)) == window - points(pairs)
    covered = intervals.covered(*arrays(pairs), np.array([low]), np.array([max(low, high)]))
    assert covered.tolist() == [len(window & points(pairs))]


@given(PAIRS, PAIRS)
def test_subtract_and_intersect_are_those_of_sets(a: Pairs, b: Pairs) -> None:
    """Difference and intersection of the unions."""
    assert points_of(intervals.subtract(*arrays(a), *arrays(b))) == points(a) - points(b)
    assert points_of(intervals.intersect(*arrays(a), *arrays(b))) == points(a) & points(b)


@given(PAIRS, st.integers(0, 40), st.integers(0, 40))
def test_clip_keeps_what_lies_in_the_window(pairs: Pairs, low: int, high: int) -> None:
    """Nothing outside, everything inside."""
    assert points_of(intervals.clip(*arrays(pairs), low, high)) == points(pairs) & set(range(low, high))
