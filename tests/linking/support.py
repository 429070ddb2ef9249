"""Short ways to say what links hold, by name."""

from __future__ import annotations

from pathlib import Path

import tracekit
from tests.support.builder import Builder
from tracekit.linking import Links, Method, NoGpu, Reason, link
from tracekit.trace import Trace


def linked(builder: Builder | Path, *, step_name: str | None = None) -> tuple[Trace, Links]:
    """Build (or load), link, check."""
    trace = builder.trace() if isinstance(builder, Builder) else tracekit.load(builder)
    links = link(trace, step_name=step_name)
    links.check(trace)
    return trace, links


def row(trace: Trace, name: str) -> int:
    """Return the only row of that name."""
    (found,) = [i for i in range(len(trace)) if trace.name(i) == name]
    return found


def name(trace: Trace, at: int) -> str | None:
    """Return the name of a row, None for -1."""
    return trace.name(at) if at >= 0 else None


def launches(trace: Trace, links: Links) -> list[tuple[str, str | None, str | None]]:
    """Return (event, launch, op) of each GPU event, in order of time."""
    return [(trace.name(g), name(trace, links.launch[i]), name(trace, links.op[i])) for i, g in enumerate(links.gpu)]


def methods(links: Links) -> list[Method]:
    """Return how each GPU event was joined."""
    return [Method(m) for m in links.method]


def reasons(links: Links) -> list[Reason]:
    """Return why each GPU event wasn't."""
    return [Reason(r) for r in links.reason]


def lost(trace: Trace, links: Links) -> list[tuple[str, NoGpu]]:
    """Return the launches without a GPU event and why."""
    return [(trace.name(r), NoGpu(w)) for r, w in zip(links.lost_launches, links.lost_reason, strict=True)]
