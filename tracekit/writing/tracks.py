"""Tracks of our own: asynchronous slices in a process of their own, one lane for each that overlaps, and counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from tracekit.units import decimal_us


@dataclass(frozen=True)
class Mark:
    """A slice of our own; ``links`` are ids of flows that arrive at it."""

    start_ns: int
    end_ns: int
    name: str
    args: dict[str, object] = field(default_factory=dict)
    link: int = 0


@dataclass
class Tracks:
    """Writes marks into one process.

    Attributes:
        pid: Its number, which no other process has.
        start_ns: Where the trace begins: lanes are named there.
        label: Stands before the process's name and the names of its tracks, where there are several of its kind.
        title: The process's name.
    """

    pid: int
    start_ns: int
    label: str = ""
    title: str = "tracekit"
    _lanes: int = 0

    def header(self) -> Iterator[bytes]:
        """Yield the process's name and place."""
        common = {"pid": self.pid, "tid": self.pid, "ts": msgspec.Raw(decimal_us(self.start_ns).encode())}
        yield msgspec.json.encode({"ph": "M", "name": "process_name", **common, "args": {"name": self._prefix + self.title}})
        yield msgspec.json.encode({"ph": "M", "name": "process_sort_index", **common, "args": {"sort_index": -100}})

    @property
    def _prefix(self) -> str:
        return f"{self.label}: " if self.label else ""

    def track(self, label: str, category: str, marks: Iterable[Mark]) -> Iterator[bytes]:
        """Yield the events of a track; marks that overlap get lanes, numbered from the second on."""
        lanes: list[list[Mark]] = []
        for mark in sorted(marks, key=lambda one: (one.start_ns, -one.end_ns)):
            free = next((lane for lane in lanes if lane[-1].end_ns <= mark.start_ns), None)
            if free is None:
                lanes.append([mark])
            else:
                free.append(mark)
        for number, lane in enumerate(lanes, 1):
            self._lanes += 1
            cookie = hex(self._lanes)
            # Two tracks of one name become a group, which can't be pinned.
            name = self._prefix + (label if number == 1 else f"{label} {number}")
            # A track is named after its first slice, so that one, of no length, has the track's own name.
            yield self._event("b", self.start_ns, name, category, cookie)
            yield self._event("e", self.start_ns, name, category, cookie)
            for mark in lane:
                extra: dict[str, object] = {"args": mark.args} if mark.args else {}
                if mark.link:
                    extra |= {"bind_id": hex(mark.link), "flow_in": True}
                yield self._event("b", mark.start_ns, mark.name, category, cookie, **extra)
                yield self._event("e", max(mark.end_ns, mark.start_ns + 1), mark.name, category, cookie)

    def _event(self, phase: str, ts_ns: int, name: str, category: str, cookie: str, **extra: object) -> bytes:
        ts = msgspec.Raw(decimal_us(ts_ns).encode())
        event = {"ph": phase, "cat": category, "name": name, "pid": self.pid, "tid": self.pid, "ts": ts, "id2": {"local": cookie}, **extra}
        return msgspec.json.encode(event)

    def counter(self, name: str, unit: str, points: Iterable[tuple[int, float]]) -> Iterator[bytes]:
        """Yield a counter; a value holds until the next point."""
        for ts_ns, value in points:
            ts = msgspec.Raw(decimal_us(ts_ns).encode())
            yield msgspec.json.encode({
                "ph": "C",
                "name": self._prefix + name,
                "pid": self.pid,
                "tid": self.pid,
                "ts": ts,
                "args": {unit: round(value, 3)},
            })
