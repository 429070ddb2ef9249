"""The attention calls."""

from __future__ import annotations

from tests.conftest import Golden
from tests.render.support import analysis, pages, written
from tests.support.builder import build
from tracekit.analysis import analyze
from tracekit.render.views.attention import view


def test_the_calls_and_their_stages(golden: Golden) -> None:
    """Stages of each kind, then each call."""
    golden(pages("attention_train_math", view(analysis("train_math").attention)))


def test_the_calls_for_programs(golden: Golden) -> None:
    """Every field of every call."""
    result = analysis("sdpa_flash").attention
    golden(pages("attention_sdpa_flash", view(result), result))


def test_a_trace_without_attention_says_so() -> None:
    """In its first line."""
    text = written(view(analyze(build().op("aten::add", 0, 5).trace()).attention), "table")
    assert text.splitlines()[0] == "No attention call was found"
