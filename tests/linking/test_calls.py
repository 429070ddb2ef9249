"""Roles of runtime and driver calls."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from tests.support.builder import build
from tracekit.linking import LAUNCHING, Role, call_role, call_roles
from tracekit.linking.calls import base_name, rules

TABLE = tomllib.loads(files("tracekit.linking").joinpath("runtimes.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("cudaLaunchKernel", Role.LAUNCH),
        ("cudaLaunchKernelExC", Role.LAUNCH),
        ("cuLaunchKernelEx", Role.LAUNCH),
        ("cuLaunchKernelEx_ptsz", Role.LAUNCH),
        ("cudaLaunchCooperativeKernelMultiDevice", Role.LAUNCH),
        ("cudaGraphLaunch", Role.GRAPH_LAUNCH),
        ("cudaMemcpyAsync", Role.MEMCPY),
        ("cuMemcpyHtoDAsync_v2", Role.MEMCPY),
        ("cudaMemsetAsync", Role.MEMSET),
        ("cudaStreamSynchronize", Role.SYNC),
        ("cudaMalloc", Role.ALLOC),
        ("cudaFree", Role.FREE),
        ("cudaStreamBeginCapture", Role.CAPTURE),
        ("cudaEventRecord", Role.EVENT),
        ("cudaStreamIsCapturing", Role.QUERY),
        ("cudaStreamGetCaptureInfo_v2", Role.QUERY),
        ("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", Role.QUERY),
        ("cuModuleLoadData", Role.MODULE),
        ("cudaFuncSetAttribute", Role.OTHER),
        ("hipExtModuleLaunchKernel", Role.LAUNCH),
        ("hipMemcpyWithStream", Role.MEMCPY),
        ("hipGraphLaunch", Role.GRAPH_LAUNCH),
        ("hipGetDevicePropertiesR0600", Role.QUERY),
        ("urEnqueueKernelLaunch", Role.LAUNCH),
        ("urEnqueueUSMMemcpy", Role.MEMCPY),
        ("musaLaunchKernel", Role.LAUNCH),
        ("enqueueCommand memcpyHtoDAsync", Role.MEMCPY),
        ("synchronizeStream", Role.SYNC),
        ("INVALID", Role.OTHER),
    ],
)
def test_role_of_a_call_seen_in_real_traces(name: str, role: Role) -> None:
    """Each vendor's calls have the role that they play."""
    assert call_role(name) is role


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("musaMemcpyAsync", Role.MEMCPY),
        ("musaMemsetAsync", Role.MEMSET),
        ("musaStreamIsCapturing", Role.QUERY),
        ("topsLaunchKernel", Role.LAUNCH),
        ("cudaLaunchKernelFromTheFuture", Role.LAUNCH),
        ("cnrtQueueSynchronize", Role.SYNC),
        ("cudaGraphAddKernelNode", Role.CAPTURE),
        ("cudaLaunchHostFunc", Role.OTHER),
        ("somethingElse", Role.OTHER),
        ("", Role.OTHER),
    ],
)
def test_role_of_an_unlisted_call_follows_from_its_shape(name: str, role: Role) -> None:
    """A name that no row lists is judged by patterns, and is OTHER where none fits."""
    assert call_role(name) is role


def test_no_name_stands_in_two_rows() -> None:
    """The table gives one answer for each name."""
    names = [name for row in TABLE["calls"] for name in row["names"]]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_rows_are_complete() -> None:
    """Every row says its role and where it comes from, and names carry no version suffix that the look-up strips."""
    for row in (*TABLE["calls"], *TABLE["patterns"]):
        assert row["source"]
        assert Role[row["role"].upper()] is not Role.NONE
    for name in rules().exact:
        assert base_name(name) == name


def test_patterns_do_not_contradict_the_rows() -> None:
    """A pattern that fits a listed launching call says the same as the row: an unlisted variant gets the right role."""
    table = rules()
    for name, role in table.exact.items():
        guess = next((r for pattern, r in table.patterns if pattern.search(name)), Role.OTHER)
        if role in LAUNCHING or guess in LAUNCHING:
            assert guess in {role, Role.OTHER}, name


def test_only_calls_have_roles() -> None:
    """An op or annotation that is called like a runtime call has no role."""
    trace = (
        build()
        .op("cudaLaunchKernel", 0, 9)
        .annotation("cudaLaunchKernel", 1, 7)
        .launch("cudaLaunchKernel", 2, 5)
        .kernel("k", 20, 5)
        .trace()
    )
    assert call_roles(trace).tolist() == [Role.NONE, Role.NONE, Role.LAUNCH, Role.NONE]


def test_trace_without_slices_has_no_roles() -> None:
    """An empty trace gives an empty array."""
    assert call_roles(build().trace()).tolist() == []
