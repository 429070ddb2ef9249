"""What a step would take if something were changed."""

from __future__ import annotations

import pytest

from tests.support.paths import TRACES
from tracekit.analysis import Analysis, analyze
from tracekit.errors import OptionError
from tracekit.findings import find, what_if


@pytest.fixture(scope="module")
def naive() -> Analysis:
    return analyze(str(TRACES / "naive.json.gz"))


@pytest.fixture(scope="module")
def gpt() -> Analysis:
    return analyze(str(TRACES / "gpt.json.gz"))


def test_the_copy_gone_is_the_trace_in_place(naive: Analysis) -> None:
    """Its step, busy time and unprofiled saving."""
    result = what_if(naive, remove=["TK101"])
    inplace = analyze(str(TRACES / "naive_inplace.json.gz"))
    steps = len(inplace.links.steps)
    assert result.after.wall_ns == pytest.approx(inplace.windows.wall_ns.sum() / steps, rel=0.01)
    assert result.after.gpu_busy_ns == pytest.approx(inplace.windows.busy_ns.sum() / steps, rel=0.01)
    assert result.before.wall_ns == result.before.gpu_busy_ns + result.before.gpu_idle_ns
    assert result.parts[0].gpu_events_per_step == 1


@pytest.mark.parametrize("name", ["naive", "sdpa_math", "gpt", "sdpa_cudnn_new_shapes", "two_streams"])
def test_one_finding_alone_says_what_the_report_says(name: str) -> None:
    """The same range."""
    analysis = analyze(str(TRACES / f"{name}.json.gz"))
    once: dict[str, list[object]] = {}
    for one in find(analysis).findings:
        if one.change is not None and one.saving_ns_per_step is not None:
            once.setdefault(one.code, []).append(one.saving_ns_per_step)
    for code, savings in once.items():
        if len(savings) == 1:
            assert what_if(analysis, remove=[code.lower()]).saving_ns_per_step == savings[0]


def test_changes_together_win_no_more_than_the_work_that_goes(naive: Analysis) -> None:
    """Where the GPU is the limit and nothing overlaps, their sum."""
    parts = what_if(naive, remove=["TK101"], scale=["kernel~softmax=0.5", "class~^gemm=0.5"])
    alone = sum(part.saving_ns_per_step.mid_ns for part in parts.parts)
    assert parts.saving_ns_per_step.mid_ns == pytest.approx(alone, rel=0.01)
    # The same work twice goes once.
    twice = what_if(naive, remove=["TK101"], scale=["class~^memcpy=0"])
    assert twice.saving_ns_per_step.mid_ns == pytest.approx(what_if(naive, remove=["TK101"]).saving_ns_per_step.mid_ns, rel=0.01)


def test_factors_of_one_change_nothing(naive: Analysis) -> None:
    """To the nanosecond."""
    result = what_if(naive, scale=["kernel~.=1", "op~.=1"])
    assert result.before == result.after
    assert result.saving_ns_per_step.mid_ns == 0


def test_slower_work_makes_the_step_longer(naive: Analysis, gpt: Analysis) -> None:
    """By its time where it is the limit: GPU work here, host work there."""
    gemm = what_if(naive, scale=["class~^gemm=2"])
    assert gemm.after.wall_ns - gemm.before.wall_ns == pytest.approx(gemm.parts[0].gpu_ns_per_step, rel=0.01)
    assert gemm.saving_ns_per_step.low_ns <= gemm.saving_ns_per_step.mid_ns < 0
    host = what_if(gpt, scale=["op~^aten::=2"])
    assert host.after.wall_ns > 1.2 * host.before.wall_ns
    assert host.after.gpu_busy_ns == pytest.approx(host.before.gpu_busy_ns, rel=0.001)
    assert what_if(gpt, scale=["kernel~gemm|nvjet|cutlass=0.5"]).saving_ns_per_step.mid_ns < 0.05 * gpt.windows.wall_ns.mean()


def test_a_dropped_op_goes_with_its_gpu_work(naive: Analysis) -> None:
    """Five kernels become four, the copy included where the op made it."""
    result = what_if(naive, drop_ops=["aten::masked_fill"])
    assert result.parts[0].gpu_events_per_step == 2
    assert result.before.gpu_busy_ns - result.after.gpu_busy_ns == pytest.approx(result.parts[0].gpu_ns_per_step, rel=0.01)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"remove": ["TK999"]}, "no rule has this code"),
        ({"remove": ["TK103"]}, "finds nothing of the kind"),
        ({"remove": ["TK902"]}, "doesn't say what mending it would change"),
        ({"scale": ["kernel~x"]}, "isn't kernel~REGEX=FACTOR"),
        ({"scale": ["stream~x=1"]}, "isn't kernel~REGEX=FACTOR"),
        ({"scale": ["kernel~(=1"]}, "the expression isn't one"),
        ({"scale": ["kernel~.=-1"]}, "isn't a factor"),
        ({"scale": ["kernel~.=nan"]}, "isn't a factor"),
        ({"scale": ["kernel~nothing has this name=1"]}, "no kernel that a step launches matches"),
        ({"scale": ["op~nothing has this name=1"]}, "no op of a step matches"),
        ({"drop_ops": ["aten::nothing"]}, "no op of a step has this name"),
    ],
)
def test_what_cant_be_changed_is_said(naive: Analysis, given: dict[str, list[str]], says: str) -> None:
    """An error of one line."""
    with pytest.raises(OptionError, match=says):
        what_if(naive, **given)


def test_an_expression_may_hold_an_equals_sign(naive: Analysis) -> None:
    """The last one stands before the factor."""
    with pytest.raises(OptionError, match="no kernel that a step launches"):
        what_if(naive, scale=["kernel~a=b=0.5"])
