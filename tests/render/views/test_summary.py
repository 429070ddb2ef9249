"""The page of a trace."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.render.support import analysis, pages, written
from tests.support.builder import build
from tracekit.analysis import analyze
from tracekit.render.document import Table
from tracekit.render.views.summary import view


def test_the_page_of_a_gpu_bound_trace(golden: Golden) -> None:
    """Verdict, facts, picture, steps, classes, idle time, attention, notices."""
    result = analysis("naive").summary
    golden(pages("summary_naive", view(result), result))


def test_the_page_of_a_trace_that_waits_for_the_host(golden: Golden) -> None:
    """Idle time by cause and name, adding up."""
    golden(pages("summary_gpt", view(analysis("gpt").summary)))


def test_the_first_line_after_the_name_is_the_verdict() -> None:
    """Who reads one line has the answer."""
    lines = written(view(analysis("naive").summary), "table").splitlines()
    assert lines[:2] == ["traces/naive.json.gz", "The GPU works for 99.7 % of the step time: the GPU is the limit."]


def test_causes_of_idle_time_add_up_and_so_do_their_names() -> None:
    """What isn't shown by name is a row of its own."""
    page = view(analysis("gpt").summary)
    (table,) = (block for block in page.blocks if isinstance(block, Table) and block.columns[0].title == "while")
    value = [(row[0].indent, float(row[2].text.replace(",", ""))) for row in table.rows]
    total = sum(row.ns for row in analysis("gpt").summary.idle) / 4000
    assert sum(us for depth, us in value if not depth) == pytest.approx(total, abs=1)
    first = [us for depth, us in value[1 : next(i for i in range(1, len(value)) if not value[i][0])] if depth]
    assert sum(first) == pytest.approx(value[0][1], abs=1)


def test_many_steps_are_told_by_the_first_and_the_last() -> None:
    """A trace of 500 steps has a page as well."""
    trace = build()
    for i in range(500):
        trace.step(i, 100 * i, 90).launch("cudaLaunchKernel", 100 * i + 5, 5).kernel("k", 100 * i + 20, 50)
    text = written(view(analyze(trace.trace()).summary), "table")
    assert "492 steps between left out" in text
    assert len(text.splitlines()) < 60


def test_a_trace_without_gpu_work_says_so() -> None:
    """No empty tables."""
    text = written(view(analyze(build().step(1, 0, 90).op("aten::add", 5, 10).trace()).summary), "table")
    assert "No GPU activity was recorded" in text.splitlines()[1]
    assert "Steps" not in text
