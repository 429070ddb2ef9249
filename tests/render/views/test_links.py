"""The table of links."""

from __future__ import annotations

from tests.conftest import Golden
from tests.render.support import analysis, pages, written
from tracekit.analysis.launches import link_table
from tracekit.render.views.links import view


def test_the_table(golden: Golden) -> None:
    """Each GPU event with its launch, or why it has none."""
    golden(pages("links_naive", view(link_table(analysis("naive")), limit=12)))


def test_an_event_without_a_launch_has_its_reason() -> None:
    """Never an empty field."""
    assert "not: launched before" in written(view(link_table(analysis("naive"))), "table", 160)
