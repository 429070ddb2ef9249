"""Several traces, each against the first."""

from __future__ import annotations

from tests.conftest import Golden
from tests.render.support import analysis, pages
from tracekit.diff import compare_variants
from tracekit.render.views.variants import view


def test_the_backends(golden: Golden) -> None:
    """A line each."""
    result = compare_variants([analysis(name) for name in ("naive", "sdpa_math", "sdpa_flash", "flex")])
    golden(pages("variants", view(result), result))
