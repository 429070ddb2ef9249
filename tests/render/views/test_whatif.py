"""The step before and after a change, as a document."""

from __future__ import annotations

from tests.render.support import analysis, written
from tracekit.findings import what_if
from tracekit.render.document import Table, Text
from tracekit.render.views.whatif import view


def texts(**changes: list[str]) -> list[str]:
    """Return the sentences of a page."""
    return [block.text for block in view(what_if(analysis("naive"), **changes)).blocks if isinstance(block, Text)]


def test_it_says_what_is_won_first() -> None:
    """Shorter, longer, or nothing to speak of."""
    assert texts(remove=["TK101"])[0].startswith("Without the profiler a step would be about 505 µs (11 %) shorter: ")
    assert " longer: " in texts(scale=["class~gemm=2"])[0]
    assert texts(scale=["kernel~.=1"])[0].startswith("Nothing to speak of is won")


def test_one_change_has_a_sentence_and_several_a_table() -> None:
    """With what each wins alone."""
    assert texts(remove=["TK101"])[-1] == "Changed: without: masked_fill out of place copies its input first (1 GPU event a step, 504 µs)."
    page = view(what_if(analysis("naive"), remove=["TK101"], scale=["class~gemm=0.5"]))
    tables = [block for block in page.blocks if isinstance(block, Table)]
    assert [[row[0].text for row in table.rows] for table in tables] == [
        ["step", "GPU busy", "GPU idle"],
        ["--remove TK101", "--scale class~gemm=0.5"],
    ]


def test_it_is_exact_as_json() -> None:
    """The change itself isn't in it."""
    text = written(what_if(analysis("naive"), remove=["TK101"]), "json")
    assert '"schema": "tracekit.whatif/1"' in text.replace('":"', '": "')
    assert "gpu_scale" not in text
