"""The rules in words."""

from __future__ import annotations

from tests.render.support import written
from tracekit.findings import explain
from tracekit.render.views.rules import view


def test_the_list_has_every_rule() -> None:
    """One line each."""
    text = written(view(explain(None)), "table", 160)
    assert all(rule.code in text for rule in explain(None).rules)


def test_one_rule_is_told_in_full() -> None:
    """With its sections."""
    text = written(view(explain("TK101")), "table")
    assert text.startswith("TK101 ")
    assert len(text.splitlines()) > 5
