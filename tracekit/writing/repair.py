"""Writes a damaged trace anew, so that every reader takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tracekit.errors import InputError
from tracekit.reading.container import Progress
from tracekit.reading.elements import elements
from tracekit.trace import Drop, Repair
from tracekit.writing.raw import RawTrace, packed


@dataclass(frozen=True)
class Repaired:
    """What was written.

    Attributes:
        data: The file.
        kept: Events in it.
        as_they_stood: How many of them are byte for byte those of the original.
        dropped: Number of events that couldn't be saved, by reason.
        repaired: Number of repairs, by kind.
    """

    data: bytes
    kept: int
    as_they_stood: int
    dropped: Mapping[Drop, int]
    repaired: Mapping[Repair, int]


def repaired(path: str, *, gzip: bool, progress: Progress | None = None) -> Repaired:
    """Return a trace that strict parsers and viewers read, with all that could be saved of a file.

    Sound events stay byte for byte as they are. Mended ones are as ``load`` has them: a time that was text is a number, an unknown number is null, a
    missing or negative duration is 0, a begin without an end is a slice of 0.

    Raises:
        InputError: The file can't be read, or is no Chrome trace.
    """
    found = elements(path, progress=progress)
    log = found.trace.log
    if log.in_file and not log.kept:
        raise InputError(path, "holds no event that can be read", "There is nothing to repair; record again.")
    data = packed(RawTrace(found.texts, found.members), found.texts, gzip=gzip)
    return Repaired(data, log.kept, found.as_they_stand, log.dropped, log.repaired)
