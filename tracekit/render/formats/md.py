"""Markdown (GitHub's dialect), for an issue or a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from tracekit.render.document import Block, Cell, Column, Document, Facts, Fit, Heading, Notice, Strip, Table, Text, Tone
from tracekit.render.formats import Page
from tracekit.render.layout import bar_text, text_width
from tracekit.render.strip import drawn, legend, packed
from tracekit.render.text import shown

TAKES = "document"
SUFFIXES = (".md", ".markdown")

_NAME_WIDTH = 72  # characters of a name in a table
_STRIP_WIDTH = 80
_BAR = 10
_SPECIAL = re.compile(r"([\\`*_{}\[\]|#~$])")
_AT_START = re.compile(r"^(\s*)([-+>]|\d+[.)])")


def write(document: Document, stream: TextIO, page: Page) -> None:
    """Write a document; every text is escaped, so that a name is never markup.

    Args:
        document: The document.
        stream: Where to write.
        page: Not used: a reader of Markdown wraps for itself.
    """
    first = True
    for block in document.blocks:
        lines = list(_block(block))
        if not first:
            stream.write("\n")
        first = False
        stream.writelines(line + "\n" for line in lines)


def escaped(text: str) -> str:
    """Return ``text`` as Markdown that shows just these characters."""
    html = shown(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", html)


def _paragraph(text: str) -> str:
    """Return a text that starts a line, where a few more characters would be markup."""
    return _AT_START.sub(lambda m: f"{m[1]}\\{m[2]}" if not m[2][0].isdigit() else f"{m[1]}{m[2][:-1]}\\{m[2][-1]}", escaped(text))


def _block(block: Block) -> Iterator[str]:
    match block:
        case Heading(text=text, level=level):
            yield f"{'#' * level} {escaped(text)}"
        case Text(text=text, tone=tone):
            yield f"**{escaped(text)}**" if tone is Tone.STRONG else _paragraph(text)
        case Facts(items=items):
            yield from (f"- {escaped(label)}: {escaped(value)}" for label, value in items)
        case Table():
            yield from _table(block)
        case Strip():
            yield from _strip(block)
        case Notice(text=text):
            yield f"> note: {escaped(text)}"


def _table(table: Table) -> Iterator[str]:
    if table.rows:
        titles = (f"{escaped(c.title)} ({escaped(c.unit)})" if c.unit else escaped(c.title) for c in table.columns)
        yield "| " + " | ".join(titles) + " |"
        yield "|" + "|".join(" --: " if column.right else " --- " for column in table.columns) + "|"
        names = [_names(column, [row[i] for row in table.rows]) for i, column in enumerate(table.columns)]
        for row in table.rows:
            yield "| " + " | ".join(_field(c, cell, short) for c, cell, short in zip(table.columns, row, names, strict=True)) + " |"
    else:
        yield f"*{escaped(table.empty)}*"
    if table.note:
        yield ""
        yield _paragraph(table.note)


def _names(column: Column, cells: list[Cell]) -> dict[str, str]:
    """Return the short form of each text of a column that shrinks."""
    if column.fit is not Fit.SHRINK:
        return {}
    distinct = list(dict.fromkeys(shown(cell.text) for cell in cells))
    return dict(column.shorten(distinct, _NAME_WIDTH)) if any(len(text) > _NAME_WIDTH for text in distinct) else {}


def _field(column: Column, cell: Cell, short: dict[str, str]) -> str:
    if column.bar:
        return bar_text(cell.share, _BAR)
    text = shown(cell.text)
    return "&emsp;" * cell.indent + escaped(short.get(text, text))


def _strip(strip: Strip) -> Iterator[str]:
    """Yield a timeline as preformatted text. Its labels hold no line of their own that could end the fence: control characters are escaped."""
    labels = [shown(label).replace("`", "'")[:_NAME_WIDTH] for label, _ in strip.lanes]
    width = max(map(text_width, labels), default=0)
    yield "```text"
    for label, (_, cells) in zip(labels, drawn(strip, _STRIP_WIDTH), strict=True):
        yield (label + " " * (width - text_width(label)) + "  " + cells).rstrip()
    yield f"{shown(strip.start_text)} … {shown(strip.end_text)}"
    yield from (line.replace("`", "'") for line in packed(legend(strip, _STRIP_WIDTH), _STRIP_WIDTH))
    yield "```"
