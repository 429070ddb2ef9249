"""What GPU events gain."""

from __future__ import annotations

from tests.support.builder import build
from tests.support.paths import TRACES
from tracekit.analysis import analyze
from tracekit.writing.gains import gpu_args, safe


def test_each_gpu_event_says_what_it_is() -> None:
    """Class, op with its stack, launch, latency, step."""
    analysis = analyze(str(TRACES / "naive.json.gz"))
    found = gpu_args(analysis)
    assert sorted(found) == sorted(analysis.links.gpu.tolist())
    copy = next(args for args in found.values() if args["tracekit.class"] == "memcpy.DtoD" and "tracekit.op" in args)
    assert copy["tracekit.op"] == "aten::copy_"
    assert copy["tracekit.linked_by"] == "correlation"
    assert isinstance(copy["tracekit.gb_s"], float)
    assert copy["tracekit.gb_s"] > 500


def test_occupancy_says_where_it_is_from() -> None:
    """Flash's is the profiler's estimate, cuDNN's computed; the rate of a call that is one kernel is that kernel's."""
    for name, words in (("sdpa_flash", "profiler"), ("sdpa_cudnn", "computed")):
        analysis = analyze(str(TRACES / f"{name}.json.gz"))
        found = {row: args for row, args in gpu_args(analysis).items() if str(args["tracekit.class"]).startswith("attention.")}
        row, args = next((row, args) for row, args in found.items() if "tracekit.op" in args)
        assert words in str(args["tracekit.occupancy"])
        flops = analysis.attention.attention[0].useful_flops
        assert flops
        assert args["tracekit.tflop_s"] == round(flops / int(analysis.trace.slices.dur_ns[row]) / 1000, 2)


def test_what_is_not_known_is_said_or_left_out() -> None:
    """No occupancy without a launch shape, no op without a launch."""
    trace = build().kernel("k", 0, 10).trace()
    (args,) = gpu_args(analyze(trace)).values()
    assert "not known" in str(args["tracekit.occupancy"])
    assert not {"tracekit.op", "tracekit.launch", "tracekit.tflop_s"} & set(args)


def test_text_that_chokes_a_viewer_is_changed() -> None:
    """A backslash at the end costs Perfetto 52 every event; control characters are escaped."""
    assert safe("C:\\dir\\") == "C:\\dir"
    assert safe("a\x1b[31m") == "a\\x1b[31m"
