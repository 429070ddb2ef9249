"""Pairs the GPU work of two traces by what it is and where in the program it stands, never by its position in the file."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracekit.analysis.paths import op_stack
from tracekit.diff.sides import SideData
from tracekit.trace import ABSENT

_WRAPPERS = ("autograd::engine::evaluate_function: ", "torch::autograd::")
_TAIL = 3  # ops of a path that a region's name shows


@dataclass
class Bundle:
    """GPU events of one side that stand for one thing.

    Attributes:
        region: Where in the program.
        stage: Stage of an attention region, or None.
        class_: Kernel class.
        op: Innermost op, or "".
        path: Ops around, outer first.
        ns: Sum of their durations over the steps compared.
        count: Their number.
        kernels: Time of each name.
        events: Their indices into ``Work``.
    """

    region: str
    stage: str | None
    class_: str
    op: str
    path: tuple[str, ...]
    ns: int = 0
    count: int = 0
    kernels: dict[str, int] = field(default_factory=dict)
    events: list[int] = field(default_factory=list)

    def add(self, other: Bundle) -> None:
        """Take another's events."""
        self.ns += other.ns
        self.count += other.count
        self.events += other.events
        for name, ns in other.kernels.items():
            self.kernels[name] = self.kernels.get(name, 0) + ns


@dataclass(frozen=True)
class Pair:
    """What of one side is matched with what of the other; one of them may be None."""

    a: Bundle | None
    b: Bundle | None
    confidence: float


def bundles(side: SideData) -> list[Bundle]:
    """Return the GPU work of the steps compared, bundled by attention stage or op path, and class."""
    analysis = side.analysis
    links, work, trace = analysis.links, analysis.work, analysis.trace
    stage_of: dict[int, tuple[str, str]] = {}
    for region in side.regions:
        place = f"attention {region.direction.value}"
        for row, name in zip(region.gpu_rows, region.gpu_stages, strict=True):
            stage_of[row] = place, name
    paths: dict[int, tuple[str, ...]] = {}
    made: dict[Hashable, Bundle] = {}
    for g in np.flatnonzero(side.in_steps).tolist():
        row, op, class_ = int(links.gpu[g]), int(links.op[g]), work.classes[work.class_id[g]]
        if row in stage_of:
            place, stage = stage_of[row]
            key: Hashable = (place, stage, class_)
            bundle = made.get(key) or made.setdefault(key, Bundle(place, stage, class_, "", ()))
        else:
            source = op if op >= 0 else int(links.launch[g])
            if source not in paths:
                paths[source] = _path(side, op, int(links.launch[g]))
            path = paths[source]
            key = (path, class_)
            bundle = made.get(key) or made.setdefault(key, Bundle(_place(path), None, class_, path[-1] if path else "", path))
        ns, name = int(work.dur_ns[g]), trace.name(row)
        bundle.ns += ns
        bundle.count += 1
        bundle.events.append(g)
        bundle.kernels[name] = bundle.kernels.get(name, 0) + ns
    return list(made.values())


def _path(side: SideData, op: int, launch: int) -> tuple[str, ...]:
    trace, links = side.analysis.trace, side.analysis.links
    if op != ABSENT:
        names = op_stack(trace, links, op)
    elif launch != ABSENT:
        names = (*op_stack(trace, links, launch), trace.name(launch))
    else:
        names = ()
    return tuple(_unwrapped(name) for name in names)


def _unwrapped(name: str) -> str:
    for wrapper in _WRAPPERS:
        name = name.removeprefix(wrapper)
    return name


def _place(path: tuple[str, ...]) -> str:
    if not path:
        return "unlinked"
    short = list(dict.fromkeys(path))
    return " > ".join(short if len(short) <= _TAIL else ["…", *short[-_TAIL:]])


def align(a: Iterable[Bundle], b: Iterable[Bundle]) -> list[Pair]:
    """Pair bundles: first those at the same place with the same class, then by ever less.

    What stays alone after the last round is shown as such: it is never forced onto something that it isn't.
    """
    pairs: list[Pair] = []
    left, right = list(a), list(b)
    for key, confidence in _ROUNDS:
        left, right, found = _round(left, right, key, confidence)
        pairs += found
    pairs += [Pair(one, None, 1.0) for one in left] + [Pair(None, one, 1.0) for one in right]
    return pairs


def _base(class_: str) -> str:
    return class_.split(".")[0]


# Each round's key says what must be equal; None takes no part. Attention pairs by direction and stage alone: that is what makes 6 kernels and 1 comparable.
_ROUNDS: tuple[tuple[Callable[[Bundle], Any], float], ...] = (
    (lambda one: (one.region, one.stage, one.class_) if one.stage else (one.path, one.class_), 1.0),
    (lambda one: (one.region, one.stage, _base(one.class_)) if one.stage else (one.path, _base(one.class_)), 0.9),
    (lambda one: (one.region, one.stage) if one.stage else None, 0.9),
    (lambda one: (one.op, one.class_) if one.op and not one.stage else None, 0.7),
    (lambda one: (one.op, _base(one.class_)) if one.op and not one.stage else None, 0.6),
    (lambda one: tuple(one.kernels) if len(one.kernels) == 1 and not one.stage else None, 0.6),
)


def _round(
    left: list[Bundle], right: list[Bundle], key: Callable[[Bundle], Any], confidence: float
) -> tuple[list[Bundle], list[Bundle], list[Pair]]:
    groups: dict[Any, tuple[list[Bundle], list[Bundle]]] = {}
    for side, ones in enumerate((left, right)):
        for one in ones:
            found = key(one)
            if found is not None:
                groups.setdefault(found, ([], []))[side].append(one)
    matched = {name: group for name, group in groups.items() if group[0] and group[1]}
    used = {id(one) for group in matched.values() for ones in group for one in ones}
    pairs = [Pair(_merged(group[0]), _merged(group[1]), confidence) for group in matched.values()]
    return [one for one in left if id(one) not in used], [one for one in right if id(one) not in used], pairs


def _merged(ones: list[Bundle]) -> Bundle:
    first = ones[0]
    out = Bundle(
        first.region, first.stage, first.class_ if len({one.class_ for one in ones}) == 1 else _base(first.class_), first.op, first.path
    )
    for one in ones:
        out.add(one)
    return out
