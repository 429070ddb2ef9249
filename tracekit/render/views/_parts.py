"""What views share: columns, limits, kernel names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracekit.analysis.picture import Picture, PictureBar
from tracekit.kernels import short_name, short_names
from tracekit.render.document import Bar, Cell, Column, Fit, Strip, Tone, cut_end
from tracekit.units import ns_text

US = "µs"
_LONGEST = 100  # characters of a kernel's name within a sentence or among others
_SHARED_LIMIT = 2000  # names above which shortening by the whole set isn't worth its time


def number(title: str, unit: str = "", priority: int = 9, *, drop: bool = True) -> Column:
    """Return a column of numbers; the lower its priority the sooner it leaves a narrow page."""
    return Column(title, unit, right=True, fit=Fit.DROP if drop else Fit.FIXED, priority=priority)


def name_column(title: str, *, least: int = 20) -> Column:
    """Return a column of names that are cut at their end."""
    return Column(title, fit=Fit.SHRINK, least=least)


def kernel_column(title: str = "kernel", *, least: int = 24) -> Column:
    """Return a column of kernel names, shortened so that they stay distinct."""
    return Column(title, fit=Fit.SHRINK, shorten=_kernels, least=least)


def _kernels(names: Sequence[str], width: int) -> Mapping[str, str]:
    return short_names(names, width)


def bar(title: str = "") -> Column:
    """Return a column of bars."""
    return Column(title, bar=True, fit=Fit.DROP, priority=1)


LIMIT = "--limit 0 shows all"


def limited(rows: Sequence[object], limit: int, what: str, more: str = LIMIT) -> tuple[int, str]:
    """Return how many rows to show and the note on those left out, with how to see them."""
    if not limit or len(rows) <= limit:
        return len(rows), ""
    return limit, f"{len(rows) - limit:,} more {what}; {more}"


def strip(picture: Picture) -> Strip:
    """Return a picture as a timeline."""

    def drawn(bar: PictureBar) -> Bar:
        # A kernel's name begins with what all names share; an op's is short as it is.
        text = short_name(bar.name) if any(c in bar.name for c in "<(") else bar.name
        return Bar(f"{bar.name}, {ns_text(bar.length_ns)}", bar.start_ns, bar.length_ns, bar.kind, text)

    lanes = tuple((label, tuple(map(drawn, bars))) for label, bars in picture.lanes)
    start = ns_text(picture.start_ns) if picture.start_ns else "0"
    return Strip(lanes, 0, max(picture.length_ns, 1), start, ns_text(picture.start_ns + picture.length_ns))


IDLE_WORDS = {
    "op": "an op's own CPU time",
    "runtime": "a runtime call",
    "sync": "waiting for the GPU",
    "python": "Python",
    "annotation": "within an annotation",
    "no_host_event": "nothing recorded on host",
    "queue": "between launch and start",
    "unlinked": "its launch isn't known",
    "after_last": "after the last GPU work",
    "not_used": "the step launches nothing",
}
"""What the launching thread was doing while the GPU idled."""


def change(delta: float, scale: float) -> Tone:
    """Return the tone of a change of time: a change below a thousandth of the scale has none."""
    if abs(delta) < 0.001 * scale:
        return Tone.PLAIN
    return Tone.BAD if delta > 0 else Tone.GOOD


def muted(text: str) -> Cell:
    """Return a cell in the background."""
    return Cell(text, Tone.MUTED)


def kernels_text(names: Sequence[str], most: int = 2) -> str:
    """Return short names of some kernels, the first few."""
    shown = list(cut_end(list(dict.fromkeys(short_name(name) for name in names)), _LONGEST).values())
    return ", ".join(shown[:most]) + (f" + {len(shown) - most}" if len(shown) > most else "")
