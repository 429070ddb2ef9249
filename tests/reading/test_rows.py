"""Rows and the numbers of their names."""

from __future__ import annotations

import numpy as np
import pytest

from tracekit.reading import rows, sound
from tracekit.reading.rows import EVENT_REPAIRS, ROW, TEXT_ID, Batch, Row, Space, bit, bits, joined
from tracekit.trace import Repair


def test_a_row_has_the_fields_of_the_table() -> None:
    """In the same order, so that tuples become rows."""
    assert Row._fields == ROW.names


@pytest.mark.skipif(not sound.HAVE_NATIVE, reason="not compiled")
def test_a_row_is_as_long_as_the_compiled_one() -> None:
    """Both sides agree on the layout."""
    assert ROW.itemsize == sound._native.ROW_BYTES


def test_repairs_have_a_bit_each() -> None:
    """And the first three stand where the compiled scanner sets them."""
    assert bits([Repair.NO_DURATION, Repair.NUMBER_AS_TEXT, Repair.NO_DURATION]) == 3
    assert bit(Repair.NEGATIVE_DURATION) == 4
    assert len(set(EVENT_REPAIRS)) == len(EVENT_REPAIRS) <= 32


def test_batches_are_joined_in_one_space() -> None:
    """Equal names get one number, whoever read them; text ids move along."""
    one = np.array([Row(name=0, category=1, thread=0), Row(name=1, category=1, thread=1)], dtype=ROW)
    other = np.array([Row(name=1, category=0, thread=0, correlation=1, flags=TEXT_ID)], dtype=ROW)
    batches = [Batch(one, 0), Batch(other, 1)]
    table, strings, threads = joined(batches, [(["a", "b"], [(1, 2), (3, 4)]), (["b", "c"], [(3, 4)])])
    assert [strings[i] for i in table["name"]] == ["a", "b", "c"]
    assert [threads[i] for i in table["thread"]] == [(1, 2), (3, 4), (3, 4)]
    assert strings[table["correlation"][2]] == "c"
    assert not batches


def test_numbers_are_given_in_order() -> None:
    """A name keeps the number that it got."""
    space = Space()
    assert [space.string(one) for one in "abab"] == [0, 1, 0, 1]
    assert [space.thread(*one) for one in ((1, 2), (1, "2"), (1, 2))] == [0, 1, 0]
    assert rows.MISSING < -(2**62)
