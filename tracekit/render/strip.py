"""Draws a timeline with characters: one cell is what fills most of its stretch of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracekit.render.document import Bar, Strip
from tracekit.render.text import shown

IDLE = "idle"
"""The kind of a bar in which nothing runs: drawn as dots."""

_GLYPHS = "█▓▒░▚▞▤▥"
_OTHERS = "#"  # for kinds beyond the glyphs


def drawn(strip: Strip, space: int) -> Iterator[tuple[str, str]]:
    """Yield the label of each lane and its line of ``space`` characters."""
    glyphs = _glyphs(strip)
    for label, bars in strip.lanes:
        yield label, "".join(glyphs[kind] if kind else " " for kind in _cells(bars, strip, space))


def legend(strip: Strip) -> str:
    """Return which character stands for which kind."""
    by_glyph: dict[str, list[str]] = {}
    for kind, glyph in _glyphs(strip).items():
        by_glyph.setdefault(glyph, []).append(shown(kind))
    return "   ".join(f"{glyph} {', '.join(kinds)}" for glyph, kinds in by_glyph.items())


def _glyphs(strip: Strip) -> dict[str, str]:
    """Return a character for each kind, by order of first appearance."""
    kinds = dict.fromkeys(bar.kind for _, bars in strip.lanes for bar in bars)
    busy = [kind for kind in kinds if kind != IDLE]
    glyphs = {kind: _GLYPHS[i] if i < len(_GLYPHS) else _OTHERS for i, kind in enumerate(busy)}
    return {**glyphs, IDLE: "·"} if IDLE in kinds else glyphs


def _cells(bars: Sequence[Bar], strip: Strip, space: int) -> list[str]:
    """Return the kind of each character: what covers most of its stretch of time, "" where that is nothing."""
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
    return [max({"": 1.0 - sum(kinds.values()), **kinds}.items(), key=lambda item: item[1])[0] for kinds in covered]
