"""Where in the program a slice stands."""

from __future__ import annotations

from tests.support.builder import build
from tracekit.analysis import analyze
from tracekit.analysis.paths import module_of, op_stack, paths_of, python_line


def test_the_same_op_has_the_same_path_in_every_step() -> None:
    """Step marks have different names, paths leave them out."""
    trace = build().step(1, 0, 100).op("aten::linear", 10, 40).op("aten::mm", 20, 10)
    trace.step(2, 100, 100).op("aten::linear", 110, 40).op("aten::mm", 120, 10).op("aten::mm", 160, 10)
    analysis = analyze(trace.trace())
    paths = paths_of(analysis.trace, analysis.links)
    first, second, alone = (int(paths[row]) for row in range(len(paths)) if analysis.trace.name(row) == "aten::mm")
    assert first == second != alone


def test_a_stack_goes_from_outer_to_inner() -> None:
    """Ops and annotations, without calls and step marks."""
    trace = build().step(1, 0, 100).annotation("attn", 5, 90).op("aten::linear", 10, 40).launch("cudaLaunchKernel", 20, 5)
    analysis = analyze(trace.trace())
    row = next(row for row in range(len(analysis.trace)) if analysis.trace.name(row) == "cudaLaunchKernel")
    assert op_stack(analysis.trace, analysis.links, row) == ("attn", "aten::linear")


def test_the_python_line_is_the_users_own() -> None:
    """Frames of torch, of the standard library and built-ins are passed over, modules name themselves."""
    trace = build(with_stack=1).frame("/home/me/train.py(7): forward", 0, 100).frame("nn.Module: Linear_0", 1, 90)
    trace.frame("/usr/lib/python3.11/site-packages/torch/nn/functional.py(9): linear", 2, 80).frame("<built-in method linear>", 3, 70).op(
        "aten::linear", 10, 40
    )
    analysis = analyze(trace.trace())
    row = next(row for row in range(len(analysis.trace)) if analysis.trace.name(row) == "aten::linear")
    assert python_line(analysis.trace, analysis.links, row) == "/home/me/train.py(7): forward"
    assert module_of(analysis.trace, analysis.links, row) == "Linear_0"
