"""Text for a terminal, of a chosen width: the format that people see first.

Laid out as spans of text with a tone each; with colour, ``rich`` paints the tones, without, the text alone is written.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

from tracekit.render.document import Block, Document, Facts, Heading, Notice, Strip, Table, Text, Tone
from tracekit.render.formats import Page
from tracekit.render.layout import GAP, Fitted, bar_text, fit, text_width
from tracekit.render.strip import drawn, legend, packed
from tracekit.render.text import shown

TAKES = "document"
SUFFIXES = (".txt",)

Span = tuple[str, Tone]
Line = Sequence[Span]

_STYLES = {Tone.PLAIN: "", Tone.STRONG: "bold", Tone.MUTED: "dim", Tone.GOOD: "green", Tone.BAD: "red"}
_FACT_LABEL = 22  # characters that a label of a fact may take before its text starts on its own line


def write(document: Document, stream: TextIO, page: Page) -> None:
    """Write a document as lines of text of at most ``page.width`` characters, unless numbers alone are wider."""
    lines = _lines(document, page.width)
    if page.colour:
        _paint(lines, stream)
        return
    for line in lines:
        stream.write("".join(text for text, _ in line).rstrip() + "\n")


def _lines(document: Document, width: int) -> Iterator[Line]:
    before: Block | None = None
    for block in document.blocks:
        if before is not None and not _belongs_under(block, before):
            yield ()
        yield from _block(block, width)
        before = block


def _belongs_under(block: Block, before: Block) -> bool:
    """Say whether no blank line stands between two blocks."""
    return isinstance(before, Heading) or (isinstance(block, Notice) and isinstance(before, Notice))


def _block(block: Block, width: int) -> Iterator[Line]:
    match block:
        case Heading(text=text):
            yield from (((line, Tone.STRONG),) for line in _wrap(text, width))
        case Text(text=text, tone=tone):
            yield from (((line, tone),) for line in _wrap(text, width))
        case Facts(items=items):
            yield from _facts(items, width)
        case Table():
            yield from _table(block, width)
        case Strip():
            yield from _strip(block, width)
        case Notice(text=text):
            yield from (((line, Tone.PLAIN),) for line in _wrap(f"note: {text}", width, hang=6))


def _wrap(text: str, width: int, hang: int = 0) -> list[str]:
    """Return ``text`` as lines. Not even one long word makes a line longer."""
    return textwrap.wrap(shown(text), max(width, 20), subsequent_indent=" " * hang) or [""]


def _facts(items: Sequence[tuple[str, str]], width: int) -> Iterator[Line]:
    label_width = min(max((text_width(shown(label)) for label, _ in items), default=0), _FACT_LABEL)
    for label, text in items:
        lines = _wrap(text, width - label_width - GAP)
        yield (_padded(shown(label), label_width) + " " * GAP, Tone.MUTED), (lines[0], Tone.PLAIN)
        for line in lines[1:]:
            yield ((" " * (label_width + GAP) + line, Tone.PLAIN),)


def _table(table: Table, width: int) -> Iterator[Line]:
    if table.rows:
        fitted = fit(table, width)
        yield from _header(fitted)
        for row in fitted.rows:
            yield _row(
                fitted,
                [(bar_text(cell.share, space) if column.bar else text, cell.tone) for column, space, (text, cell) in fitted.along(row)],
            )
        if fitted.left_out:
            yield from _muted(f"not shown at this width: {', '.join(fitted.left_out)}", width)
    else:
        yield from _muted(table.empty, width)
    if table.note:
        yield from _muted(table.note, width)


def _muted(text: str, width: int) -> Iterator[Line]:
    return (((line, Tone.MUTED),) for line in _wrap(text, width))


def _header(fitted: Fitted) -> Iterator[Line]:
    """Yield the titles, low over the rule, then the units where there are any, then the rule."""
    height = max(len(title) for title in fitted.titles)
    for i in range(height):
        words = [title[i - height + len(title)] if i >= height - len(title) else "" for title in fitted.titles]
        yield _row(fitted, [(word, Tone.STRONG) for word in words])
    if any(column.unit for column in fitted.columns):
        yield _row(fitted, [(shown(column.unit), Tone.MUTED) for column in fitted.columns])
    yield (("─" * fitted.width, Tone.MUTED),)


def _row(fitted: Fitted, spans: Sequence[Span]) -> Line:
    line: list[Span] = []
    for column, space, (text, tone) in fitted.along(spans):
        if line:
            line.append((" " * GAP, Tone.PLAIN))
        line.append((_padded(text, space, right=column.right), tone))
    return line


def _padded(text: str, space: int, *, right: bool = False) -> str:
    blank = " " * max(space - text_width(text), 0)
    return blank + text if right else text + blank


def _strip(strip: Strip, width: int) -> Iterator[Line]:
    label_width = min(max((text_width(shown(label)) for label, _ in strip.lanes), default=0), _FACT_LABEL)
    space = max(width - label_width - GAP, 10)
    blank = " " * (label_width + GAP)
    for label, cells in drawn(strip, space):
        yield (_padded(shown(label)[:label_width], label_width) + " " * GAP, Tone.MUTED), (cells, Tone.PLAIN)
    edges = shown(strip.start_text), shown(strip.end_text)
    yield ((blank + edges[0] + _padded(edges[1], space - text_width(edges[0]), right=True), Tone.MUTED),)
    yield from (((blank + line, Tone.MUTED),) for line in packed(legend(strip, space), space))


def _paint(lines: Iterator[Line], stream: TextIO) -> None:
    from rich.console import Console
    from rich.style import Style

    console = Console(file=stream, force_terminal=True, color_system="standard", legacy_windows=False)
    styles = {tone: Style.parse(name) if name else Style.null() for tone, name in _STYLES.items()}
    for line in lines:
        stream.write(
            "".join(styles[tone].render(text, color_system=console._color_system) if text.strip() else text for text, tone in line).rstrip()
            + "\n"
        )
