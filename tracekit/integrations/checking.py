"""A trace that was recorded just now, held against what was expected of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tracekit.analysis import Analysis, analyze
from tracekit.errors import TracekitError, escape_control
from tracekit.expectations import Check, Expectations, evaluate, parse_expectations, read_expectations
from tracekit.findings import Findings, find
from tracekit.reading import load
from tracekit.units import plural

_SHOWN = 8


class ExpectationError(TracekitError):
    """A trace isn't what was expected."""


@dataclass(frozen=True)
class Recorded:
    """A trace and what it shows.

    Attributes:
        path: The file.
        analysis: Its analysis.
        findings: What is wrong.
        check: What was expected and seen; None where nothing was expected.
    """

    path: str
    analysis: Analysis
    findings: Findings
    check: Check | None = None

    @property
    def missed(self) -> tuple[str, ...]:
        """The expectations that aren't met, a line each."""
        if self.check is None:
            return ()
        return tuple(
            escape_control(f"{one.key}: expected {one.expected}, but {one.seen}" + (f" ({one.where})" if one.where else ""))
            for one in self.check.outcomes
            if not one.met
        )


def record_of(path: str | Path, expect: Expectations | None = None, *, step_name: str | None = None) -> Recorded:
    """Read a trace and ask what is wrong with it.

    Args:
        path: The file.
        expect: What it is held against, or None.
        step_name: Name of the annotation that marks a step; None for ``ProfilerStep#N``.

    Raises:
        InputError: The file can't be read, or is no trace.
        OptionError: No annotation has the name ``step_name``.
    """
    analysis = analyze(load(path), step_name=step_name)
    return Recorded(str(path), analysis, find(analysis), evaluate(analysis, expect) if expect else None)


def expectations_of(expect: str | Path) -> Expectations:
    """Return expectations: of a file, or written out as TOML (a text with a ``=`` in it).

    Raises:
        InputError: There is no such file, or it isn't what it should be.
    """
    if isinstance(expect, str) and "=" in expect:
        return parse_expectations(expect, "expect")
    return read_expectations(expect)


def assert_trace(trace: Recorded | Analysis | str | Path, expect: str | Path) -> None:
    """Fail with every expectation that a trace doesn't meet.

    Args:
        trace: What ``tracekit_trace`` returned, an analysis, or a file.
        expect: A file of expectations, or their TOML.

    Raises:
        AssertionError: The trace isn't what was expected; the message has a line for each.
        InputError: The trace or the expectations can't be read.
    """
    wanted = expectations_of(expect)
    analysis = trace.analysis if isinstance(trace, Recorded) else trace if isinstance(trace, Analysis) else analyze(load(trace))
    recorded = Recorded(analysis.trace.path, analysis, find(analysis), evaluate(analysis, wanted))
    if recorded.missed:
        raise AssertionError(told(recorded))


def told(recorded: Recorded) -> str:
    """Return what a trace misses, a line each."""
    lines = list(recorded.missed[:_SHOWN])
    more = len(recorded.missed) - len(lines)
    head = f"{escape_control(recorded.path)} isn't as expected, in {plural(len(recorded.missed), 'point')}:"
    return "\n".join([head, *(f"  {line}" for line in lines), *([f"  and {more} more"] if more > 0 else [])])
