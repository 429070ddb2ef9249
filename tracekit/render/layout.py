"""Fits a table to a width: which columns stay, how wide each is, how long names are shortened.

Works on characters, for formats that have them; knows no colour and no terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tracekit.render.document import Cell, Column, Fit, Table
from tracekit.render.text import shown

T = TypeVar("T")

GAP = 2
"""Blank characters between two columns."""

INDENT = 2
"""Blank characters by which a level of a tree is set off."""

_BAR = 10
_BAR_WIDE = 20
_WIDE = 120  # characters from which a bar may be long
_NARROWEST = 8  # to which a column that shrinks may go when no other may leave
_NUMBER = re.compile(r"[+-]?[\d,]+(\.\d+)?\*?")
_EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True)
class Fitted:
    """A table as it fits.

    Attributes:
        columns: The columns that stay.
        widths: Characters of each.
        titles: Lines of each column's title, without the unit.
        rows: Text and cell of each field; no text is wider than its column, save a number wider than the whole page.
        left_out: Titles of the columns that had to leave.
    """

    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    titles: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[tuple[str, Cell], ...], ...]
    left_out: tuple[str, ...]

    @property
    def width(self) -> int:
        """Characters of a line."""
        return _line(self.widths)

    def along(self, fields: Sequence[T]) -> Iterator[tuple[Column, int, T]]:
        """Yield column, width and field, left to right."""
        return zip(self.columns, self.widths, fields, strict=True)


def text_width(text: str) -> int:
    """Return how many characters of a terminal ``text`` takes: two for a wide one (CJK), none for one that combines."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fit(table: Table, width: int) -> Fitted:
    """Fit ``table`` into ``width`` characters.

    Columns that may leave do so first, the lowest priority first; then columns that shrink share what is left. Numbers are never cut: where even that
    isn't enough, the lines are longer than the page.
    """
    texts, natural, keep = _candidate(table, width, points=True)
    if len(keep) < len(table.columns) and len((plain := _candidate(table, width, points=False))[2]) > len(keep):
        # Rather ragged points than a column less.
        texts, natural, keep = plain
    columns = tuple(table.columns[i] for i in keep)
    widths = _with_titles(columns, _shares(columns, [natural[i] for i in keep], width), width)
    fields = [
        _field_texts(column, [row[i] for row in table.rows], texts[i], space)
        for i, column, space in zip(keep, columns, widths, strict=True)
    ]
    rows = tuple(tuple((column[r], row[i]) for column, i in zip(fields, keep, strict=True)) for r, row in enumerate(table.rows))
    titles = tuple(_wrapped(shown(column.title), space) for column, space in zip(columns, widths, strict=True))
    gone = tuple(column.title for i, column in enumerate(table.columns) if i not in keep and column.title)
    return Fitted(columns, tuple(widths), titles, rows, gone)


def bar_text(share: float, space: int) -> str:
    """Return a bar of whole blocks and one of eighths; anything above nothing shows."""
    eighths = max(round(min(share, 1.0) * space * 8), 1 if share > 0 else 0)
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[rest] if rest else "")


def _candidate(table: Table, width: int, *, points: bool) -> tuple[list[list[str]], list[int], list[int]]:
    """Return the texts of each column, the width that each would like, and the columns that stay."""
    cells = [[row[i] for row in table.rows] for i in range(len(table.columns))]
    texts = [_texts(column, cells[i], points=points) for i, column in enumerate(table.columns)]
    natural = [_natural(column, cells[i], texts[i], width) for i, column in enumerate(table.columns)]
    return texts, natural, _staying(table.columns, natural, width)


def _texts(column: Column, cells: Sequence[Cell], *, points: bool) -> list[str]:
    """Return the text of each field; with ``points``, numbers of a column have their points below each other."""
    texts = [shown(cell.text) for cell in cells]
    if not points or not column.right or not all(_NUMBER.fullmatch(text) for text in texts if text):
        return texts
    tails = [len(text) - text.index(".") if "." in text else int(text.endswith("*")) for text in texts]
    most = max((tail for tail, text in zip(tails, texts, strict=True) if text), default=0)
    return [text + " " * (most - tail) if text else "" for text, tail in zip(texts, tails, strict=True)]


def _natural(column: Column, cells: Sequence[Cell], texts: Sequence[str], width: int) -> int:
    """Return the width that a column would like: that of its widest field, its unit, or the longest word of its title."""
    if column.bar:
        return _BAR_WIDE if width >= _WIDE else _BAR
    words = [*shown(column.title).split(), shown(column.unit)]
    return max((*(text_width(text) + cell.indent * INDENT for text, cell in zip(texts, cells, strict=True)), *map(text_width, words)))


def _least(column: Column, natural: int) -> int:
    return min(natural, column.least) if column.fit is Fit.SHRINK else natural


def _staying(columns: Sequence[Column], natural: Sequence[int], width: int) -> list[int]:
    """Return the indices of the columns that stay, in order. Those of equal priority leave together: the A of a pair says nothing without its B."""
    keep = list(range(len(columns)))
    while _line([_least(columns[i], natural[i]) for i in keep]) > width:
        leaving = [i for i in keep if columns[i].fit is Fit.DROP]
        if not leaving:
            break
        lowest = min(columns[i].priority for i in leaving)
        keep = [i for i in keep if i not in leaving or columns[i].priority > lowest]
    return keep


def _line(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * max(len(widths) - 1, 0)


def _shares(columns: Sequence[Column], natural: Sequence[int], width: int) -> list[int]:
    """Return the width of each column: natural, but columns that shrink give up what is too much, the widest first."""
    widths = list(natural)
    for floor in ([_least(c, n) for c, n in zip(columns, natural, strict=True)], [min(n, _NARROWEST) for n in natural]):
        shrinking = [i for i, column in enumerate(columns) if column.fit is Fit.SHRINK]
        while (excess := _line(widths) - width) > 0:
            able = [i for i in shrinking if widths[i] > floor[i]]
            if not able:
                break
            widest = max(able, key=lambda i: widths[i])
            # Down to the next widest, so that columns of equal need end up equally wide.
            others = [widths[i] for i in able if i != widest and widths[i] < widths[widest]]
            target = max([floor[widest], widths[widest] - excess, *others])
            widths[widest] = target if target < widths[widest] else widths[widest] - 1
    return widths


def _with_titles(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[int]:
    """Return the widths, widened where there is room for a title on one line: those that need least first."""
    wider = list(widths)
    needs = [text_width(shown(column.title)) - space for column, space in zip(columns, widths, strict=True)]
    for i in sorted(range(len(columns)), key=lambda i: needs[i]):
        if needs[i] > 0 and _line(wider) + needs[i] <= width:
            wider[i] += needs[i]
    return wider


def _field_texts(column: Column, cells: Sequence[Cell], texts: Sequence[str], space: int) -> list[str]:
    """Return the text of each field of a column, indented and no wider than ``space`` if the column shrinks."""
    indents = [cell.indent * INDENT for cell in cells]
    if column.fit is Fit.SHRINK:
        short = {
            indent: _shortened(column, [t for t, i in zip(texts, indents, strict=True) if i == indent], space - indent)
            for indent in set(indents)
        }
        texts = [short[indent][text] for text, indent in zip(texts, indents, strict=True)]
    return [" " * indent + text for text, indent in zip(texts, indents, strict=True)]


def _shortened(column: Column, texts: Sequence[str], space: int) -> dict[str, str]:
    distinct = list(dict.fromkeys(texts))
    if all(text_width(text) <= space for text in distinct):
        return {text: text for text in distinct}
    short = column.shorten(distinct, max(space, 1))
    return {text: _cropped(short[text], max(space, 1)) for text in distinct}


def _cropped(text: str, space: int) -> str:
    """Return ``text`` cut to ``space``: what shortens counts characters, and some characters are two wide."""
    if text_width(text) <= space:
        return text
    from rich.cells import set_cell_size

    return set_cell_size(text, space - 1).rstrip() + "…"


def _wrapped(title: str, space: int) -> tuple[str, ...]:
    lines: list[str] = []
    for word in title.split():
        if lines and text_width(lines[-1]) + 1 + text_width(word) <= space:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return tuple(lines)
