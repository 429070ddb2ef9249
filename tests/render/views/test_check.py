"""Expectations, met or not."""

from __future__ import annotations

from tests.conftest import Golden
from tests.render.support import analysis, pages, written
from tracekit.expectations import draft, evaluate, parse_expectations
from tracekit.render.views.check import view


def test_another_trace_against_a_draft(golden: Golden) -> None:
    """Mismatches first, and where."""
    result = evaluate(analysis("sdpa_math"), parse_expectations(draft(analysis("naive")), "naive.toml"))
    golden(pages("check_sdpa_math", view(result), result))


def test_a_draft_is_met_by_its_own_trace() -> None:
    """Said in one sentence."""
    result = evaluate(analysis("naive"), parse_expectations(draft(analysis("naive")), "naive.toml"))
    assert written(view(result), "table").splitlines()[1] == "All 19 expectations met."
