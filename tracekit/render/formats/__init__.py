"""The output formats: one module each, found by looking into this folder.

A format module holds ``TAKES`` (``"document"`` or ``"result"``), ``SUFFIXES`` (of output files, e.g. ``(".md",)``) and
``write(x, stream, page)``, which writes text. Adding a format is adding a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal, Protocol, TextIO, cast


@dataclass(frozen=True)
class Page:
    """What a format is written onto.

    Attributes:
        width: Characters of a line, for a format that has lines.
        colour: Whether escapes for colour may be written.
    """

    width: int = 100
    colour: bool = False


class Format(Protocol):
    """What a format module holds."""

    TAKES: Literal["document", "result"]
    SUFFIXES: tuple[str, ...]

    def write(self, x: Any, stream: TextIO, page: Page, /) -> None:
        """Write a document or a result, as ``TAKES`` says."""


@cache
def names() -> tuple[str, ...]:
    """Return the names of all formats, sorted; imports none of them."""
    return tuple(sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_")))


def named(name: str) -> Format:
    """Return the format module called ``name``, which is one of ``names()``."""
    return cast("Format", import_module(f"{__name__}.{name}"))


def for_path(path: Path) -> Iterator[str]:
    """Yield the names of the formats that write files with the suffix of ``path``."""
    yield from (name for name in names() if path.suffix.lower() in named(name).SUFFIXES)
