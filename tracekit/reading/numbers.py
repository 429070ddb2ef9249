"""Numbers as a trace writes them: exact nanoseconds from decimal text, ids from ints, floats and strings."""

from __future__ import annotations

import decimal
import re
from typing import Any

INT64_MAX = 2**63 - 1
UNKNOWN_STREAM = 2**32 - 1  # CUPTI's "no stream"; an early ROCm build writes the same for -1
_NUMBER = re.compile(rb"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,6})?\s*")
_HEX = re.compile(r"0[xX][0-9a-fA-F]+")
_WHOLE = re.compile(r"-?[0-9]+")
_CONTEXT = decimal.Context(prec=450, rounding=decimal.ROUND_HALF_EVEN, Emax=999999, Emin=-999999)
_LONGEST = 400
"""A number of more characters is none that a profiler wrote."""

BEYOND = 1 << 200
"""Stands for every time that is beyond all ranges, so that 1e999999 is never written out."""


class Number(str):
    """A number as it was written."""

    __slots__ = ()


def ns_of_text(text: bytes) -> int | None:
    """Return the ns of decimal microseconds, rounded half to even beyond three decimals; None where it is no number.

    No float stands between: an epoch time in microseconds with three decimals needs more digits than one has.
    """
    whole, dot, fraction = text.partition(b".")
    if len(text) <= _LONGEST and whole.removeprefix(b"-").isdigit():
        if not dot:
            return int(whole) * 1000
        if len(fraction) <= 3 and fraction.isdigit():
            return int(whole + fraction + b"000"[len(fraction) :])
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        return None
    value = decimal.Decimal(text.decode("ascii"))
    if value and value.adjusted() > 50:
        return -BEYOND if value < 0 else BEYOND
    return int((value * 1000).quantize(decimal.Decimal(1), context=_CONTEXT)) if value.adjusted() > -50 else 0


def id_of(value: Any) -> int | None:
    """Return an id as a whole number; None where there is none. Decimal and hex text are read, other text isn't an id."""
    if isinstance(value, Number):
        return _whole(value)
    if isinstance(value, str):
        text = value.strip()
        if len(text) < 40 and _WHOLE.fullmatch(text):
            return int(text)
        return int(text, 16) if len(text) < 40 and _HEX.fullmatch(text) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _whole(text: str) -> int | None:
    """Return the whole number that a number's text is, 7.0 and 7e0 among them."""
    if len(text) > _LONGEST:
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    ns = ns_of_text(text.encode())
    return ns // 1000 if ns is not None and ns % 1000 == 0 and abs(ns) < BEYOND else None


def fold(value: int) -> int:
    """Return an int as an int64: a handle above 2⁶³ keeps its bits without the sign, so that equal ones stay equal."""
    return value if -INT64_MAX <= value <= INT64_MAX else value & INT64_MAX


def row_of(value: Any) -> int | str:
    """Return a pid or tid: an int where it is one, also written as 7.0; text stays text, and anything else is 0."""
    if isinstance(value, Number):
        whole = _whole(value)
        return str(value[:_LONGEST]) if whole is None else whole
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return value if isinstance(value, str) else 0
