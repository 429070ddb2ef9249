"""The table of kernels."""

from __future__ import annotations

from tests.conftest import Golden
from tests.render.support import analysis, pages, written
from tracekit.analysis.kernels import kernel_table
from tracekit.render.views.kernels import view


def test_the_table(golden: Golden) -> None:
    """Time first, long names shortened and still distinct."""
    result = kernel_table(analysis("sdpa_math"))
    golden(pages("kernels_sdpa_math", view(result), result))


def test_names_stay_distinct_at_80_columns() -> None:
    """Two kernels never look like one."""
    result = kernel_table(analysis("gpt"))
    rows = written(view(result, limit=0), "table", 80).split("─\n")[1].splitlines()[: len(result.kernels)]
    assert len({row[:24] for row in rows}) == len(result.kernels)


def test_what_is_left_out_is_counted() -> None:
    """With how to see it."""
    assert "more names; --limit 0 shows all" in written(view(kernel_table(analysis("gpt")), limit=3), "table")
