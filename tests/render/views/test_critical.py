"""The critical path as a document."""

from __future__ import annotations

from tests.render.support import analysis
from tracekit.analysis.critical import critical_path
from tracekit.findings import what_if
from tracekit.render.document import Notice, Table, Text
from tracekit.render.views.critical import view


def test_it_says_what_the_step_hangs_on() -> None:
    """The GPU here, the host there, with what isn't on the path."""
    naive = [block.text for block in view(critical_path(analysis("naive"))).blocks if isinstance(block, Text)]
    assert naive == ["The step's 4.53 ms hang on GPU work 99.7 % (4.51 ms), the queue between them 0.3 % (14.9 µs)."]
    gpt = [block.text for block in view(critical_path(analysis("gpt"))).blocks if isinstance(block, Text)]
    assert gpt[0].startswith("The step's 11.0 ms hang on the host 100 %")
    assert gpt[1].endswith("isn't on the path: it could be faster without the step getting shorter.")


def test_that_is_what_a_replay_says_too() -> None:
    """Work off the path wins nothing, work on it wins what it is shortened by."""
    gpt = what_if(analysis("gpt"), scale=["kernel~.=0.5"])
    assert abs(gpt.saving_ns_per_step.mid_ns) < 0.01 * gpt.before.wall_ns
    naive = what_if(analysis("naive"), scale=["kernel~softmax=0.5"])
    (row,) = [row for row in critical_path(analysis("naive")).rows if "softmax" in row.name]
    assert abs(naive.saving_ns_per_step.mid_ns - row.ns / 2) < 0.01 * row.ns


def test_rows_are_limited_and_that_is_said() -> None:
    """In a notice."""
    page = view(critical_path(analysis("gpt")), 5)
    (table,) = [block for block in page.blocks if isinstance(block, Table)]
    assert len(table.rows) == 5
    assert any("more rows" in block.text for block in page.blocks if isinstance(block, Notice))
