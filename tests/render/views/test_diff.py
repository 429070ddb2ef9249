"""What changed between two traces."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.render.support import analysis, pages
from tracekit.diff import compare
from tracekit.render.document import Table
from tracekit.render.views.diff import view


def test_naive_against_math(golden: Golden) -> None:
    """The question that started it all."""
    result = compare(analysis("naive"), analysis("sdpa_math"))
    golden(pages("diff_naive_sdpa_math", view(result), result))


def test_training(golden: Golden) -> None:
    """Forward and backward apart."""
    golden(pages("diff_train_math_train_flash", view(compare(analysis("train_math"), analysis("train_flash")))))


@pytest.mark.parametrize("limit", [0, 1, 3, 15])
def test_the_ledger_of_the_gpu_adds_up_to_its_total(limit: int) -> None:
    """Whatever is left out has a row with its sum."""
    page = view(compare(analysis("train_math"), analysis("train_flash")), limit=limit)
    (table,) = (block for block in page.blocks if isinstance(block, Table) and block.columns[0].title == "where")
    column = [one.title for one in table.columns].index("B - A")
    *rows, total = (float(row[column].text.replace(",", "")) for row in table.rows)
    assert sum(rows) == pytest.approx(total, abs=1)
