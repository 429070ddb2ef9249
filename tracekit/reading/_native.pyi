"""The compiled scanner (``_native.c``)."""

from typing import Any

ROW_BYTES: int

class Scanner:
    """Reads sound events; names and rows get numbers of this scanner's own. Serves one thread at a time."""

    def scan(self, data: bytes | bytearray | memoryview, at: int, base: int, comma: bool, rows: Any, /) -> tuple[int, int, int, bool]:
        """Read events of ``data`` from offset ``at`` on into ``rows``; return how many, where it stopped, why, and the state of the comma."""

    def strings(self) -> list[bytes]:
        """Return the text of names and categories as it stands in the file, by number."""

    def threads(self) -> list[bytes]:
        """Return pid, a zero byte and tid as they stand in the file, by number."""
