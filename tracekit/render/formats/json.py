"""JSON of a result: exact, with every row; see ``tracekit.render.plain`` for the names."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TextIO

from tracekit.render.formats import Page
from tracekit.render.plain import plain

TAKES = "result"
SUFFIXES = (".json",)


def write(result: Any, stream: TextIO, page: Page) -> None:
    """Write a result as one JSON object, ``schema`` first.

    Args:
        result: A frozen dataclass with a class attribute ``SCHEMA`` (``tracekit.summary/1``).
        stream: Where to write.
        page: Not used: JSON has no width.
    """
    import orjson

    value = {"schema": type(result).SCHEMA, **_object(plain(result))}
    stream.write(orjson.dumps(value, default=_exact, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode())


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("a result is a dataclass")
    return value


def _exact(value: Any) -> Any:
    import orjson

    if isinstance(value, Decimal):
        return orjson.Fragment(str(value).encode())
    raise TypeError(f"{type(value).__name__} is no plain value")
