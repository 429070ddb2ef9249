"""CSV of a result: its main list, every row of it, one line each.

The main list is the field that the result's class names in ``ROWS``, else its first field that holds a tuple of dataclasses: steps of a summary, kernels
of ``kernels``. Parts of a row are flattened (``launch.name`` is ``launch_name``), lists are joined with ``; ``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TextIO, get_args, get_origin, get_type_hints

from tracekit.errors import escape_control
from tracekit.render.formats import Page
from tracekit.render.plain import plain, written

TAKES = "result"
SUFFIXES = (".csv",)

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(result: Any, stream: TextIO, page: Page) -> None:
    """Write a result's main list.

    Control characters are written as escapes, since CSV ends up on terminals too.
    A text that a spreadsheet would take for a formula gets a leading apostrophe: names come from the trace, and a trace can come from anywhere.

    Args:
        result: A frozen dataclass with a tuple of dataclasses among its fields.
        stream: Where to write.
        page: Not used: CSV has no width.
    """
    name, kind = main_list(type(result))
    lines = csv.writer(stream, lineterminator="\n")
    columns = tuple(_columns(kind))
    lines.writerow(["_".join(path) for path in columns])
    for row in getattr(result, name):
        value = plain(row)
        lines.writerow([_field(_at(value, path)) for path in columns])


def write_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], stream: TextIO) -> None:
    """Write plain rows under their columns, guarded like a result's."""
    lines = csv.writer(stream, lineterminator="\n")
    lines.writerow([_field(column) for column in columns])
    lines.writerows([_field(value) for value in row] for row in rows)


def main_list(kind: type) -> tuple[str, type]:
    """Return the name of the field that holds a result class's main list, and the class of its rows.

    Raises:
        TypeError: If the class has no such field.
    """
    hints = get_type_hints(kind)
    named = getattr(kind, "ROWS", None)
    for field in fields(kind):
        row = _row_class(hints[field.name])
        if row is not None and named in {None, field.name}:
            return field.name, row
    raise TypeError(f"{kind.__name__} has no list of rows")


def _row_class(hint: Any) -> type | None:
    arguments = get_args(hint)
    if get_origin(hint) is tuple and len(arguments) == 2 and arguments[1] is Ellipsis and is_dataclass(arguments[0]):
        return arguments[0] if isinstance(arguments[0], type) else None
    return None


def _columns(kind: type, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of keys to each column: a part that is a dataclass, or may be absent, gives its own fields, so that the header never varies."""
    hints = get_type_hints(kind)
    for name, key, _, _ in written(kind):
        part = next((hint for hint in (hints[name], *get_args(hints[name])) if isinstance(hint, type) and is_dataclass(hint)), None)
        if part is None or get_origin(hints[name]) is tuple:
            yield (*above, key)
        else:
            yield from _columns(part, (*above, key))


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = escape_control(value)
        return "'" + text if text.startswith(_FORMULA) else text
    if isinstance(value, Mapping):
        return _field("; ".join(f"{key}={_inner(item)}" for key, item in value.items()))
    if isinstance(value, list):
        return _field("; ".join(_inner(item) for item in value))
    return str(value)


def _inner(value: Any) -> str:
    """Return a part of a joined field; an apostrophe inside it would guard against nothing."""
    return value if isinstance(value, str) else _field(value)
