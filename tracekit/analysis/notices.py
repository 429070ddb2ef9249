"""What a user should know before believing a number: said with every result, in the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracekit.linking import Reason
from tracekit.trace import Repair
from tracekit.units import ns_text, plural

if TYPE_CHECKING:
    from tracekit.analysis.bundle import Analysis

_REASONS = {
    Reason.LAUNCHED_BEFORE_TRACE: "launched before the recording started",
    Reason.NO_CORRELATION: "without an id to join them by",
    Reason.LAUNCH_NOT_RECORDED: "whose launch wasn't recorded",
    Reason.AMBIGUOUS: "whose id several calls have",
}


def notices(analysis: Analysis) -> tuple[str, ...]:
    """Return the notices of a trace: how it was read, linked and measured."""
    return (
        *_reading(analysis),
        *analysis.links.notices,
        *_unlinked(analysis),
        *_suspect(analysis),
    )


def _reading(analysis: Analysis) -> tuple[str, ...]:
    log = analysis.trace.log
    out = []
    if not log.in_file:
        out.append("The trace is empty: the file holds no events.")
    if Repair.TRUNCATED in log.repaired or Repair.DAMAGED_CONTAINER in log.repaired:
        out.append(f"The file is truncated: {plural(log.kept, 'whole event')} kept; what came after is missing from every figure.")
    if log.dropped:
        parts = ", ".join(f"{n} {reason.value.replace('_', ' ')}" for reason, n in log.dropped.items())
        out.append(f"{plural(sum(log.dropped.values()), 'event')} of {log.in_file:,} couldn't be read: {parts}.")
    mended = {reason: n for reason, n in log.repaired.items() if reason not in {Repair.TRUNCATED, Repair.UNCLOSED, Repair.TRAILING_COMMA}}
    if mended:
        parts = ", ".join(f"{reason.value.replace('_', ' ')} {n}×" for reason, n in mended.items())
        out.append(f"Mended while reading: {parts}.")
    if (log.dropped or mended) and log.places:
        place = log.places[0]
        out.append(f"First at byte {place.offset_bytes:,}: {place.excerpt}")
    return tuple(out)


def _unlinked(analysis: Analysis) -> tuple[str, ...]:
    links, work = analysis.links, analysis.work
    out = []
    for reason, words in _REASONS.items():
        mine = links.reason == reason
        if mine.any():
            time = ns_text(float(work.dur_ns[mine].sum()))
            out.append(f"{plural(int(mine.sum()), 'GPU event')} of {len(work):,} ({time}) {words}: charged to no op and no step.")
    return tuple(out)


def _suspect(analysis: Analysis) -> tuple[str, ...]:
    work = analysis.work
    if not work.suspect.any():
        return ()
    recorded = analysis.trace.slices.dur_ns[work.rows[work.suspect]]
    kept = work.dur_ns[work.suspect]
    worst = int(np.argmax(recorded))
    name = analysis.trace.name(int(work.rows[work.suspect][worst]))[:60]
    return (
        f"{plural(int(work.suspect.sum()), 'GPU event')} with a duration that can't be true (covering later events of the same stream), {name} first of all: "
        f"{ns_text(float(kept.sum()))} of the recorded {ns_text(float(recorded.sum()))} are credible and counted.",
    )
