"""The document: what a view says, before a format decides how it looks.

A document is a list of six kinds of block. It knows no result type; the views made every sentence and rounded every number. Formats lay the blocks
out, escape them for their medium, and decide how many columns fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum


class Tone(Enum):
    """What a piece of text means to the reader. A format may colour it; no meaning hangs on the colour alone."""

    PLAIN = "plain"
    STRONG = "strong"
    MUTED = "muted"
    GOOD = "good"  # less time than before, or all is well
    BAD = "bad"  # more time than before, or something is wrong


class Fit(Enum):
    """What a column does when the page is too narrow for all of them."""

    FIXED = "fixed"  # stays, whole: numbers are never cut
    SHRINK = "shrink"  # its text is shortened
    DROP = "drop"  # leaves, the lowest ``priority`` first


Shorten = Callable[[Sequence[str], int], Mapping[str, str]]
"""Maps each of some distinct texts to one of at most so many characters; different texts should stay different."""


def cut_end(texts: Sequence[str], width: int) -> dict[str, str]:
    """Shorten texts by cutting their end: ``aten::scaled_dot_pro…``."""
    return {text: text if len(text) <= width else text[: max(width - 1, 0)] + "…" for text in texts}


def cut_start(texts: Sequence[str], width: int) -> dict[str, str]:
    """Shorten texts by cutting their start, as suits paths: ``…raining/trace.json.gz``."""
    return {text: text if len(text) <= width else "…" + text[len(text) - max(width - 1, 0) :] for text in texts}


@dataclass(frozen=True)
class Cell:
    """One field of a table.

    Attributes:
        text: What stands in it; "" for nothing to say.
        tone: What it means.
        indent: Depth in a tree; a format sets it off by so many levels.
        share: For a column of bars: length of the bar, 0 to 1.
    """

    text: str
    tone: Tone = Tone.PLAIN
    indent: int = 0
    share: float = 0.0


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        title: A word or three; wrapped between words where the column is narrower.
        unit: Of every number in it (``µs``), written once under the title.
        right: Whether it is set flush right, as numbers are.
        fit: What it does on a narrow page.
        priority: Of a column that may leave: the lowest leaves first, those of the same priority together.
        shorten: How the text of a column that shrinks is made shorter.
        least: Characters below which a column that shrinks doesn't go, unless nothing else helps.
        bar: Whether the cells are bars, drawn from ``Cell.share``.
    """

    title: str
    unit: str = ""
    right: bool = False
    fit: Fit = Fit.FIXED
    priority: int = 0
    shorten: Shorten = cut_end
    least: int = 20
    bar: bool = False


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the document's own."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Facts:
    """Short answers, each with its label."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """A table. Every row has one cell a column.

    Attributes:
        columns: The columns, left to right.
        rows: The rows, top to bottom.
        note: A sentence beneath: what was left out, or how to read it.
        empty: What to say instead where there are no rows.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    empty: str = "none"

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} cells in a table of {len(self.columns)} columns")


@dataclass(frozen=True)
class Bar:
    """A stretch of a timeline.

    Attributes:
        label: What it is.
        start_ns: Start, on the strip's own scale.
        length_ns: Length.
        kind: The class that chooses its look: a kernel class, ``idle``, ``evidence``, …
        text: What stands on it where there is room, or "".
    """

    label: str
    start_ns: int
    length_ns: int
    kind: str
    text: str = ""


@dataclass(frozen=True)
class Strip:
    """A timeline: bars over one span of time, each lane a row.

    Attributes:
        lanes: Label and bars of each row.
        start_ns: Left edge.
        end_ns: Right edge, after the left one.
        start_text: The left edge in words.
        end_text: The right edge in words.
    """

    lanes: tuple[tuple[str, tuple[Bar, ...]], ...]
    start_ns: int
    end_ns: int
    start_text: str = ""
    end_text: str = ""


@dataclass(frozen=True)
class Notice:
    """Something that the reader should know about the trace or the answer, beside the answer itself."""

    text: str


Block = Heading | Text | Facts | Table | Strip | Notice


@dataclass(frozen=True)
class Document:
    """A list of blocks.

    Attributes:
        blocks: The blocks, in order of reading.
        title: The document's name, for a format that has a place for it.
    """

    blocks: tuple[Block, ...]
    title: str = ""

    @property
    def notices(self) -> tuple[str, ...]:
        """The texts of all notices, in order."""
        return tuple(block.text for block in self.blocks if isinstance(block, Notice))

    def without_notices(self) -> Document:
        """Return the document without its notices, for a place where they are said apart."""
        return Document(tuple(block for block in self.blocks if not isinstance(block, Notice)), self.title)


@dataclass
class Builder:
    """Collects blocks; the views' shorthand."""

    title: str = ""
    blocks: list[Block] = field(default_factory=list)

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        self.blocks.extend(blocks)

    def table(self, heading: str, table: Table) -> None:
        """Append a heading and its table."""
        self.blocks.extend((Heading(heading), table))

    def document(self, notices: Iterable[str] = ()) -> Document:
        """Return the document, with the notices at its end."""
        return Document((*self.blocks, *(Notice(text) for text in notices)), self.title)
