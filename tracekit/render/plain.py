"""Turns a result into plain values under the names that JSON and CSV carry: generic, so that a new result needs no code here.

The rules, for any frozen dataclass:

- each field becomes a key of the same name, in order; a trailing underscore goes (``class_`` is ``class``);
- a field with the word ``ns`` in its name becomes microseconds: ``wall_ns`` is ``wall_us``, ``cost_ns_per_step`` is ``cost_us_per_step``, ``ns`` is
  ``us``. The value is an exact decimal with three places, made from the integer. What such a field holds inside (a tuple, a mapping, a dataclass) is
  in ns too, save its fields marked ``metadata={"ns": False}`` (a ratio beside two times);
- a mapping's key that ends in ``_ns`` likewise;
- an enum is its name in lower case, a tuple a list, None stays None;
- a field marked ``metadata={"json": False}`` is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from numbers import Integral
from typing import Any

Plain = None | bool | int | float | Decimal | str | list[Any] | dict[str, Any]

_NS_WORD = re.compile(r"(?<![^_])ns(?![^_])")


def plain(value: Any, *, ns: bool = False) -> Plain:
    """Return a result, or a part of one, as plain values.

    Args:
        value: A dataclass, mapping, sequence, enum, number, text or None.
        ns: Whether numbers in it are nanoseconds, which become exact microseconds (``Decimal`` with three places).

    Raises:
        ValueError: For NaN or infinity.
        TypeError: For anything else; results hold plain values.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, (Integral, float)):
        return _number(value, ns)
    if is_dataclass(value) and not isinstance(value, type):
        return {key: plain(getattr(value, name), ns=is_ns or (ns and inherits)) for name, key, is_ns, inherits in written(type(value))}
    if isinstance(value, Mapping):
        return dict(_item(key, item, ns) for key, item in value.items())
    if isinstance(value, Sequence):
        return [plain(item, ns=ns) for item in value]
    raise TypeError(f"a result holds a {type(value).__name__}, which is no plain value")


def encodable(text: str) -> str:
    """Return ``text`` with lone surrogates, which no encoding has, written as escapes."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _number(value: Any, ns: bool) -> int | float | Decimal:
    if isinstance(value, Integral):
        return Decimal(int(value)).scaleb(-3) if ns else int(value)
    if not math.isfinite(value):
        raise ValueError(f"a result holds {value}, which no format can carry")
    return Decimal(f"{value / 1000:.3f}") if ns else float(value)


@cache
def written(kind: type) -> tuple[tuple[str, str, bool, bool], ...]:
    """Return (attribute, key, is in ns, may inherit ns) of each field of a dataclass that is written."""
    shown = [field for field in fields(kind) if field.metadata.get("json", True)]
    plan = ((f.name, _NS_WORD.sub("us", f.name.rstrip("_")), f.metadata.get("ns", True)) for f in shown)
    return tuple((name, key, key != name.rstrip("_"), bool(inherits)) for name, key, inherits in plan)


def _item(key: Any, value: Any, ns: bool) -> tuple[str, Plain]:
    name = key.name.lower() if isinstance(key, Enum) else encodable(str(key))
    if name.endswith("_ns"):
        return name[:-2] + "us", plain(value, ns=True)
    return name, plain(value, ns=ns)
