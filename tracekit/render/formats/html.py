"""One self-contained HTML page: no network, opens from disk, light and dark, tables that sort when a heading is clicked."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, TextIO

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from tracekit.render.document import Bar, Block, Column, Document, Facts, Heading, Notice, Strip, Table, Text
from tracekit.render.formats import Page
from tracekit.render.text import shown

TAKES = "document"
SUFFIXES = (".html", ".htm")

_PALETTE = ("#3b6fb6", "#d9822b", "#3f9b58", "#b5493a", "#7d5ba6", "#8a6d3b", "#c26e9e", "#6b7580", "#a8a12a", "#2a9da8")
_IDLE = "idle"
_LANE, _GAP, _LABELS, _WIDTH = 22, 6, 150, 1000  # of the picture, in its own units


def write(document: Document, stream: TextIO, page: Page) -> None:
    """Write a document. Every text goes through the template's escape, so that a name is never markup.

    Args:
        document: The document.
        stream: Where to write.
        page: Not used: the page fits any width.
    """
    here = files("tracekit.render.formats")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["shown"] = shown
    template = environment.from_string(here.joinpath("page.html.j2").read_text(encoding="utf-8"))
    style, script = (Markup(here.joinpath(name).read_text(encoding="utf-8")) for name in ("page.css", "page.js"))
    blocks = [
        {"kind": _kind(block), "block": block, "picture": _picture(block) if isinstance(block, Strip) else None}
        for block in document.blocks
    ]
    parts = [(i, block.text) for i, block in enumerate(document.blocks) if isinstance(block, Heading) and block.level == 1]
    title = shown(document.title) or "tracekit"
    stream.write(template.render(title=title, blocks=blocks, parts=parts, style=style, script=script, key=_key))


def _kind(block: Block) -> str:
    kinds: dict[type, str] = {Heading: "heading", Text: "text", Facts: "facts", Table: "table", Strip: "strip", Notice: "notice"}
    return kinds[type(block)]


def _key(column: Column, text: str) -> str:
    """Return what a field is sorted by: its number where the column has numbers, else its text."""
    if not column.right:
        return shown(text.lower()[:200])
    number = "".join(c for c in text if c in "0123456789.-+")
    return number.lstrip("+") or "-1e99"


def _picture(strip: Strip) -> dict[str, Any]:
    """Return the timeline as rectangles of a vector picture."""
    span = max(strip.end_ns - strip.start_ns, 1)
    kinds = list(dict.fromkeys(bar.kind for _, bars in strip.lanes for bar in bars))
    busy = [kind for kind in kinds if kind != _IDLE]
    colours = {kind: _PALETTE[i % len(_PALETTE)] for i, kind in enumerate(busy)} | {_IDLE: "var(--line)"}

    def rectangle(bar: Bar, lane: int) -> dict[str, Any]:
        return {
            "x": round(_LABELS + (bar.start_ns - strip.start_ns) / span * _WIDTH, 2),
            "y": lane * (_LANE + _GAP),
            "width": max(round(bar.length_ns / span * _WIDTH, 2), 0.4),
            "colour": colours[bar.kind],
            "label": bar.label,
        }

    return {
        "lanes": [
            {"label": label, "y": i * (_LANE + _GAP), "bars": [rectangle(bar, i) for bar in bars]}
            for i, (label, bars) in enumerate(strip.lanes)
        ],
        "height": len(strip.lanes) * (_LANE + _GAP) + 22,
        "width": _LABELS + _WIDTH + 4,
        "left": _LABELS,
        "lane": _LANE,
        "legend": [(kind, colours[kind]) for kind in kinds],
    }
