"""Where args are read from when somebody asks: the file itself, or what was unpacked of it."""

from __future__ import annotations

import bisect
import threading
import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import IO

from isal import isal_zlib

from tracekit.errors import InputError

_BLOCK_BYTES = 1 << 18
_BLOCKS = 32
_PLAIN_BYTES = 64 << 20
"""So much of unpacked content is held as it is; what goes beyond is packed again, fast and a tenth of the size."""


class _Blocks:
    """The blocks that were read last: rows near each other in time mostly stand near each other in the file."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[int, bytes] = OrderedDict()

    def get(self, key: int) -> bytes | None:
        found = self._held.get(key)
        if found is not None:
            self._held.move_to_end(key)
        return found

    def put(self, key: int, data: bytes) -> bytes:
        self._held[key] = data
        if len(self._held) > self._most:
            self._held.popitem(last=False)
        return data


class FileContent:
    """A plain file, kept open: it may be renamed or deleted meanwhile."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        self._name = name
        self._file = file
        self._blocks = _Blocks(_BLOCKS)
        self._lock = threading.Lock()
        self.size = 0
        weakref.finalize(self, file.close)

    def add(self, base: int, data: memoryview) -> None:
        """Nothing needs keeping."""

    def read(self, at: int, length: int) -> bytes:
        """Return ``length`` bytes from offset ``at``."""
        first, last = at // _BLOCK_BYTES, (at + length - 1) // _BLOCK_BYTES
        if last - first > 2:
            return self._fetch(at, length)
        if first == last:  # nearly always
            data = self._block(first)
        else:
            data = b"".join([self._block(number) for number in range(first, last + 1)])
        begin = at - first * _BLOCK_BYTES
        found = data[begin : begin + length]
        return found if len(found) == length else self._short()

    def around(self, at: int, length: int) -> bytes:
        """Return up to ``length`` bytes from offset ``at``."""
        with self._lock:
            return self._raw(at, length)

    def _block(self, number: int) -> bytes:
        with self._lock:
            found = self._blocks.get(number)
            return self._blocks.put(number, self._raw(number * _BLOCK_BYTES, _BLOCK_BYTES)) if found is None else found

    def _fetch(self, at: int, length: int) -> bytes:
        with self._lock:
            data = self._raw(at, length)
        return data if len(data) == length else self._short()

    def _raw(self, at: int, length: int) -> bytes:
        try:
            self._file.seek(at)
            data = b""
            while len(data) < length and (more := self._file.read(length - len(data))):
                data += more
            return data
        except (OSError, ValueError) as error:
            raise InputError(self._name, f"can't be read any more: {error}", "Try again.") from error

    def _short(self) -> bytes:
        raise InputError(self._name, "became shorter while it was read", "Wait until it is written, and try again.")


@dataclass
class KeptContent:
    """Content that came through a pipe or a decompressor, in pieces."""

    _at: list[int] = field(default_factory=list)
    _pieces: dict[int, tuple[bytes, int]] = field(default_factory=dict)
    _recent: _Blocks = field(default_factory=lambda: _Blocks(4))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    size: int = 0

    def add(self, base: int, data: memoryview) -> None:
        """Keep a piece; from several threads, in any order."""
        with self._lock:
            self.size += len(data)
            plain = self.size <= _PLAIN_BYTES
        kept = bytes(data) if plain else isal_zlib.compress(data, 0)
        with self._lock:
            bisect.insort(self._at, base)
            self._pieces[base] = kept, 0 if plain else len(data)

    def read(self, at: int, length: int) -> bytes:
        """Return ``length`` bytes from offset ``at``."""
        number = bisect.bisect_right(self._at, at) - 1
        out = b""
        while number >= 0 and number < len(self._at) and len(out) < length:
            base = self._at[number]
            start = at + len(out) - base
            out += self._piece(base)[start : start + length - len(out)]
            number += 1
        return out

    around = read

    def pieces(self) -> list[tuple[int, int, bytes]]:
        """Return what is kept: offset, size where it is packed (else 0), and bytes of each piece."""
        return [(base, self._pieces[base][1], self._pieces[base][0]) for base in self._at]

    @classmethod
    def of(cls, pieces: list[tuple[int, int, bytes]]) -> KeptContent:
        """Return content of such pieces."""
        out = cls()
        out._at = [base for base, _, _ in pieces]
        out._pieces = {base: (data, size) for base, size, data in pieces}
        out.size = sum(size or len(data) for _, size, data in pieces)
        return out

    def _piece(self, base: int) -> bytes:
        kept, packed = self._pieces[base]
        if not packed:
            return kept
        found = self._recent.get(base)
        return self._recent.put(base, isal_zlib.decompress(kept)) if found is None else found


@dataclass(frozen=True)
class WithAside:
    """The content, and behind an offset that no file reaches the args that had to be mended."""

    content: FileContent | KeptContent
    aside: bytes
    aside_at: int

    def read(self, at: int, length: int) -> bytes:
        """Return ``length`` bytes from offset ``at``."""
        if at >= self.aside_at:
            begin = at - self.aside_at
            return self.aside[begin : begin + length]
        return self.content.read(at, length)

    def around(self, at: int, length: int) -> bytes:
        """Return up to ``length`` bytes from offset ``at``: fewer near the end, none where they weren't kept."""
        return self.content.around(at, length)


__all__ = ["FileContent", "KeptContent", "WithAside"]
