"""What people wrote down before they looked: the file of expectations.

An example::

    [step]                      # of every step
    kernels = 5
    memcpys = 0
    syncs = 0
    wall_us = "<= 2500"         # a budget; met unless the steps miss it by more than their noise
    idle_pct = "<= 10"

    [step.classes]              # GPU events of a class; "gemm" counts "gemm.fp32" too
    gemm = 2
    memcpy = 0

    [step.names]                # GPU events whose name matches a regular expression
    "masked_fill|Memcpy DtoD" = 0

    [attention]                 # of every attention call
    backend = "flash"           # or ["flash", "efficient"]
    kernels_per_call = 1

    [findings]
    at_most = "info"            # the worst severity allowed
    allow = ["TK301"]           # whatever its severity
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.errors import InputError

STEP_COUNTS = ("gpu_events", "kernels", "memcpys", "memsets", "launches", "syncs")
STEP_TIMES = ("wall_us", "host_us", "gpu_us", "gpu_busy_us", "gpu_idle_us", "idle_pct")
ATTENTION_COUNTS = ("calls_per_step", "kernels_per_call", "gpu_events_per_call", "memcpys_per_call")
ATTENTION_TIMES = ("gpu_us_per_call", "cpu_us_per_call")
SEVERITIES = ("none", "info", "warning", "error")

_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_RANGE = re.compile(rf"\s*{_NUMBER}\s*\.\.\s*{_NUMBER}\s*")
_ONE_SIDED = re.compile(rf"\s*(<=|>=|<|>|==|=)?\s*{_NUMBER}\s*")
_AROUND = re.compile(rf"\s*{_NUMBER}\s*(?:±|\+-|\+/-)\s*{_NUMBER}\s*(%)?\s*")


@dataclass(frozen=True)
class Bounds:
    """What a quantity may be.

    Attributes:
        low, high: Least and largest value allowed.
        low_open, high_open: Whether the end itself is not allowed.
        text: As it was written.
    """

    low: float
    high: float
    text: str
    low_open: bool = False
    high_open: bool = False

    def holds(self, value: float) -> bool:
        """Return whether ``value`` is allowed."""
        above = value > self.low if self.low_open else value >= self.low
        return above and (value < self.high if self.high_open else value <= self.high)


@dataclass(frozen=True)
class Expectation:
    """One line of the file.

    Attributes:
        key: Dotted path, as ``step.classes.gemm``.
        subject: ``step``, ``class``, ``name``, ``attention``, ``backend``, ``trace`` or ``findings``.
        name: Quantity, class or pattern.
        bounds: Of a quantity; None for the others.
        choices: Words allowed, for backends; codes allowed and the worst severity, for findings.
        is_time: Whether it is a budget with noise.
    """

    key: str
    subject: str
    name: str
    bounds: Bounds | None = None
    choices: tuple[str, ...] = ()
    is_time: bool = False


@dataclass(frozen=True)
class Expectations:
    """A file of expectations, in its order."""

    path: str
    items: tuple[Expectation, ...]


def read_expectations(path: str | Path) -> Expectations:
    """Read a file of expectations.

    Raises:
        InputError: It can't be read, isn't TOML, or holds a key or value that means nothing.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(str(path), f"can't be read: {reason}", "Draft one with `tracekit expect TRACE`.") from error
    return parse_expectations(text, str(path))


def parse_expectations(text: str, path: str) -> Expectations:
    """Read expectations from text; ``path`` names it in errors."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(path, f"isn't TOML: {error}", "Draft one with `tracekit expect TRACE`.") from error
    items: list[Expectation] = []
    readers = {"trace": _trace, "step": _step, "attention": _attention, "findings": _findings}
    for section, content in document.items():
        if section not in readers:
            raise InputError(f"{path} ({section})", "there is no such section", f"Use {', '.join(readers)}.")
        items.extend(readers[section](_table(content, section, path), path))
    if not items:
        raise InputError(path, "holds no expectation", "Draft one with `tracekit expect TRACE`.")
    return Expectations(path, tuple(items))


def _table(content: Any, key: str, path: str) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise InputError(f"{path} ({key})", "must be a section", f"Write [{key}] on a line of its own.")
    return content


def _trace(content: Mapping[str, Any], path: str) -> list[Expectation]:
    _known(content, ("steps",), "trace", path)
    return [Expectation(f"trace.{key}", "trace", key, _bounds(value, f"trace.{key}", path)) for key, value in content.items()]


def _step(content: Mapping[str, Any], path: str) -> list[Expectation]:
    _known(content, (*STEP_COUNTS, *STEP_TIMES, "classes", "names"), "step", path)
    items = []
    for key, value in content.items():
        if key in {"classes", "names"}:
            for name, bound in _table(value, f"step.{key}", path).items():
                place = f"step.{key}.{name}"
                if key == "names":
                    _pattern(name, place, path)
                items.append(Expectation(place, "class" if key == "classes" else "name", name, _bounds(bound, place, path)))
        else:
            items.append(Expectation(f"step.{key}", "step", key, _bounds(value, f"step.{key}", path), is_time=key in STEP_TIMES))
    return items


def _attention(content: Mapping[str, Any], path: str) -> list[Expectation]:
    _known(content, (*ATTENTION_COUNTS, *ATTENTION_TIMES, "backend"), "attention", path)
    items = []
    for key, value in content.items():
        place = f"attention.{key}"
        if key == "backend":
            words = [value] if isinstance(value, str) else value
            if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
                raise InputError(f"{path} ({place})", "must be a word or a list of words", 'Write backend = "flash".')
            items.append(Expectation(place, "backend", key, choices=tuple(words)))
        else:
            items.append(Expectation(place, "attention", key, _bounds(value, place, path), is_time=key in ATTENTION_TIMES))
    return items


def _findings(content: Mapping[str, Any], path: str) -> list[Expectation]:
    _known(content, ("at_most", "allow"), "findings", path)
    worst, allow = content.get("at_most", "none"), content.get("allow", [])
    if worst not in SEVERITIES:
        raise InputError(f"{path} (findings.at_most)", f"there is no severity {worst!r}", f"Use {', '.join(SEVERITIES)}.")
    if not isinstance(allow, list) or not all(isinstance(code, str) for code in allow):
        raise InputError(f"{path} (findings.allow)", "must be a list of codes", 'Write allow = ["TK211"].')
    return [Expectation("findings", "findings", worst, choices=tuple(allow))]


def _known(content: Mapping[str, Any], keys: tuple[str, ...], section: str, path: str) -> None:
    for key in content:
        if key not in keys:
            raise InputError(f"{path} ({section}.{key})", "there is no such expectation", f"Use {', '.join(keys)}.")


def _pattern(text: str, key: str, path: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        raise InputError(f"{path} ({key})", f"isn't a regular expression: {error}", "Escape what is meant as it stands.") from error


def _bounds(value: Any, key: str, path: str) -> Bounds:
    """Read ``5``, ``"<= 5"``, ``"3..5"``, ``"5 ± 1"`` or ``"5 ± 10 %"``."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
        return Bounds(float(value), float(value), f"{value:g}")
    if isinstance(value, str):
        if found := _RANGE.fullmatch(value):
            low, high = float(found[1]), float(found[2])
            if low <= high:
                return Bounds(low, high, value.strip())
        elif found := _AROUND.fullmatch(value):
            middle, width = float(found[1]), float(found[2]) * (float(found[1]) / 100 if found[3] else 1)
            return Bounds(middle - width, middle + width, value.strip())
        elif found := _ONE_SIDED.fullmatch(value):
            sign, number = found[1] or "=", float(found[2])
            if sign in {"<", "<="}:
                return Bounds(0.0, number, value.strip(), high_open=sign == "<")
            if sign in {">", ">="}:
                return Bounds(number, math.inf, value.strip(), low_open=sign == ">")
            return Bounds(number, number, value.strip())
    raise InputError(f"{path} ({key})", f"{value!r} is no bound", 'Use 5, "<= 5", ">= 5", "3..5" or "5 ± 10 %".')
