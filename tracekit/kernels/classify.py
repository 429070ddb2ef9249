"""Kernel classes: a table of names (``taxonomy.toml``), asked once for each distinct name and launching op."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from tracekit.errors import InputError

NAME_LIMIT = 4096
"""Characters of a name that are looked at: real ones say what they are long before; a hostile one of megabytes must not cost minutes."""

OTHER = "other"
_DIRECTIONS = {"HtoD": "HtoD", "DtoH": "DtoH", "DtoD": "DtoD", "PtoP": "PtoP", "P2P": "PtoP", "H2D": "HtoD", "D2H": "DtoH", "D2D": "DtoD"}
_DIRECTION = re.compile(r"\b(HtoD|DtoH|DtoD|PtoP|P2P|H2D|D2H|D2D)\b|(Host|Device)To(Host|Device)", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """A row of the table: what matches ``pattern`` is of class ``class_``."""

    class_: str
    pattern: re.Pattern[str]
    vendor: str = "any"
    examples: tuple[str, ...] = ()
    not_: tuple[str, ...] = ()


@dataclass(frozen=True)
class Taxonomy:
    """The table. The first row that matches wins; rows by op are asked where no row by name does.

    Attributes:
        classes: Every class that a row may name.
        kernels: Rows by kernel name.
        ops: Rows by launching op.
    """

    classes: tuple[str, ...]
    kernels: tuple[Row, ...]
    ops: tuple[Row, ...]
    _seen: dict[tuple[str, str, str], str] = field(default_factory=dict, compare=False, repr=False)

    def classify(self, name: str, kind: str = "kernel", op: str = "") -> str:
        """Return the class of a GPU event.

        Args:
            name: Its name.
            kind: ``kernel``, ``memcpy`` or ``memset``, by the category it was recorded with.
            op: Name of the op that launched it, "" if unknown.
        """
        key = (name, kind, op)
        if key not in self._seen:
            self._seen[key] = self._classify(name[:NAME_LIMIT], kind, op[:NAME_LIMIT])
        return self._seen[key]

    def _classify(self, name: str, kind: str, op: str) -> str:
        if kind == "memset":
            return "memset"
        if kind == "memcpy":
            return f"memcpy.{copy_direction(name)}"
        for row in self.kernels:
            if row.pattern.search(name):
                # AMD's copy kernels don't say their direction; the op's own memcpy would, but the name is all there is.
                return row.class_
        for row in self.ops:
            if op and row.pattern.search(op):
                return row.class_
        return OTHER


def copy_direction(name: str) -> str:
    """Return ``HtoD``, ``DtoH``, ``DtoD``, ``PtoP`` or ``other`` for a copy's name (``Memcpy HtoD (Pageable -> Device)``, ``CopyHostToDevice``)."""
    found = _DIRECTION.search(name)
    if not found:
        return OTHER
    if found[1]:
        return next(value for key, value in _DIRECTIONS.items() if key.lower() == found[1].lower())
    direction = f"{found[2][0].upper()}to{found[3][0].upper()}"
    return direction if direction in _DIRECTIONS else OTHER


@functools.cache
def own_taxonomy() -> Taxonomy:
    """Return tracekit's own table."""
    text = files("tracekit.kernels").joinpath("taxonomy.toml").read_text(encoding="utf-8")
    return parse_taxonomy(text, "taxonomy.toml", ())


def load_taxonomy(path: str | Path | None = None) -> Taxonomy:
    """Return the table, with the rows of the user's file before ours.

    Raises:
        InputError: The file can't be read, isn't TOML, or has a row that means nothing.
    """
    ours = own_taxonomy()
    if path is None:
        return ours
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(str(path), f"can't be read: {reason}", "Give a TOML file of [[kernel]] rows with class and pattern.") from error
    theirs = parse_taxonomy(text, str(path), ours.classes)
    return Taxonomy(theirs.classes, theirs.kernels + ours.kernels, theirs.ops + ours.ops)


def parse_taxonomy(text: str, path: str, classes: tuple[str, ...]) -> Taxonomy:
    """Read a table; ``classes`` are those known already, and the file's own ``classes`` add to them.

    Raises:
        InputError: It isn't TOML, or has a row that means nothing.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(path, f"isn't TOML: {error}", "Write [[kernel]] rows with class and pattern.") from error
    known = (*classes, *_words(document.get("classes", []), f"{path} (classes)"))
    for key in document:
        if key not in {"classes", "kernel", "op"}:
            raise InputError(f"{path} ({key})", "there is no such section", "Use classes, [[kernel]] and [[op]].")
    kernels, ops = (
        tuple(_row(row, f"{path} ({section} row {i + 1})", known) for i, row in enumerate(_rows(document, section, path)))
        for section in ("kernel", "op")
    )
    return Taxonomy(known, kernels, ops)


def _rows(document: Mapping[str, Any], section: str, path: str) -> Sequence[Any]:
    rows = document.get(section, [])
    if not isinstance(rows, list):
        raise InputError(f"{path} ({section})", "must be a list of rows", f"Write [[{section}]] with double brackets.")
    return rows


def _row(row: Any, place: str, classes: tuple[str, ...]) -> Row:
    if not isinstance(row, dict) or not isinstance(row.get("class"), str) or not isinstance(row.get("pattern"), str):
        raise InputError(place, "needs class and pattern, both text", "Write class = \"gemm\" and pattern = 'my_gemm'.")
    if row["class"] not in classes:
        raise InputError(place, f"there is no class {row['class']!r}", "Use a class of docs/kernels.md, or add it to classes = [...].")
    try:
        pattern = re.compile(row["pattern"])
    except re.error as error:
        raise InputError(place, f"isn't a regular expression: {error}", "Escape what is meant as it stands.") from error
    vendor = row.get("vendor", "any")
    return Row(row["class"], pattern, str(vendor), _words(row.get("examples", []), place), _words(row.get("not", []), place))


def _words(value: Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise InputError(place, "must be a list of texts", 'Write ["one", "two"].')
    return tuple(value)


def classify(name: str, kind: str = "kernel", op: str = "") -> str:
    """Return the class of one GPU event by tracekit's own table; see ``Taxonomy.classify``."""
    return own_taxonomy().classify(name, kind, op)


def classify_many(names: Sequence[str], kinds: Sequence[str], ops: Sequence[str], taxonomy: Taxonomy | None = None) -> list[str]:
    """Return the classes of GPU events; three sequences of one length."""
    table = taxonomy or own_taxonomy()
    return [table.classify(*one) for one in zip(names, kinds, ops, strict=True)]
