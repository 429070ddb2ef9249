"""Reads the event array piece by piece, several at a time, with the result of one long read from start to end.

A piece ends where an event seems to end and the next to begin. What is read of it counts only if the reading of the piece before ended exactly at its
start, with an event to come; else it is thrown away and read again from where the one before stopped. So a wrong guess costs time and nothing else.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import SimpleQueue

import numpy as np

from tracekit.reading.damaged import EVENT_BYTES, SEAM, Damaged, Piece
from tracekit.reading.events import row_of_found
from tracekit.reading.rows import ASIDE, ROW, Batch, Row, Space
from tracekit.reading.sound import CLOSED, Engine
from tracekit.trace import Repair

PIECE_BYTES = 4 << 20
ASIDE_AT = 1 << 62
"""Offsets from here on count in the store of mended args, not in the content."""

_SPACE = re.compile(rb"[ \n\r\t]*+")
_ONLY_CLOSERS = re.compile(rb"[\s\]},]*+\Z")
# The end of the array as it looks from outside: only for when all else is lost.
_ARRAY_END = re.compile(rb"(?<=\})\s*+\](?=\s*+(?:,\s*+\"[^\"\\]*+\"\s*+:|\}\s*+\Z))")
_NOTES = 3
_OVERLAP_BYTES = 512


@dataclass(frozen=True)
class State:
    """What holds between two elements.

    Attributes:
        comma: Whether an element may stand here, without a comma before it.
        started: Whether there was anything before.
        lost: Whether bytes are to be skipped until an event seems to begin.
    """

    comma: bool = True
    started: bool = True
    lost: bool = False


@dataclass
class Notes:
    """Repairs that belong to no event, and where the first of them were."""

    count: Counter[Repair] = field(default_factory=Counter)
    places: list[tuple[Repair, int]] = field(default_factory=list)

    def add(self, repair: Repair, at: int) -> None:
        """Count one."""
        self.count[repair] += 1
        if self.count[repair] <= _NOTES:
            self.places.append((repair, at))

    def extend(self, other: Notes) -> None:
        """Take those of a later stretch."""
        self.places += [(repair, at) for repair, at in other.places if self.count[repair] < _NOTES]
        self.count.update(other.count)


@dataclass
class Reading:
    """What was read of one piece, or of all.

    Attributes:
        batches: The rows.
        notes: Repairs beside the events.
        aside: Mended args.
        at: Where reading stopped: in the piece, or (of all) in the content.
        state: What holds there.
        closed: Whether the array closed there.
    """

    batches: list[Batch] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    aside: bytearray = field(default_factory=bytearray)
    at: int = 0
    state: State = field(default_factory=State)
    closed: bool = False


class Reader:
    """Reads pieces with one engine; serves one thread at a time.

    Args:
        engine: Reads what is sound.
        number: Its number: its rows count in space ``2 * number``, those of events read singly in the next one.
    """

    def __init__(self, engine: Engine, number: int) -> None:
        self.engine = engine
        self.space = Space()
        self._number = number
        self._damaged: Damaged | None = None

    def read(self, piece: Piece, state: State) -> Reading:
        """Read a piece as far as that can be done without what follows."""
        out = Reading(state=state)
        singly: list[Row] = []
        if state.lost and not self._find_again(piece, out):
            return out
        while not out.closed:
            rows, out.at, status, comma = self.engine.scan(piece, out.at, out.state.comma)
            if rows:
                self._flush(out, singly)
                out.batches += [Batch(one, 2 * self._number) for one in rows]
            out.state = replace(out.state, comma=comma, started=out.state.started or bool(rows))
            if status == CLOSED:
                out.closed = True
                break
            if out.at >= piece.size or not self._singly(piece, out, singly):
                break
        self._flush(out, singly)
        return out

    def _flush(self, out: Reading, singly: list[Row]) -> None:
        if singly:
            out.batches.append(Batch(np.array(singly, dtype=ROW), 2 * self._number + 1))
            singly.clear()

    def _find_again(self, piece: Piece, out: Reading) -> bool:
        """Skip to where an event seems to begin, or the array to end; return whether there is such a place."""
        seam = SEAM.search(piece.data)
        end = None if seam or not piece.final else _ARRAY_END.search(piece.data)
        if seam or end:
            out.at = seam.end() if seam else end.start()  # type: ignore[union-attr]
            out.state = State(comma=bool(seam))
            return True
        out.at = piece.size if piece.final else max(0, piece.size - _OVERLAP_BYTES)
        return False

    def _singly(self, piece: Piece, out: Reading, singly: list[Row]) -> bool:
        """Read what the engine left: one comma, bracket or element. Return whether to go on."""
        data = piece.data
        at = out.at = _SPACE.match(data, out.at).end()  # type: ignore[union-attr]
        state, first = out.state, data[at : at + 1]
        if not first:
            return False
        if first == b",":
            if state.comma:
                out.notes.add(Repair.TRAILING_COMMA, piece.base + at)
            out.at, out.state = at + 1, State(comma=True)
            return True
        if first == b"]":
            if state.comma and state.started:
                out.notes.add(Repair.TRAILING_COMMA, piece.base + at)
            out.at, out.closed = at + 1, True
            return True
        if first == b"}" and piece.final and _ONLY_CLOSERS.match(data, at):
            out.at = len(data)
            return False
        if self._damaged is None or self._damaged.data is not data:
            self._damaged = Damaged(piece)
        found = self._damaged.event(at) if first == b"{" else self._damaged.stray(at)
        if found is None:
            return False
        if not state.comma and first == b"{":
            out.notes.add(Repair.MISSING_COMMA, piece.base + at)
        singly.append(row_of_found(found, piece.base + at, self.space, out.aside))
        out.at, out.state = found.end, State(comma=False, lost=found.lost)
        if found.lost:
            again = Reading()
            found_again = self._find_again(piece.behind(found.end), again)
            out.at = found.end + again.at
            out.state = again.state if found_again else State(comma=False, lost=True)
            return found_again
        return True


def cut(chunks: Iterable[bytes], start: bytes, base: int) -> Iterator[Piece]:
    """Cut content into pieces that end where an event seems to begin.

    Args:
        chunks: The content behind ``start``.
        start: Its first bytes, just behind the array's bracket.
        base: Their offset in the content.
    """
    parts, held, enough = [start], len(start), PIECE_BYTES
    for chunk in chunks:
        parts.append(chunk)
        held += len(chunk)
        if held < enough:
            continue
        data = b"".join(parts)
        end = _last_seam(data)
        if not end and held < EVENT_BYTES:
            # Chunks may be small: looked for again only in twice as much, or the search would cost the square of what is held.
            parts, enough = [data], min(2 * held, EVENT_BYTES)
            continue
        size = end or held
        yield Piece(data, size, base, bool(end), final=False)
        parts, held, base, enough = [data[size:]], held - size, base + size, PIECE_BYTES
    data = b"".join(parts)
    yield Piece(data, held, base, seamed=False, final=True)


def _last_seam(data: bytes) -> int:
    """Return the offset of an event near the end, or 0."""
    for window in (1 << 14, 1 << 18, 1 << 22, len(data)):
        seam = SEAM.search(data, max(0, len(data) - window))
        if seam:
            return seam.end()
        if window >= len(data):
            break
    return 0


class Pieces:
    """Reads all pieces in order.

    Args:
        engines: Makes an engine a thread.
        threads: How many pieces are read at a time.
        seen: Told of each piece's bytes as they pass, in any order: ``seen(base, data)``.
    """

    def __init__(self, engines: Callable[[], Engine], threads: int, seen: Callable[[int, memoryview], None]) -> None:
        self.readers = [Reader(engines(), number) for number in range(threads)]
        self._idle: SimpleQueue[Reader] = SimpleQueue()
        for reader in self.readers:
            self._idle.put(reader)
        self._seen = seen

    def read(self, pieces: Iterator[Piece], out: Reading) -> Iterator[bytes]:
        """Read the pieces into ``out``; yields what follows the array's end (nothing where it doesn't end)."""
        out.state = State(started=bool(out.batches))
        if len(self.readers) == 1:
            yield from self._in_order(((piece, None) for piece in pieces), out)
            return
        pool = ThreadPoolExecutor(len(self.readers), thread_name_prefix="tracekit-read")
        try:
            yield from self._in_order(self._ahead(pool, pieces), out)
        finally:
            # Also when interrupted: what was begun takes milliseconds, what wasn't is dropped.
            pool.shutdown(wait=True, cancel_futures=True)

    def _ahead(self, pool: ThreadPoolExecutor, pieces: Iterator[Piece]) -> Iterator[tuple[Piece, Future[Reading] | None]]:
        waiting: deque[tuple[Piece, Future[Reading] | None]] = deque()
        first = True
        for piece in pieces:
            # The first isn't guessed: it begins where the array does.
            waiting.append((piece, None if first else pool.submit(self._work, piece, State())))
            first = False
            if len(waiting) > len(self.readers) + 1:
                yield waiting.popleft()
        yield from waiting

    def _work(self, piece: Piece, state: State, seen: bool = True) -> Reading:
        reader = self._idle.get()
        try:
            if seen:
                self._seen(piece.base, piece.view)
            return reader.read(piece, state)
        finally:
            self._idle.put(reader)

    def _in_order(self, pieces: Iterator[tuple[Piece, Future[Reading] | None]], out: Reading) -> Iterator[bytes]:
        rest = b""
        for piece, guess in pieces:
            if out.closed:
                yield piece.data
                continue
            if guess is not None and not rest and out.state == State():
                found = guess.result()
            else:
                if guess is not None:
                    guess.result()  # its bytes were seen; what it read was a guess and wrong
                whole = piece.behind(0, rest) if rest else piece
                if guess is None:
                    self._seen(piece.base, piece.view)
                found = self._work(whole, out.state, seen=False)
                piece = whole
            _accept(out, found, piece)
            rest = piece.raw[found.at : piece.size]
            if out.closed:
                yield rest


def _accept(out: Reading, found: Reading, piece: Piece) -> None:
    for batch in found.batches:
        aside = (batch.rows["flags"] & ASIDE) > 0
        if aside.any():
            batch.rows["args_at"][aside] += ASIDE_AT + len(out.aside)
    out.batches += found.batches
    out.aside += found.aside
    out.notes.extend(found.notes)
    out.at = piece.base + found.at
    out.state, out.closed = found.state, found.closed


__all__ = ["ASIDE_AT", "Notes", "Piece", "Pieces", "Reading", "cut"]
