"""The report."""

from __future__ import annotations

from tests.conftest import Golden
from tests.render.support import analysis, pages, written
from tracekit.findings import find
from tracekit.render.views.report import joined, view
from tracekit.render.views.summary import view as summary_view


def test_the_report_of_the_math_backend(golden: Golden) -> None:
    """Worst first, with cause, mend and saving."""
    golden(pages("report_sdpa_math", view(find(analysis("sdpa_math")))))


def test_report_and_summary_are_one_page_with_each_notice_once() -> None:
    """The verdict isn't said twice."""
    page = joined(view(find(analysis("naive"))), summary_view(analysis("naive").summary))
    text = written(page, "table")
    assert text.count("The GPU works for") == 1
    assert text.count("note: 20 GPU events") == 1
