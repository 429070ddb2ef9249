"""Numbers become words here, and nowhere else.

Times are int64 nanoseconds inside; people read microseconds or milliseconds, JSON carries ``*_us`` with three decimals.
"""

from __future__ import annotations


def us(ns: int | float) -> float:
    """Return ``ns`` nanoseconds as microseconds with three decimals, as JSON and CSV carry it."""
    return round(float(ns) / 1000.0, 3)


def decimal_us(ns: int) -> str:
    """Return ``ns`` as exact decimal microseconds (``"1712.003"``): no float between, so that every nanosecond is kept."""
    sign = "-" if ns < 0 else ""
    whole, rest = divmod(abs(int(ns)), 1000)
    return f"{sign}{whole}.{rest:03d}"


def ns_text(ns: float, *, signed: bool = False) -> str:
    """Return a duration for people, with the unit that suits its size: ``850 ns``, ``12.3 µs``, ``4.56 ms``, ``7.89 s``."""
    size = abs(ns)
    for limit, scale, unit in ((1_000, 1, "ns"), (1_000_000, 1e3, "µs"), (1_000_000_000, 1e6, "ms")):
        if size < limit * 0.99995:
            return _scaled(ns / scale, unit, signed)
    return _scaled(ns / 1e9, "s", signed)


def _scaled(value: float, unit: str, signed: bool) -> str:
    digits = 0 if unit == "ns" or abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:{'+' if signed else ''},.{digits}f} {unit}"


def us_text(ns: float, *, signed: bool = False) -> str:
    """Return a duration in microseconds for a column of a table (``12,345.6``): one unit, so that a column can be compared by eye."""
    value = ns / 1000.0
    digits = 0 if abs(value) >= 99_999.5 else 1 if abs(value) >= 99.95 else 2
    return f"{value:{'+' if signed else ''},.{digits}f}"


def pct_text(share: float, *, signed: bool = False) -> str:
    """Return a share (0.25) as per cent (``25 %``), with one decimal below 10 % and just below 100 %."""
    value = share * 100.0
    return f"{value:{'+' if signed else ''},.{1 if abs(value) < 9.95 or 99 < abs(value) < 100 else 0}f} %"


def ratio_text(ratio: float) -> str:
    """Return a ratio of two quantities (``2.31×``)."""
    return f"{ratio:,.{2 if ratio < 9.995 else 1 if ratio < 99.95 else 0}f}×"


def bytes_text(count: float) -> str:
    """Return a number of bytes with a binary unit (``1.5 MiB``)."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1023.95:
            return f"{value:,.0f} B" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024.0
    return f"{value:,.1f} TiB"


def count_text(count: float) -> str:
    """Return a count for people: whole numbers plain, per-step means with up to two decimals."""
    if float(count).is_integer():
        return f"{int(count):,}"
    return f"{count:,.2f}".rstrip("0").rstrip(".")


def plural(count: float, one: str, many: str | None = None) -> str:
    """Return ``1 kernel`` or ``3 kernels``."""
    return f"{count_text(count)} {one if count == 1 else many or one + 's'}"
