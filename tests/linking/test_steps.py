"""Steps: by the profiler's marks, by the user's, or the whole trace."""

from __future__ import annotations

import pytest

from tests.linking.support import linked
from tests.support.builder import Builder, build
from tracekit.errors import OptionError


def launch_at(builder: Builder, *times: float) -> Builder:
    """Add a launch at each time, with a kernel long after it."""
    for at in times:
        builder.launch("cudaLaunchKernel", at, 2).kernel("k", at + 1000, 5)
    return builder


def test_gpu_event_belongs_to_the_step_in_which_it_was_launched() -> None:
    """Not to the one in whose window it runs."""
    _, links = linked(launch_at(build().step(5, 0, 100).step(6, 100, 5000), 50, 150))
    assert links.steps.names == ("ProfilerStep#5", "ProfilerStep#6")
    assert links.step.tolist() == [0, 1]


def test_step_borders_are_half_open() -> None:
    """A launch at the very end of a mark belongs to the next."""
    _, links = linked(launch_at(build().step(0, 0, 100).step(1, 100, 100), 0, 99.999, 100))
    assert links.step.tolist() == [0, 0, 1]


def test_launch_outside_the_marks_belongs_to_no_step() -> None:
    """An evaluation between the steps (case 50)."""
    _, links = linked(launch_at(build().step(0, 0, 100).step(1, 200, 100), 50, 150, 250))
    assert links.step.tolist() == [0, -1, 1]


def test_missing_number_is_said() -> None:
    """Steps 10, 11, 13: three steps, and 12 is missing."""
    _, links = linked(build().step(10, 0, 10).step(11, 10, 10).step(13, 40, 10))
    assert len(links.steps) == 3
    assert links.steps.notices == ("step 12 is missing between 10 and 13",)
    assert links.steps.notices[0] in links.notices


def test_several_missing_numbers_are_listed() -> None:
    """Ranges are shortened."""
    _, links = linked(build().step(1, 0, 10).step(5, 10, 10).step(7, 40, 10))
    assert links.steps.notices == ("4 steps: 2 to 4, 6 are missing between 1 and 7",)


def test_marks_on_several_threads_are_one_step() -> None:
    """The longest speaks for it; the GPU row's copy is none (case 50)."""
    builder = build().step(3, 0, 400).gpu_annotation("ProfilerStep#3", 300, 250).thread(9).step(3, 1, 398)
    trace, links = linked(builder)
    assert links.steps.names == ("ProfilerStep#3",)
    assert (links.steps.start_ns[0] - trace.slices.ts_ns[0], links.steps.end_ns[0] - links.steps.start_ns[0]) == (0, 400_000)


def test_launch_on_another_thread_belongs_to_the_step_of_its_time() -> None:
    """The backward pass runs on a thread without marks (case 42)."""
    builder = build().step(0, 0, 100).step(1, 100, 100).thread(7)
    _, links = linked(launch_at(builder, 50, 150))
    assert links.step.tolist() == [0, 1]


def test_old_traces_mark_steps_by_ops() -> None:
    """Before user_annotation existed ProfilerStep was a cpu_op."""
    _, links = linked(launch_at(build().op("ProfilerStep#0", 0, 100).op("ProfilerStep#1", 100, 100), 50, 150))
    assert links.step.tolist() == [0, 1]


def test_trace_without_marks_is_one_step_and_says_so() -> None:
    """Everything on the host is in it."""
    trace, links = linked(launch_at(build().op("aten::mm", 0, 100), 50))
    assert links.steps.names == ("trace",)
    assert not links.steps.marked
    assert (links.steps.start_ns[0], links.steps.end_ns[0]) == trace.span_ns
    assert links.step.tolist() == [0]
    assert any("whole trace" in notice for notice in links.notices)


def test_empty_trace_has_one_empty_step() -> None:
    """No events, no crash."""
    _, links = linked(build())
    assert links.steps.names == ("trace",)
    assert links.gpu.tolist() == []


def test_user_marks_of_one_name_are_numbered_steps() -> None:
    """--step NAME: each time the name stands on the host is a step."""
    builder = build().annotation("train_step", 0, 100).annotation("train_step", 100, 100).annotation("other", 10, 10)
    _, links = linked(launch_at(builder, 50, 150), step_name="train_step")
    assert links.steps.names == ("train_step #0", "train_step #1")
    assert links.step.tolist() == [0, 1]


def test_user_marks_may_carry_their_own_numbers() -> None:
    """iteration_7, iteration_8 are meant by "iteration"."""
    builder = build().annotation("iteration_7", 0, 100).annotation("iteration_8", 100, 100).annotation("iterations", 0, 300)
    _, links = linked(builder, step_name="iteration")
    assert links.steps.names == ("iteration_7", "iteration_8")


def test_nested_mark_of_the_same_name_is_the_same_step() -> None:
    """A recursive region counts once."""
    _, links = linked(build().annotation("step", 0, 100).annotation("step", 10, 50).annotation("step", 200, 50), step_name="step")
    assert links.steps.end_ns.tolist() == [100_000, 250_000]


def test_unknown_user_mark_is_an_error_that_names_it() -> None:
    """A typo must not end in one silent step."""
    trace = build().annotation("train_step", 0, 100)
    with pytest.raises(OptionError, match="train_stp"):
        linked(trace, step_name="train_stp")


def test_user_mark_is_no_regular_expression() -> None:
    """Brackets and dots mean themselves."""
    _, links = linked(build().annotation("step[DECODE bs=32]", 0, 10).annotation("stepXDECODE", 20, 10), step_name="step[DECODE bs=32]")
    assert len(links.steps) == 1


def test_host_slices_know_their_step() -> None:
    """By the start of the slice, on any thread; GPU rows have none."""
    trace, links = linked(
        build().step(0, 0, 100).op("a", 90, 50).thread(2).op("b", 50, 10).launch("cudaLaunchKernel", 150, 5).kernel("k", 20, 5)
    )
    assert {trace.name(i): int(links.slice_step[i]) for i in range(len(trace))} == {
        "ProfilerStep#0": 0,
        "a": 0,
        "b": 0,
        "cudaLaunchKernel": -1,
        "k": -1,
    }


def test_absurd_step_number_is_no_step() -> None:
    """Five thousand digits are text, not a number."""
    _, links = linked(build().annotation("ProfilerStep#" + "9" * 5000, 0, 10).op("a", 0, 5))
    assert not links.steps.marked
