"""Attention by the names of its ops: fused ones, and torch's own math."""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass, field
from importlib.resources import files

import numpy as np

from tracekit.linking import Links, depths
from tracekit.trace import ABSENT, I64, Category, Trace

WRAPPER = "wrapper"


@dataclass(frozen=True)
class OpRow:
    """A row of the table."""

    pattern: re.Pattern[str]
    backend: str
    backward: bool


@functools.cache
def _table() -> tuple[OpRow, ...]:
    document = tomllib.loads(files("tracekit.attention").joinpath("backends.toml").read_text(encoding="utf-8"))
    return tuple(OpRow(re.compile(row["op"]), row["backend"], bool(row.get("backward"))) for row in document["row"])


@functools.lru_cache(maxsize=4096)
def attention_op(name: str) -> OpRow | None:
    """Return the row of the table that an op's name matches, or None."""
    if len(name) > 300:
        return None
    return next((row for row in _table() if row.pattern.fullmatch(name)), None)


@dataclass
class Draft:
    """A region in the making.

    Attributes:
        rows: Rows of its outermost ops, in order.
        backend: Backend.
        backward: Whether it belongs to the backward pass.
        mains: Rows of the ops that may know its inputs, outermost first.
        gpu: Indices into ``Links.gpu``.
        stage: Stage of each of these.
        notes: What is worth saying.
        confidence: 0 to 1.
        qk, softmax, pv: Rows of the parts of a hand-written one, or -1.
    """

    rows: list[int]
    backend: str
    backward: bool
    mains: list[int] = field(default_factory=list)
    gpu: list[int] = field(default_factory=list)
    stage: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    confidence: float = 1.0
    qk: int = ABSENT
    softmax: int = ABSENT
    pv: int = ABSENT


def by_ops(trace: Trace, links: Links) -> list[Draft]:
    """Return the regions whose ops say that they are attention, one for each outermost such op."""
    slices = trace.slices
    known = {int(i): row for i in np.unique(slices.name[slices.category == Category.CPU_OP]) if (row := attention_op(trace.strings[i]))}
    if not known:
        return []
    rows = np.flatnonzero((slices.category == Category.CPU_OP) & np.isin(slices.name, list(known)))
    matched = np.zeros(len(slices), dtype=bool)
    matched[rows] = True
    drafts: dict[int, Draft] = {}
    for at in rows.tolist():
        root, up = at, int(links.parent[at])
        while up >= 0:
            if matched[up]:
                root = up
            up = int(links.parent[up])
        what = known[int(slices.name[at])]
        draft = drafts.setdefault(root, Draft([root], WRAPPER, what.backward))
        draft.backward = draft.backward or what.backward
        draft.mains.append(at)
        if what.backend != WRAPPER and draft.backend == WRAPPER:
            # The outermost op that names a backend decides.
            draft.backend = what.backend
    return [_settled(draft) for draft in drafts.values()]


def _settled(draft: Draft) -> Draft:
    if draft.backend == WRAPPER:
        draft.backend, draft.confidence = "other", 0.7
        draft.notes.append("which backend ran isn't recorded")
    return draft


def region_of_rows(links: Links, roots: dict[int, int], count: int) -> I64:
    """Return the region of each slice by the roots above it (int64[n], -1 without).

    Args:
        links: The forest.
        roots: Region of each root row.
        count: Number of slices.
    """
    out = np.full(count, ABSENT, dtype=np.int64)
    if not roots:
        return out
    out[list(roots)] = list(roots.values())
    depth = depths(links.parent)
    low = int(depth[list(roots)].min())
    for level in range(low + 1, int(depth.max(initial=0)) + 1):
        rows = np.flatnonzero((depth == level) & (out < 0))
        out[rows] = out[links.parent[rows]]
    return out
