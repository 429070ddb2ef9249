"""GPU events by name."""

from __future__ import annotations

from tests.support.builder import Builder, build
from tracekit.analysis import analyze
from tracekit.analysis.kernels import Kernels, kernel_table

SHAPE = {"grid": [4, 2, 1], "block": [128, 1, 1], "registers per thread": 255, "shared memory": 0}


def table(trace: Builder) -> Kernels:
    found = kernel_table(analyze(trace.trace()))
    assert sum(row.ns for row in found.kernels) == found.total_ns
    return found


def test_events_of_one_name_are_one_row() -> None:
    """Count, sum, mean, least and most; the op that launched most comes first."""
    trace = (
        build()
        .op("aten::mm", 0, 30)
        .launch("cudaLaunchKernel", 2, 3)
        .kernel("k", 10, 10)
        .launch("cudaLaunchKernel", 6, 3)
        .kernel("k", 25, 20)
    )
    trace.op("aten::bmm", 40, 10).launch("cudaLaunchKernel", 42, 3).kernel("k", 50, 30)
    (row,) = table(trace).kernels
    assert (row.count, row.ns, row.mean_ns, row.min_ns, row.max_ns) == (3, 60_000, 20_000.0, 10_000, 30_000)
    assert (row.ops, row.streams) == (("aten::mm", "aten::bmm"), (7,))


def test_an_occupancy_of_nothing_is_computed_and_said_to_be() -> None:
    """255 registers × 128 threads on an H100: 12.5 %, limited by registers. cuLaunchKernelEx is recorded as 0, which is no measurement."""
    trace = build().device("NVIDIA H100 80GB HBM3").launch("cuLaunchKernelEx", 0, 5)
    trace.kernel("flash", 20, 4, **{**SHAPE, "grid": [4096, 1, 1], "est. achieved occupancy %": 0})
    (row,) = table(trace).kernels
    assert row.occupancy_source == "computed"
    assert row.occupancy_pct == 12.5
    assert row.occupancy_limit == "registers"


def test_a_recorded_occupancy_is_taken_as_it_is() -> None:
    """The profiler knows the device best."""
    trace = build().launch("cudaLaunchKernel", 0, 5).kernel("k", 20, 4, **SHAPE, **{"est. achieved occupancy %": 40})
    (row,) = table(trace).kernels
    assert (row.occupancy_pct, row.occupancy_source) == (40.0, "recorded")
    assert (row.grid, row.block, row.registers) == ((4, 2, 1), (128, 1, 1), 255)


def test_without_a_known_device_the_occupancy_stays_unknown() -> None:
    """Another device's limits would be a guess."""
    trace = build().device("NVIDIA H100 80GB HBM3", id=0).stream(7, device=3).launch("cudaLaunchKernel", 0, 5).kernel("k", 20, 4, **SHAPE)
    (row,) = table(trace).kernels
    assert (row.occupancy_pct, row.occupancy_source) == (None, "unknown")
