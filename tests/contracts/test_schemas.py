"""The keys that JSON carries. Keys may be added; one that goes or is renamed breaks somebody's script, and asks for a new schema number."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.render.support import written
from tests.support.paths import TRACES
from tracekit.analysis import Analysis, analyze
from tracekit.analysis.critical import critical_path
from tracekit.analysis.kernels import kernel_table
from tracekit.analysis.launches import link_table
from tracekit.analysis.ops import op_table
from tracekit.diff import compare, compare_variants
from tracekit.expectations import draft, evaluate, parse_expectations
from tracekit.findings import explain, find, what_if
from tracekit.reading import load

Make = Callable[[Analysis, Analysis], Any]
RESULTS: dict[str, tuple[Make, str]] = {
    "summary": (
        lambda a, _: a.summary,
        "trace read gpu steps classes idle attention verdict unprofiled_step memory notices",
    ),
    "ops": (lambda a, _: op_table(a), "by steps dispatch_us ops tree notices"),
    "kernels": (lambda a, _: kernel_table(a), "steps total_us kernels notices"),
    "links": (lambda a, _: link_table(a), "links launches_without_gpu notices"),
    "attention": (lambda a, _: a.attention, "attention notices"),
    "diff": (compare, "a b step rows idle_rows cpu_rows shifted_to_cpu residue_us summary notices"),
    "variants": (lambda a, b: compare_variants([a, b]), "variants notices"),
    "check": (
        lambda a, b: evaluate(b, parse_expectations(draft(a), "naive.toml")),
        "trace expectations met missed outcomes notices",
    ),
    "report": (lambda _, b: find(b), "trace step_us verdict findings notices"),
    "whatif": (lambda _, b: what_if(b, scale=["class~gemm=0.5"]), "trace parts before after saving_us_per_step notices"),
    "critical": (lambda _, b: critical_path(b), "trace step wall_us gpu_us host_us queue_us outside_us hidden_gpu_us rows notices"),
    "rules": (lambda _, __: explain(None), "rules"),
}
ROWS = {
    ("summary", "steps"): "name wall_us host_us gpu_us gpu_busy_us gpu_idle_us gpu_events kernels memcpys memsets",
    ("summary", "classes"): "class count us",
    ("summary", "idle"): "kind name count us",
    ("summary", "attention"): "backend direction calls gpu_events_per_call kernels_per_call gpu_us_per_call cpu_us_per_call",
    ("ops", "ops"): "name calls cpu_us self_cpu_us gpu_us self_gpu_us opaque_cpu_us exposed_us shapes module stack",
    ("kernels", "kernels"): "name class count us mean_us",
    ("links", "links"): "name kind class device stream ts_us dur_us launch op stack module python step method reason",
    ("attention", "attention"): "op step backend direction shapes dtype causal gpu_events kernels gpu_us cpu_us stages notes",
    ("diff", "rows"): "region match stage class a_us b_us delta_us a_count b_count a_kernels b_kernels confidence cause",
    ("diff", "cpu_rows"): "name kind a_us b_us delta_us a_count b_count a_opaque_us b_opaque_us",
    ("diff", "idle_rows"): "kind name a_us b_us delta_us",
    ("check", "outcomes"): "key expected seen met where",
    ("report", "findings"): "code severity title what why fix",
    ("whatif", "parts"): "asked means gpu_events_per_step gpu_us_per_step saving_us_per_step",
    ("critical", "rows"): "kind name count us",
    ("rules", "rules"): "code name title",
}


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    """The JSON of each command's result."""
    a, b = (analyze(load(TRACES / f"{name}.json.gz")) for name in ("naive", "sdpa_math"))
    return {name: json.loads(written(make(a, b), "json")) for name, (make, _) in RESULTS.items()}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_has_its_schema_and_keys(results: dict[str, dict[str, Any]], name: str) -> None:
    """The schema first."""
    assert next(iter(results[name])) == "schema"
    assert results[name]["schema"] == f"tracekit.{name}/1"
    assert set(RESULTS[name][1].split()) <= set(results[name])


@pytest.mark.parametrize(("name", "key"), ROWS)
def test_a_row_has_its_keys(results: dict[str, dict[str, Any]], name: str, key: str) -> None:
    """Of each list."""
    assert set(ROWS[name, key].split()) <= set(results[name][key][0])


@pytest.mark.parametrize("name", RESULTS)
def test_no_key_says_nanoseconds(results: dict[str, dict[str, Any]], name: str) -> None:
    """Programs get microseconds, everywhere."""

    def keys(value: Any) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*map(keys, value.values()))
        return set().union(*map(keys, value)) if isinstance(value, list) else set()

    assert not {key for key in keys(results[name]) if "ns" in key.split("_")}
