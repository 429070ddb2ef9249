"""Ops with host time and the GPU time they launch."""

from __future__ import annotations

import pytest

from tests.support.builder import Builder, build
from tracekit.analysis import analyze
from tracekit.analysis.ops import OpRow, op_table
from tracekit.errors import OptionError


def rows(trace: Builder, by: str = "name") -> dict[str, OpRow]:
    return {row.name: row for row in op_table(analyze(trace.trace()), by=by).ops}


def nested() -> Builder:
    """A linear of 100 µs around an addmm of 60 µs that launches 30 µs of GPU time in 10 µs."""
    return build().op("aten::linear", 0, 100).op("aten::addmm", 20, 60).launch("cudaLaunchKernel", 30, 10).kernel("gemm", 50, 30)


def test_self_time_leaves_out_ops_and_calls_directly_inside() -> None:
    """As torch.profiler reckons it."""
    table = rows(nested())
    assert (table["aten::linear"].cpu_ns, table["aten::linear"].self_cpu_ns) == (100_000, 40_000)
    assert (table["aten::addmm"].cpu_ns, table["aten::addmm"].self_cpu_ns) == (60_000, 50_000)


def test_gpu_time_belongs_to_the_op_and_to_all_around_it() -> None:
    """Self GPU time is that of the launches directly inside."""
    table = rows(nested())
    assert (table["aten::linear"].gpu_ns, table["aten::linear"].self_gpu_ns) == (30_000, 0)
    assert (table["aten::addmm"].gpu_ns, table["aten::addmm"].self_gpu_ns) == (30_000, 30_000)


def test_recursion_counts_once() -> None:
    """An op inside one of the same name adds calls and self time, not total time."""
    row = rows(build().op("aten::to", 0, 100).op("aten::to", 20, 30))["aten::to"]
    assert (row.calls, row.cpu_ns, row.self_cpu_ns) == (2, 100_000, 100_000)


def test_by_shape_tells_calls_of_different_shapes_apart() -> None:
    """One row for each list of input shapes."""
    trace = build().op("aten::mm", 0, 10, **{"Input Dims": [[8, 4], [4, 2]]}).op("aten::mm", 20, 10, **{"Input Dims": [[16, 4], [4, 2]]})
    table = op_table(analyze(trace.trace()), by="shape").ops
    assert sorted(row.shapes or "" for row in table) == ["[16, 4], [4, 2]", "[8, 4], [4, 2]"]


def test_by_stack_tells_callers_apart_and_leaves_out_step_marks() -> None:
    """The same op in two steps is one row, under two parents two."""
    trace = build().step(1, 0, 100).step(2, 100, 100)
    trace.op("aten::linear", 10, 40).op("aten::mm", 20, 10).op("aten::linear", 110, 40).op("aten::mm", 120, 10).op("aten::mm", 160, 10)
    table = op_table(analyze(trace.trace()), by="stack").ops
    assert {(row.stack, row.calls) for row in table if row.name == "aten::mm"} == {("aten::linear > aten::mm", 2), ("aten::mm", 1)}


def test_by_module_names_the_innermost_module() -> None:
    """From the python frames."""
    trace = build(with_stack=1).frame("nn.Module: Net_0", 0, 100).frame("nn.Module: Linear_3", 10, 50).op("aten::mm", 20, 10)
    assert [row.module for row in op_table(analyze(trace.trace()), by="module").ops] == ["Linear_3"]


def test_the_tree_merges_calls_of_one_path_parents_first() -> None:
    """Two steps, one tree."""
    trace = build().op("aten::linear", 10, 40).op("aten::mm", 20, 10).op("aten::linear", 110, 40).op("aten::mm", 120, 10)
    tree = op_table(analyze(trace.trace()), tree=True).tree
    assert [(node.name, node.depth, node.calls, node.cpu_ns) for node in tree] == [
        ("aten::linear", 0, 2, 80_000),
        ("aten::mm", 1, 2, 20_000),
    ]


def test_an_unknown_grouping_is_refused() -> None:
    """With the choices."""
    with pytest.raises(OptionError, match="Use name, shape, module or stack"):
        op_table(analyze(nested().trace()), by="colour")
