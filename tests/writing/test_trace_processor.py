"""Annotated traces in Perfetto's own trace processor: nothing is lost, and its SQL finds what tracekit says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.paths import SHARED, TRACES
from tests.support.perfetto import Answer, ask, engine_folder
from tracekit.analysis import Analysis, analyze
from tracekit.findings import Findings, find
from tracekit.trace import GPU_WORK
from tracekit.writing import annotate

OURS = sorted(TRACES.glob("*.json.gz"))
PUBLIC = [
    SHARED / "traces" / name
    for name in (
        "hta/alexnet.json.gz",
        "hta/mi250_toy_train.json.gz",
        "hta/nccl_rank0_of_2.json.gz",
        "hta/old_schema_inference.json.gz",
        "hta/event_sync_multi_stream.json.gz",
        "hta/mtia_inference.json.gz",
        "tracelens/h100_gaunernst_bert-small-uncased.json.gz",
        "tracelens/mi300_resnet_act_checkpoint.json.gz",
        "tracelens/sglang_decode_sglang_Qwen3-8B_decode.json.gz",
    )
]
TRACES_SHOWN = [path for path in [*OURS, *PUBLIC] if path.is_file()]

QUERIES = (
    "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
    "select count(*) from slice s join track t on s.track_id = t.id where coalesce(s.category, '') not like 'tracekit.%' and s.category != 'finding'",
    "select s.name from slice s where s.category = 'finding' and s.dur > 0 order by s.ts, s.name",
    "select count(*) from slice s join args a on s.arg_set_id = a.arg_set_id where a.key = 'args.tracekit.class'",
    "select sum(s.dur) from slice s join args a on s.arg_set_id = a.arg_set_id where a.key = 'args.tracekit.class' and a.string_value like 'attention.%'",
    "select count(*) from slice where category = 'tracekit.step' and dur > 0",
    "select t.name, count(*), max(c.value) from counter c join counter_track t on c.track_id = t.id group by 1 order by 1",
    "select count(*) from flow f join slice s on f.slice_in = s.id where s.category = 'finding'",
    "select count(distinct f.slice_in) from flow f join slice s on f.slice_in = s.id join args a on s.arg_set_id = a.arg_set_id "
    "where a.key = 'args.tracekit.class'",
)


@dataclass(frozen=True)
class Shown:
    """A trace, and what Perfetto says of its annotated form."""

    analysis: Analysis
    findings: Findings
    answer: Answer


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Shown]:
    """All traces, asked in one process."""
    engine_folder()
    folder = tmp_path_factory.mktemp("annotated")
    known: dict[Path, tuple[Path, Analysis, Findings]] = {}
    for i, path in enumerate(TRACES_SHOWN):
        analysis = analyze(str(path))
        findings = find(analysis)
        out = folder / f"{i}.json.gz"
        out.write_bytes(annotate(analysis, findings).data)
        known[path] = out, analysis, findings
    answers = ask({out: QUERIES for out, _, _ in known.values()}, folder)
    return {path: Shown(analysis, findings, answers[out]) for path, (out, analysis, findings) in known.items()}


@pytest.mark.parametrize("path", TRACES_SHOWN, ids=lambda path: path.name.split(".")[0])
def test_perfetto_reads_all_of_it(path: Path, shown: dict[Path, Shown]) -> None:
    """No error, no lost event, and its counts are ours."""
    one = shown[path]
    assert one.answer.error is None
    stats, originals, findings, classed, attention, steps, counters, _, arrived = one.answer.rows
    trace = one.analysis.trace
    assert stats == []
    if not trace.log.phases.get("E"):
        assert originals[0][0] >= len(trace.slices)
    assert len(findings) == sum(bool(finding.evidence) for finding in one.findings.findings)
    gpu = trace.slices.rows(*GPU_WORK)
    assert classed == [[len(gpu)]]
    work = one.analysis.work
    ours = sum(
        int(trace.slices.dur_ns[row])
        for row, c in zip(work.rows.tolist(), work.class_id.tolist(), strict=True)
        if work.classes[c].startswith("attention.")
    )
    assert (attention[0][0] or 0) == pytest.approx(ours, abs=len(gpu))
    assert steps == [[len(one.analysis.links.steps)]]
    linked = one.analysis.links.launch >= 0
    assert arrived[0][0] >= int(linked.sum())
    if len(gpu):
        assert {"GPU busy %", "launch to start us"} <= {name for name, _, _ in counters}


def test_findings_point_at_their_evidence(shown: dict[Path, Shown]) -> None:
    """By a flow each, where a slice has no other."""
    flows = shown[TRACES / "sdpa_math.json.gz"].answer.rows[7][0][0]
    assert flows >= 1


def test_memory_is_a_counter(tmp_path: Path) -> None:
    """With the peak that the summary states."""
    path = SHARED / "traces" / "hta" / "memory_events_54mb.json.gz"
    found = next((one for one in (SHARED / "traces").rglob("*memory_events*.json.gz")), path)
    if not found.is_file():
        pytest.skip("the public traces aren't here")
    analysis = analyze(str(found))
    out = tmp_path / "out.json.gz"
    out.write_bytes(annotate(analysis, find(analysis)).data)
    answer = ask({out: QUERIES[6:7]}, tmp_path)[out]
    peaks = {name: value for name, _, value in answer.rows[0] if name.startswith("allocated on ")}
    assert peaks
    for row in analysis.summary.memory:
        assert peaks[f"allocated on {row.device} MiB"] <= row.peak_bytes / (1 << 20) + 0.001
