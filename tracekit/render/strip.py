"""Draws a timeline with characters: one cell is what fills most of its stretch of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import wrap

from tracekit.render.document import Bar, Strip
from tracekit.render.layout import text_width
from tracekit.render.text import shown

IDLE = "idle"
"""The kind of a bar in which nothing runs: drawn as dots."""

_GLYPHS = "█▓▒░▚▞▤▥"
_OTHERS = "#"  # for kinds beyond the glyphs
_SOME = "▁"  # for a cell that is filled by less than half
_LEAST = 0.02  # of a cell: below this, nothing shows in it


def drawn(strip: Strip, space: int) -> Iterator[tuple[str, str]]:
    """Yield the label of each lane and its line of ``space`` characters."""
    lanes = _lanes(strip, space)
    glyphs = _glyphs(lanes)
    for (label, _), cells in zip(strip.lanes, lanes, strict=True):
        yield label, "".join(glyphs[kind] if kind else " " for kind in cells)


def legend(strip: Strip, space: int) -> list[str]:
    """Return which character stands for which kind, for those that are drawn."""
    by_glyph: dict[str, list[str]] = {}
    for kind, glyph in _glyphs(_lanes(strip, space)).items():
        by_glyph.setdefault(glyph, []).append("less than half busy" if kind == _SOME else shown(kind))
    return [f"{glyph} {', '.join(kinds)}" for glyph, kinds in by_glyph.items()]


def packed(entries: Sequence[str], space: int) -> list[str]:
    """Return entries as lines of at most ``space`` characters; an entry is broken only if it alone is longer."""
    lines: list[str] = []
    for entry in entries:
        if lines and text_width(lines[-1]) + 3 + text_width(entry) <= space:
            lines[-1] += "   " + entry
        else:
            lines += wrap(entry, max(space, 20), subsequent_indent="  ") or [""]
    return lines


def _lanes(strip: Strip, space: int) -> list[list[str]]:
    return [_cells(bars, strip, space) for _, bars in strip.lanes]


def _glyphs(lanes: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return a character for each kind that has a cell: the more cells, the earlier in the row of glyphs."""
    cells = Counter(kind for lane in lanes for kind in lane if kind)
    busy = [kind for kind, _ in cells.most_common() if kind not in {IDLE, _SOME}]
    glyphs = {kind: _GLYPHS[i] if i < len(_GLYPHS) else _OTHERS for i, kind in enumerate(busy)}
    return glyphs | ({_SOME: _SOME} if _SOME in cells else {}) | ({IDLE: "·"} if IDLE in cells else {})


def _cells(bars: Sequence[Bar], strip: Strip, space: int) -> list[str]:
    """Return the kind of each character: what covers most of its stretch of time; "" where nothing does, or little of an idle time."""
    covered: list[dict[str, float]] = [{} for _ in range(space)]
    per_cell = max(strip.end_ns - strip.start_ns, 1) / space
    for bar in bars:
        low, high = (
            (max(bar.start_ns, strip.start_ns) - strip.start_ns) / per_cell,
            (min(bar.start_ns + bar.length_ns, strip.end_ns) - strip.start_ns) / per_cell,
        )
        for cell in range(int(low), min(int(high) + 1, space)):
            overlap = min(high, cell + 1) - max(low, cell)
            if overlap > 0:
                covered[cell][bar.kind] = covered[cell].get(bar.kind, 0.0) + overlap
    return [_cell(kinds) for kinds in covered]


def _cell(kinds: dict[str, float]) -> str:
    """Return what one character shows, by the share of it that each kind covers."""
    if not kinds:
        return ""
    filled = sum(kinds.values())
    if filled >= 0.5:
        return max(kinds, key=lambda kind: kinds[kind])
    return _SOME if filled >= _LEAST and IDLE not in kinds else ""
