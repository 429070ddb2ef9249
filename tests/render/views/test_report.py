"""The report."""

from __future__ import annotations

from tests.conftest import Golden
from tests.render.support import analysis, pages, written
from tracekit.findings import details, find, together
from tracekit.render.document import Heading, Strip
from tracekit.render.views.report import overview, page, view


def test_the_report_of_the_math_backend(golden: Golden) -> None:
    """Worst first, with cause, mend and saving."""
    golden(pages("report_sdpa_math", view(find(analysis("sdpa_math")))))


def test_a_page_says_what_the_findings_rest_on() -> None:
    """Verdict and notices once; where a step's time goes, a picture each finding, attention, kernels, ops, and how the file was read."""
    findings = find(analysis("naive"))
    document = page(findings, details(analysis("naive"), findings))
    text = written(document, "md")
    assert text.count("The GPU works for") == 1
    assert text.count("20 GPU events of 68") == 1
    headings = [block.text for block in document.blocks if isinstance(block, Heading)]
    assert headings[1] == "A step, 4.53 ms: mean of 6 steps"
    assert [one for one in headings if one.startswith("TK")] == [
        f"{one.code} {one.severity}: {one.title}" for one in findings.findings if one.severity != "info"
    ]
    assert {"Attention by stage", "GPU events by name", "Ops by name", "How the file was read"} <= set(headings)
    strips = [block for block in document.blocks if isinstance(block, Strip)]
    assert len(strips) == 1 + 2 + 1  # the step's parts, two findings, the median step
    assert sum(bar.length_ns for bar in strips[0].lanes[0][1]) == strips[0].end_ns
    assert "541 in the file, 541 kept" in text


def test_a_page_without_room_is_the_findings_alone() -> None:
    """As a terminal shows them."""
    findings = find(analysis("naive"))
    assert page(findings, None) == view(findings)


def test_several_traces_get_an_overview_first() -> None:
    """A row each with the worst finding, then each report; notices say whose they are."""
    analyses = [analysis(name) for name in ("naive", "sdpa_math", "sdpa_flash")]
    text = written(overview(together(analyses, [find(one) for one in analyses]), [None] * 3), "table", 160)
    first = text.splitlines()[0]
    assert first.startswith("3 traces: ")
    assert text.index("worst finding") < text.index("TK202 error")
    assert "note: traces/naive.json.gz: 20 GPU events" in text
