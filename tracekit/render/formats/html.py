"""One self-contained HTML page: no network, opens from disk, light and dark, tables that sort when a heading is clicked."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, TextIO

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from tracekit.render.document import Bar, Block, Column, Document, Facts, Fit, Heading, Notice, Strip, Table, Text
from tracekit.render.formats import Page
from tracekit.render.text import shown

TAKES = "document"
SUFFIXES = (".html", ".htm")

_PALETTE = ("#3b6fb6", "#c8701a", "#2f8a4b", "#7d5ba6", "#8a6d3b", "#b3578c", "#1f8a93", "#7c7a14", "#5b6f86", "#a0522d")
_HOST = {"op": "#64798c", "runtime call": "#8d7440", "annotation": "#8b8f93"}
_IDLE, _EVIDENCE = "idle", "evidence"
_NAME = 56  # characters of a name in a table; the whole of it shows when pointed at
_GREYS = 6  # shades for causes of idle time
_LANE, _GAP, _LABELS, _WIDTH = 22, 6, 90, 1060  # of the picture, in its own units
_CHARACTER, _LEAST_TEXT = 6.3, 5  # width of one, of the text on a bar; and how many must fit


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
    colours = _colours(document)
    blocks = [
        {
            "kind": _kind(block),
            "block": block,
            "picture": _picture(block, colours) if isinstance(block, Strip) else None,
            "names": _names(block) if isinstance(block, Table) else None,
        }
        for block in document.blocks
    ]
    parts = [(i, block.text) for i, block in enumerate(document.blocks) if isinstance(block, Heading) and block.level == 1]
    title = shown(document.title) or "tracekit"
    stream.write(template.render(title=title, blocks=blocks, parts=parts, style=style, script=script, key=_key))


def _kind(block: Block) -> str:
    kinds: dict[type, str] = {Heading: "heading", Text: "text", Facts: "facts", Table: "table", Strip: "strip", Notice: "notice"}
    return kinds[type(block)]


def _names(table: Table) -> list[Mapping[str, str]]:
    """Return for each column what stands for its texts: kernels' names begin with what all of them share, so that their ends must show."""
    return [
        column.shorten(list(dict.fromkeys(row[at].text for row in table.rows)), _NAME) if column.fit is Fit.SHRINK else {}
        for at, column in enumerate(table.columns)
    ]


def _key(column: Column, text: str) -> str:
    """Return what a field is sorted by: its number where the column has numbers, else its text."""
    if not column.right:
        return shown(text.lower()[:200])
    number = "".join(c for c in text if c in "0123456789.-+")
    return number.lstrip("+") or "-1e99"


def _colours(document: Document) -> dict[str, str]:
    """Return the colour of each kind of bar: the same in every picture of the page."""
    strips = [block for block in document.blocks if isinstance(block, Strip)]
    kinds = list(dict.fromkeys(bar.kind for strip in strips for _, bars in strip.lanes for bar in bars))
    found = {_EVIDENCE: "var(--mark)", _IDLE: "var(--line)", **_HOST}
    busy = [kind for kind in kinds if kind not in found and not kind.startswith(f"{_IDLE}: ")]
    idle = [kind for kind in kinds if kind.startswith(f"{_IDLE}: ")]
    found |= {kind: _PALETTE[i % len(_PALETTE)] for i, kind in enumerate(busy)}
    return found | {kind: f"var(--idle{i % _GREYS})" for i, kind in enumerate(idle)}


def _picture(strip: Strip, colours: dict[str, str]) -> dict[str, Any]:
    """Return the timeline as rectangles of a vector picture."""
    span = max(strip.end_ns - strip.start_ns, 1)
    kinds = list(dict.fromkeys(bar.kind for _, bars in strip.lanes for bar in bars))

    def rectangle(bar: Bar, lane: int) -> dict[str, Any]:
        width = max(round(bar.length_ns / span * _WIDTH, 2), 0.6)
        room = int((width - 6) / _CHARACTER)
        text = shown(bar.text)
        return {
            "x": round(_LABELS + (bar.start_ns - strip.start_ns) / span * _WIDTH, 2),
            "y": lane * (_LANE + _GAP),
            "width": width,
            "colour": colours[bar.kind],
            "idle": bar.kind == _IDLE or bar.kind.startswith(f"{_IDLE}: "),
            "label": bar.label,
            "text": (text if len(text) <= room else text[: room - 1] + "…") if room >= _LEAST_TEXT else "",
        }

    return {
        "lanes": [
            {"label": label, "y": i * (_LANE + _GAP), "bars": [rectangle(bar, i) for bar in bars]}
            for i, (label, bars) in enumerate(strip.lanes)
        ],
        "height": len(strip.lanes) * (_LANE + _GAP) + 18,
        "width": _LABELS + _WIDTH + 4,
        "left": _LABELS,
        "lane": _LANE,
        "legend": [(kind, colours[kind]) for kind in kinds],
    }
