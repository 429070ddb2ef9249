"""What the tests of views and formats share."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator
from typing import Any

from tracekit.analysis import Analysis, analyze
from tracekit.reading import load
from tracekit.render.document import Document
from tracekit.render.formats import Page, named

LOOKS = (("80.txt", "table", 80), ("160.txt", "table", 160), ("md", "md", 100))


@functools.cache
def analysis(name: str) -> Analysis:
    """Return the analysis of a trace of the project."""
    return analyze(load(f"traces/{name}.json.gz"))


def written(what: Any, format_: str, width: int = 100, *, colour: bool = False) -> str:
    """Return a document or a result as a format writes it."""
    stream = io.StringIO()
    named(format_).write(what, stream, Page(width, colour))
    return stream.getvalue()


def pages(name: str, document: Document, result: Any = None) -> Iterator[tuple[str, str]]:
    """Yield the golden's name and the text of a document in every format for people, and of its result in those for programs."""
    for suffix, format_, width in LOOKS:
        yield f"{name}.{suffix}", written(document, format_, width)
    if result is not None:
        yield f"{name}.csv", written(result, "csv")
        yield f"{name}.json", written(result, "json")
