"""Parts of traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.builder import build
from tests.support.paths import SHARED, TRACES, needs_shared
from tracekit.analysis import Analysis, analyze
from tracekit.errors import OptionError
from tracekit.reading import load
from tracekit.writing import cut_out, parse_part

MARKED = ["naive", "gpt", "train_math", "cuda_graph", "two_streams", "sdpa_cudnn_new_shapes"]


def part(tmp_path: Path, analysis: Analysis, steps: str | None = None, time: str | None = None, without: tuple[str, ...] = ()) -> Analysis:
    """Cut a part out and read it again."""
    path = tmp_path / "part.json"
    path.write_bytes(cut_out(analysis, parse_part(analysis, steps, time, without), gzip=False).data)
    found = analyze(load(path))
    assert found.trace.log.complete
    assert not found.trace.log.repaired
    return found


def linked(analysis: Analysis, steps: range) -> list[tuple[int, str, str, str]]:
    """Return time, kernel, launch and op of the GPU events of some steps."""
    links, trace = analysis.links, analysis.trace
    return [
        (int(trace.slices.ts_ns[row]), trace.name(row), trace.name(launch) if launch >= 0 else "", trace.name(op) if op >= 0 else "")
        for row, launch, op, step in zip(links.gpu.tolist(), links.launch.tolist(), links.op.tolist(), links.step.tolist(), strict=True)
        if step in steps
    ]


def middle_is_the_same(path: Path, tmp_path: Path) -> None:
    """The steps between the first and the last, cut out, have the links and figures that they had."""
    whole = analyze(load(path))
    names = whole.links.steps.names
    numbers = [int(name.rpartition("#")[2]) for name in names]
    cut = part(tmp_path, whole, f"{numbers[1]}-{numbers[-2]}")
    assert cut.links.steps.names == names[1:-1]
    assert linked(cut, range(len(names) - 2)) == linked(whole, range(1, len(names) - 1))
    before, after = whole.summary.steps[1:-1], cut.summary.steps
    for one, other in zip(before, after, strict=True):
        assert (one.gpu_ns, one.kernels, one.memcpys, one.memsets) == (other.gpu_ns, other.kernels, other.memcpys, other.memsets)
    # The end of a step is the begin of the next, which the last one no longer has.
    for one, other in list(zip(before, after, strict=True))[:-1]:
        assert (one.wall_ns, one.gpu_busy_ns, one.gpu_idle_ns) == (other.wall_ns, other.gpu_busy_ns, other.gpu_idle_ns)


@pytest.mark.parametrize("name", MARKED)
def test_steps_keep_their_links_and_figures(name: str, tmp_path: Path) -> None:
    """On our own traces."""
    middle_is_the_same(TRACES / f"{name}.json.gz", tmp_path)


@needs_shared
@pytest.mark.parametrize("name", ["nccl_rank0_of_2", "mi300_resnet_act_checkpoint"])
def test_steps_of_public_traces_keep_them_too(name: str, tmp_path: Path) -> None:
    """Other vendors, several ranks."""
    (path,) = (SHARED / "traces").rglob(f"{name}.json.gz")
    middle_is_the_same(path, tmp_path)


def test_what_is_kept_stands_byte_for_byte(tmp_path: Path) -> None:
    """Each event of the part is one of the file's."""
    analysis = analyze(load(TRACES / "naive.json.gz"))
    data = cut_out(analysis, parse_part(analysis, "5", None, ()), gzip=False).data
    original = {json.dumps(event, sort_keys=True) for event in events_of(TRACES / "naive.json.gz")}
    cut = json.loads(data)
    assert {json.dumps(event, sort_keys=True) for event in cut["traceEvents"]} <= original
    assert cut["deviceProperties"]


def events_of(path: Path) -> list[dict[str, object]]:
    """Return a file's events."""
    import gzip

    found: list[dict[str, object]] = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    return found


def test_everything_left_out_is_counted() -> None:
    """Kept and left out are all there is."""
    analysis = analyze(load(TRACES / "gpt.json.gz"))
    names = analysis.links.steps.names
    result = cut_out(analysis, parse_part(analysis, names[0].rpartition("#")[2], None, ("fwdbwd",)), gzip=True)
    assert result.kept + sum(result.left_out.values()) == analysis.trace.log.in_file
    assert result.left_out["fwdbwd"] > 0


def test_a_stretch_of_time_keeps_launches_of_what_runs_in_it(tmp_path: Path) -> None:
    """And the op around the launch, though it ended before."""
    trace = build().op("aten::mm", 0, 10).launch("cudaLaunchKernel", 2, 3).kernel("gemm", 100, 20).op("aten::relu", 200, 5).trace()
    cut = part(tmp_path, analyze(trace), time="90:130")
    assert [cut.trace.name(row) for row in range(len(cut.trace))] == ["aten::mm", "cudaLaunchKernel", "gemm"]
    assert cut.links.linked == 1


def test_a_flow_with_one_end_outside_goes(tmp_path: Path) -> None:
    """Half a flow would be an error for a viewer."""
    whole = analyze(load(TRACES / "naive.json.gz"))
    cut = part(tmp_path, whole, whole.links.steps.names[2].rpartition("#")[2])
    ids: dict[int, int] = {}
    for one in cut.trace.flows.id.tolist():
        ids[one] = ids.get(one, 0) + 1
    assert ids
    assert set(ids.values()) == {2}


def test_pairs_become_one_event(tmp_path: Path) -> None:
    """A B whose E lies far behind isn't cut in two."""
    document = {
        "traceEvents": [
            {"ph": "B", "name": "outer", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 0},
            {"ph": "X", "name": "early", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
            {"ph": "X", "name": "late", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 50, "dur": 1},
            {"ph": "E", "pid": 1, "tid": 1, "ts": 99},
        ]
    }
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps(document))
    cut = part(tmp_path, analyze(load(path)), time="40:60")
    assert [(cut.trace.name(row), int(cut.trace.slices.dur_ns[row])) for row in range(2)] == [("outer", 99_000), ("late", 1_000)]


@pytest.mark.parametrize(
    ("steps", "time", "without", "says"),
    [
        ("x", None, (), "is no list of steps"),
        ("99", None, (), "there is no step 99"),
        ("3-", None, (), "is no list of steps"),
        (None, "5", (), "is no stretch of time"),
        (None, "9:9", (), "holds nothing"),
        (None, "99999999:", (), "holds nothing"),
        (None, None, ("kernels",), "no event has the category 'kernels'"),
    ],
)
def test_what_is_not_there_is_named(steps: str | None, time: str | None, without: tuple[str, ...], says: str) -> None:
    """With what there is."""
    analysis = analyze(load(TRACES / "naive.json.gz"))
    with pytest.raises(OptionError, match=says):
        parse_part(analysis, steps, time, without)


def test_steps_of_a_trace_without_any_are_an_error() -> None:
    """It says what to give instead."""
    with pytest.raises(OptionError, match="marks no steps"):
        parse_part(analyze(build().op("aten::mm", 0, 10).trace()), "1", None, ())
