"""Holds a trace against what was expected of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Analysis
from tracekit.analysis.notices import notices
from tracekit.analysis.work import KERNEL, MEMCPY, MEMSET
from tracekit.expectations.language import SEVERITIES, Bounds, Expectation, Expectations
from tracekit.findings import find
from tracekit.linking import LAUNCHING, Role, call_roles
from tracekit.units import count_text

Samples = NDArray[np.float64]

_RESAMPLES = 2000
_SHOWN = 4  # steps or calls named in an outcome; the rest is counted


@dataclass(frozen=True)
class Outcome:
    """One expectation and what was seen.

    Attributes:
        key: Its place in the file.
        expected: As it was written.
        seen: What the trace shows instead, or as well.
        met: Whether it holds.
        where: Steps or calls that miss it, the first few.
    """

    key: str
    expected: str
    seen: str
    met: bool
    where: str


@dataclass(frozen=True)
class Check:
    """The outcomes, mismatches first."""

    SCHEMA: ClassVar[str] = "tracekit.check/1"

    trace: str
    expectations: str
    met: int
    missed: int
    outcomes: tuple[Outcome, ...]
    notices: tuple[str, ...] = ()


def evaluate(analysis: Analysis, expectations: Expectations) -> Check:
    """Return each expectation with what the trace shows."""
    outcomes = [_one(analysis, item) for item in expectations.items]
    missed = [outcome for outcome in outcomes if not outcome.met]
    ordered = (*missed, *(outcome for outcome in outcomes if outcome.met))
    return Check(analysis.trace.path, expectations.path, len(outcomes) - len(missed), len(missed), ordered, notices(analysis))


def step_samples(analysis: Analysis, name: str) -> Samples:
    """Return a quantity of the steps by its name in the file of expectations (float64[k]; times in µs)."""
    links, work, windows = analysis.links, analysis.work, analysis.windows
    k = len(links.steps)
    times = {"wall_us": windows.wall_ns, "host_us": windows.host_ns, "gpu_busy_us": windows.busy_ns, "gpu_idle_us": windows.idle_ns}
    if name in times:
        return np.asarray(times[name] / 1000.0, dtype=np.float64)
    if name == "idle_pct":
        return np.asarray(100.0 * windows.idle_ns / np.maximum(windows.wall_ns, 1), dtype=np.float64)
    if name in {"launches", "syncs"}:
        wanted = LAUNCHING if name == "launches" else (Role.SYNC,)
        mine = np.isin(call_roles(analysis.trace), wanted) & (links.slice_step >= 0)
        return np.bincount(links.slice_step[mine], minlength=k).astype(np.float64)
    mine = links.step >= 0
    if name == "gpu_us":
        return np.bincount(links.step[mine], weights=work.dur_ns[mine] / 1000.0, minlength=k).astype(np.float64)
    kinds = {"kernels": KERNEL, "memcpys": MEMCPY, "memsets": MEMSET}
    if name in kinds:
        mine = mine & (work.kind == kinds[name])
    return np.bincount(links.step[mine], minlength=k).astype(np.float64)


def _launched(analysis: Analysis, accept: NDArray[np.bool_]) -> Samples:
    links = analysis.links
    return np.bincount(links.step[accept & (links.step >= 0)], minlength=len(links.steps)).astype(np.float64)


def class_samples(analysis: Analysis, name: str) -> Samples:
    """Return the GPU events of a class, or of one below it, in each step (float64[k])."""
    work = analysis.work
    ids = [i for i, label in enumerate(work.classes) if label == name or label.startswith(name + ".")]
    return _launched(analysis, np.isin(work.class_id, ids))


def name_samples(analysis: Analysis, pattern: str) -> Samples:
    """Return the GPU events whose name matches a regular expression in each step (float64[k])."""
    trace = analysis.trace
    ids = trace.strings.ids_where(re.compile(pattern).search)
    return _launched(analysis, np.isin(trace.slices.name[analysis.work.rows], ids))


def _one(analysis: Analysis, item: Expectation) -> Outcome:
    if item.subject == "findings":
        return _findings(analysis, item)
    if item.subject == "backend":
        return _backend(analysis, item)
    assert item.bounds is not None
    if item.subject == "trace":
        count = len(analysis.links.steps) if analysis.links.steps.marked else 0
        return Outcome(item.key, item.bounds.text, plural_steps(count), item.bounds.holds(count), "")
    if item.subject == "attention":
        return _attention(analysis, item, item.bounds)
    samples = {"class": class_samples, "name": name_samples}.get(item.subject, step_samples)(analysis, item.name)
    if item.is_time:
        return _budget(item.key, item.bounds, samples)
    return _each(item.key, item.bounds, samples, analysis.links.steps.names)


def plural_steps(count: int) -> str:
    """Return ``6 steps``, or that none are marked."""
    return "no marked steps" if not count else f"{count} step{'s' if count != 1 else ''}"


def _each(key: str, bounds: Bounds, samples: Samples, labels: Sequence[str]) -> Outcome:
    """Hold every step, or call, against the bounds."""
    if not len(samples):
        return Outcome(key, bounds.text, "nothing to look at", False, "")
    wrong = [label for label, value in zip(labels, samples, strict=True) if not bounds.holds(value)]
    low, high = samples.min(), samples.max()
    seen = count_text(float(low)) if low == high else f"{count_text(float(low))} to {count_text(float(high))}"
    where = ""
    if wrong and len(wrong) < len(labels):
        where = ", ".join(wrong[:_SHOWN]) + (f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else "")
    return Outcome(key, bounds.text, f"{seen} in each of {len(samples)}" if len(samples) > 1 else seen, not wrong, where)


def _budget(key: str, bounds: Bounds, samples: Samples) -> Outcome:
    """Hold the median against the budget; it is missed only if the band of the median misses it, so that noise alone fails nobody."""
    if not len(samples):
        return Outcome(key, bounds.text, "nothing to look at", False, "")
    middle = float(np.median(samples))
    low, high = median_band(samples)
    met = bounds.holds(middle) or (low <= bounds.high and high >= bounds.low)
    seen = amount(middle) + (f" ({amount(low)} to {amount(high)})" if len(samples) > 1 else " (one step: no band)")
    note = "" if bounds.holds(middle) or not met else "the median misses it, but not by more than the steps differ"
    return Outcome(key, bounds.text, seen, met, note)


def amount(value: float) -> str:
    """Return a time or a percentage with as many decimals as it takes to tell it from its budget."""
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3f}"


def median_band(samples: Samples) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the median; the same samples give the same band. One sample gives no width."""
    if len(samples) < 2:
        return float(samples[0]), float(samples[0])
    draws = np.random.default_rng(0).choice(samples, size=(_RESAMPLES, len(samples)))
    low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
    return float(low), float(high)


def _backend(analysis: Analysis, item: Expectation) -> Outcome:
    regions = analysis.attention.attention
    expected = " or ".join(item.choices)
    if not regions:
        return Outcome(item.key, expected, "no attention call", False, "")
    counts = Counter(region.backend for region in regions)
    wrong = [region for region in regions if region.backend not in item.choices]
    where = f"first: {wrong[0].op} in {wrong[0].step or 'no step'}" if wrong else ""
    return Outcome(item.key, expected, ", ".join(f"{name} {count}×" for name, count in counts.most_common()), not wrong, where)


def _attention(analysis: Analysis, item: Expectation, bounds: Bounds) -> Outcome:
    regions = analysis.attention.attention
    if item.name == "calls_per_step":
        counts = Counter(region.step for region in regions)
        samples = np.array([counts.get(step, 0) for step in analysis.links.steps.names], dtype=np.float64)
        return _each(item.key, bounds, samples, analysis.links.steps.names)
    if not regions:
        return Outcome(item.key, bounds.text, "no attention call", False, "")
    field = {
        "kernels_per_call": "kernels",
        "gpu_events_per_call": "gpu_events",
        "memcpys_per_call": "memcpys",
        "gpu_us_per_call": "gpu_ns",
        "cpu_us_per_call": "cpu_ns",
    }[item.name]
    samples = np.array([getattr(region, field) for region in regions], dtype=np.float64)
    if item.is_time:
        return _budget(item.key, bounds, samples / 1000.0)
    return _each(item.key, bounds, samples, [f"{region.op} in {region.step or 'no step'}" for region in regions])


def _findings(analysis: Analysis, item: Expectation) -> Outcome:
    worst = SEVERITIES.index(item.name)
    found = find(analysis).findings
    wrong = [one for one in found if one.code not in item.choices and SEVERITIES.index(one.severity) > worst]
    expected = ("no findings" if not worst else f"at most {item.name}") + (f"; {', '.join(item.choices)} allowed" if item.choices else "")
    counts = Counter(one.code for one in found)
    text = ", ".join(f"{code} {n}×" if n > 1 else code for code, n in sorted(counts.items())) or "none"
    return Outcome(item.key, expected, text, not wrong, ", ".join(f"{one.code} ({one.severity}): {one.title}" for one in wrong[:_SHOWN]))
