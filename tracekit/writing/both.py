"""Writes two traces into one file for a viewer: aligned, kept apart, their matches joined and their differences marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec
import numpy as np

from tracekit.analysis import Analysis
from tracekit.attention import Region
from tracekit.diff.marks import DiffMark, difference_marks
from tracekit.diff.sides import SideData, labels, side
from tracekit.findings import find
from tracekit.reading.numbers import ns_of_text
from tracekit.units import decimal_us
from tracekit.writing.annotate import Annotated, Annotation, annotation, shortened
from tracekit.writing.focus import MARGIN, Focus
from tracekit.writing.gains import safe
from tracekit.writing.raw import RawTrace, packed, parts, with_args, with_field, with_members
from tracekit.writing.tracks import Mark, Tracks

LEAD_NS = 1_000_000
"""Time before the earlier of both traces: a viewer takes no negative time."""

FIRST_JOIN = 1 << 50
"""Ids of the flows between the traces."""

_PIDS = (100_000, 200_000)
_DIFFERENCES = 300_000
_FLOWS = (0, 1 << 48)
"""What is added to pids and to ids of flows, so that the traces' own never meet."""

_LABEL = 40


@dataclass(frozen=True)
class _Moved:
    """How one trace's events are changed: later by some ns, with other process and flow ids, and names that say whose they are."""

    shift_ns: int
    pids: dict[int | str | float, int]
    first_pid: int
    flows: int
    label: str

    def event(self, event: bytes) -> bytes:
        """Return an event in its new place; its args and all else stay."""
        known = parts(event)
        if known is None:
            return event
        pid = self.pids.setdefault(known.pid, self.first_pid + len(self.pids))
        out = with_field(event, "pid", pid) if b'"pid"' in event else with_members(event, {"pid": pid})
        begun = ns_of_text(bytes(known.ts).strip(b'"')) if bytes(known.ts) else None
        if begun is not None:
            out = with_field(out, "ts", msgspec.Raw(decimal_us(max(begun + self.shift_ns, 0)).encode()))
        for key, value in (("id", bytes(known.id)), ("bind_id", bytes(known.bind_id))):
            if value and self.flows:
                out = with_field(out, key, self._flow(value))
        return self._named(out) if known.ph == "M" and known.name == "process_name" else out

    def names(self, start_ns: int) -> list[bytes]:
        """Return names of the processes whose number was a word (``Spans``): now that it is a number, nothing else says what they are."""
        ts = msgspec.Raw(decimal_us(max(start_ns + self.shift_ns, 0)).encode())
        return [
            msgspec.json.encode({
                "ph": "M",
                "name": "process_name",
                "pid": pid,
                "tid": 0,
                "ts": ts,
                "args": {"name": f"{self.label}: {safe(old)[:_LABEL]}"},
            })
            for old, pid in self.pids.items()
            if isinstance(old, str)
        ]

    def _flow(self, text: bytes) -> object:
        value = msgspec.json.decode(text)
        if isinstance(value, str):
            try:
                return hex(int(value, 0) + self.flows)
            except ValueError:
                return value
        return value + self.flows if isinstance(value, int) else value

    def _named(self, event: bytes) -> bytes:
        args = msgspec.json.decode(bytes(known.args)) if (known := parts(event)) is not None and bytes(known.args) else {}
        name = args.get("name") if isinstance(args, dict) else None
        return with_args(event, {"name": f"{self.label}: {name}"}) if isinstance(name, str) and not name.startswith(self.label) else event


def annotate_both(a: Analysis, b: Analysis) -> Annotated:
    """Return both traces, annotated, in one file.

    Each has processes of its own, named by its label; both are moved so that the first compared step of each begins at the same time. A process at the top
    marks the differences in that step, side by side; attention calls that are each other's are joined by flows.

    Raises:
        InputError: One of them came from standard input, or can't be read any more.
    """
    names = [safe(name)[-_LABEL:] for name in labels([a.trace.path, b.trace.path])]
    sides = [side(one, name) for one, name in zip((a, b), names, strict=True)]
    starts = [_start(one) for one in sides]
    aligned = LEAD_NS + max(start - one.trace.span_ns[0] for start, one in zip(starts, (a, b), strict=True))
    shifts = [aligned - start for start in starts]
    found = [annotation(one.analysis, find(one.analysis), label=one.label) for one in sides]
    _join(sides, shifts, found)
    texts: list[bytes] = []
    for one, each, shift, pid, flow in zip(sides, found, shifts, _PIDS, _FLOWS, strict=True):
        moved = _Moved(shift, {}, pid, flow, one.label)
        texts += [moved.event(event) for event in (*each.events, *each.ours) if event]
        texts += moved.names(one.analysis.trace.span_ns[0])
    differences = list(_differences(sides, shifts))
    texts += differences
    members = {"displayTimeUnit": b'"ms"', "tracekit": msgspec.json.encode(_about(sides, shifts))}
    clipped = sum(one.clipped for one in found)
    return Annotated(
        packed(RawTrace([], members), texts, gzip=True),
        sum(bool(event) for one in found for event in one.events),
        sum(len(one.ours) for one in found) + len(differences),
        clipped,
        (shortened(clipped),) if clipped else (),
        _focus(sides, shifts),
    )


def _start(one: SideData) -> int:
    windows = one.analysis.windows
    return int(windows.start_ns[one.steps[0]]) if len(one.steps) else one.analysis.trace.span_ns[0]


def _focus(sides: list[SideData], shifts: list[int]) -> Focus | None:
    """Return the first compared step of both, one above the other."""
    spans = [(*one.analysis.trace.span_ns, shift) for one, shift in zip(sides, shifts, strict=True)]
    first, last = min(low + shift for low, _, shift in spans), max(high + shift for _, high, shift in spans)
    steps = [(one.analysis.windows, int(one.steps[0]), shift) for one, shift in zip(sides, shifts, strict=True) if len(one.steps)]
    if len(steps) < len(sides):
        return Focus(first, last)
    start = min(int(windows.start_ns[k]) + shift for windows, k, shift in steps)
    end = max(int(windows.end_ns[k]) + shift for windows, k, shift in steps)
    margin = int(MARGIN * (end - start))
    return Focus(start - margin, end + margin).within(first, last)


def _about(sides: Iterable[SideData], shifts: Iterable[int]) -> list[dict[str, object]]:
    return [
        {"label": one.label, "moved_us": msgspec.Raw(decimal_us(shift).encode()), "steps": len(one.steps)}
        for one, shift in zip(sides, shifts, strict=True)
    ]


def _join(sides: list[SideData], shifts: list[int], found: list[Annotation]) -> None:
    """Join attention calls that are each other's in the first compared step, those of one direction in order of launch where both have as many."""
    calls = [_calls(one) for one in sides]
    number = FIRST_JOIN
    for direction in sorted(calls[0].keys() & calls[1].keys()):
        if len(calls[0][direction]) != len(calls[1][direction]):
            continue
        for pair in zip(calls[0][direction], calls[1][direction], strict=True):
            rows = [_free(region, one, each) for region, one, each in zip(pair, sides, found, strict=True)]
            if None in rows:
                continue
            # A flow can't go back in time; of slices that begin together a viewer reads the longer one first.
            begun = [
                (int(slices.ts_ns[row]) + shift, -int(slices.dur_ns[row]))
                for slices, row, shift in zip((one.analysis.trace.slices for one in sides), rows, shifts, strict=True)
            ]
            first = int(begun[1] < begun[0])
            for which, (one, each, row) in enumerate(zip(sides, found, rows, strict=True)):
                at = int(one.analysis.trace.slices.index[row])
                way = "flow_out" if which == first else "flow_in"
                # Ids of flows are moved with the event; this one must arrive as the same on both sides.
                each.events[at] = with_members(each.events[at], {"bind_id": hex(number - _FLOWS[which]), way: True})
            number += 1


def _calls(one: SideData) -> dict[str, list[Region]]:
    step = one.analysis.links.steps.names[int(one.steps[0])] if len(one.steps) else None
    out: dict[str, list[Region]] = {}
    for region in one.regions:
        if region.step == step and region.gpu_rows:
            out.setdefault(region.direction.value, []).append(region)
    return out


def _free(region: Region, one: SideData, each: Annotation) -> int | None:
    """Return the first GPU event of a call that has no flow of ours yet: a slice has one at most."""
    index = one.analysis.trace.slices.index
    return next((row for row in sorted(region.gpu_rows) if b'"bind_id"' not in each.events[int(index[row])]), None)


def _differences(sides: list[SideData], shifts: list[int]) -> Iterator[bytes]:
    tracks = Tracks(_DIFFERENCES, 0, title="differences")
    yield from tracks.header()
    for one, shift, marks in zip(sides, shifts, difference_marks(*sides), strict=True):
        yield from tracks.track(f"differences in {one.label}", "tracekit.difference", [_mark(mark, shift) for mark in marks])
    for one, shift in zip(sides, shifts, strict=True):
        windows, names = one.analysis.windows, one.analysis.links.steps.names
        steps = [
            Mark(int(windows.start_ns[i]) + shift, int(windows.end_ns[i]) + shift, safe(f"{one.label} {names[i]}"), {})
            for i in np.sort(one.steps).tolist()
        ]
        yield from tracks.track(f"steps of {one.label}", "tracekit.step", steps)


def _mark(mark: DiffMark, shift_ns: int) -> Mark:
    args = {key: safe(value)[:200] if isinstance(value, str) else value for key, value in mark.args.items() if value != ""}
    return Mark(mark.start_ns + shift_ns, mark.end_ns + shift_ns, safe(mark.name)[:200], args)


__all__ = ["annotate_both"]
