"""The report."""

from __future__ import annotations

from tests.conftest import Golden
from tests.render.support import analysis, pages, written
from tracekit.findings import find, together
from tracekit.render.views.report import joined, overview, view
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


def test_several_traces_get_an_overview_first() -> None:
    """A row each with the worst finding, then each report; notices say whose they are."""
    analyses = [analysis(name) for name in ("naive", "sdpa_math", "sdpa_flash")]
    text = written(overview(together(analyses, [find(one) for one in analyses]), [None] * 3), "table", 160)
    first = text.splitlines()[0]
    assert first.startswith("3 traces: ")
    assert text.index("worst finding") < text.index("TK202 error")
    assert "note: traces/naive.json.gz: 20 GPU events" in text
