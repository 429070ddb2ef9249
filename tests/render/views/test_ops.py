"""The table and the tree of ops."""

from __future__ import annotations

from tests.conftest import Golden
from tests.render.support import analysis, pages, written
from tracekit.analysis.ops import op_table
from tracekit.render.views.ops import view


def test_the_table_by_name(golden: Golden) -> None:
    """Self GPU time first."""
    result = op_table(analysis("naive"))
    golden(pages("ops_naive", view(result), result))


def test_the_tree(golden: Golden) -> None:
    """Parents above children, indented."""
    golden(pages("ops_tree_naive", view(op_table(analysis("naive"), tree=True))))


def test_by_shape_and_by_stack_have_a_column_for_it() -> None:
    """What makes a row is seen in it."""
    assert "[8,16,2048,64]" in written(view(op_table(analysis("naive"), by="shape")), "table", 160).replace(" ", "")
    assert "aten::softmax > aten::_softmax" in written(view(op_table(analysis("naive"), by="stack")), "table", 200)


def test_small_branches_leave_the_tree_and_are_counted() -> None:
    """Unless all is asked for."""
    result = op_table(analysis("gpt"), tree=True)
    text, everything = (written(view(result, limit=limit), "table", 200) for limit in (30, 0))
    assert "nodes of less than 0.5 % of the time left out" in text
    assert len(everything.splitlines()) == len(result.tree) + 4 > len(text.splitlines())
