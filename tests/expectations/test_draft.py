"""Drafting expectations."""

from __future__ import annotations

import tomllib

from tests.support.builder import build
from tracekit.analysis import analyze
from tracekit.expectations import draft


def test_a_draft_is_toml_with_counts_budgets_and_classes() -> None:
    """Counts as seen, budgets with room above."""
    trace = build()
    for i in range(3):
        at = 100 * i
        trace.step(i, at, 100).op("aten::mm", at + 20, 20).launch("cudaLaunchKernel", at + 25, 5).kernel(
            "ampere_sgemm_128x64_nn", at + 40, 50
        )
    document = tomllib.loads(draft(analyze(trace.trace())))
    assert document["trace"] == {"steps": 3}
    assert document["step"]["kernels"] == 1
    assert document["step"]["classes"] == {"gemm.fp32": 1}
    assert document["step"]["wall_us"].startswith("<= ")
    assert document["findings"]["at_most"] == "info"


def test_a_hostile_path_stays_in_its_comment() -> None:
    """A newline in a file's name must not become a line of the file."""
    analysis = analyze(build().op("aten::mm", 0, 5).trace())
    object.__setattr__(analysis.trace, "path", "evil\n[step]\nkernels = 9")
    assert "step" not in tomllib.loads(draft(analysis)) or "kernels = 9" not in draft(analysis).splitlines()
