"""Numbers as a trace writes them: exact nanoseconds from decimal text, ids from ints, floats and strings."""

from __future__ import annotations

import decimal
import re
from typing import Any

from tracekit.trace import ABSENT

INT64_MAX = 2**63 - 1
UNKNOWN_STREAM = 2**32 - 1  # CUPTI's "no stream"; an early ROCm build writes the same for -1
_NUMBER = re.compile(rb"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")
_HEX = re.compile(r"0[xX][0-9a-fA-F]+")
_CONTEXT = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_EVEN)


def ns_of_text(text: bytes) -> int | None:
    """Return the ns of decimal microseconds, rounded half to even beyond three decimals; None where it is no number.

    No float stands between: an epoch time in microseconds with three decimals needs more digits than one has.
    """
    whole, dot, fraction = text.partition(b".")
    if whole.lstrip(b"-").isdigit():
        if not dot:
            return int(whole) * 1000
        if len(fraction) <= 3 and fraction.isdigit():
            return int(whole + fraction + b"000"[len(fraction) :])
    if len(text) > 400 or not _NUMBER.fullmatch(text):
        return None
    try:
        return int((decimal.Decimal(text.decode("ascii")) * 1000).to_integral_value(context=_CONTEXT))
    except (decimal.InvalidOperation, decimal.Overflow, ValueError, OverflowError):
        return None


def id_of(value: Any) -> int:
    """Return an id as an int64; -1 where there is none. Decimal and hex text are read, other text isn't an id."""
    if isinstance(value, bool) or value is None:
        return ABSENT
    if isinstance(value, str):
        text = value.strip()
        if text.lstrip("-").isdigit() and len(text) < 40:
            value = int(text)
        elif _HEX.fullmatch(text) and len(text) < 40:
            value = int(text, 16)
        else:
            return ABSENT
    if isinstance(value, float | decimal.Decimal):
        if value != value or value in (float("inf"), float("-inf")) or value != int(value):
            return ABSENT
        value = int(value)
    return fold(value) if isinstance(value, int) else ABSENT


def fold(value: int) -> int:
    """Return an int as an int64: a handle above 2⁶³ keeps its bits without the sign, so that equal ones stay equal."""
    return value if -INT64_MAX <= value <= INT64_MAX else value & INT64_MAX


def correlation_of(value: Any) -> int:
    """Return a correlation id; 0, -1 and 2³²-1 mean unknown (roctracer writes 0, others -1) and are read as absent."""
    found = id_of(value)
    return ABSENT if found in (0, ABSENT, UNKNOWN_STREAM) else found


def stream_of(value: Any) -> int:
    """Return a stream or device; -1 and 2³²-1 are read as absent."""
    found = id_of(value)
    return ABSENT if found == UNKNOWN_STREAM else found


def external_of(value: Any) -> int:
    """Return an External id; 0 means none."""
    found = id_of(value)
    return ABSENT if found == 0 else found
