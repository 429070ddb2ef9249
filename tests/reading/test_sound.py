"""The two ways of reading sound events."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tests.reading.support import event
from tracekit.reading.damaged import Piece
from tracekit.reading.rows import ROW
from tracekit.reading.sound import CLOSED, HAVE_NATIVE, ODD, Engine, new_engine

ENGINES = [False, *([True] if HAVE_NATIVE else [])]


def scan(engine: Engine, text: str, *, comma: bool = True) -> tuple[int, int, int, bool]:
    """Read a text; return the number of rows, where it stopped, why, and the state of the comma."""
    data = text.encode()
    rows, at, status, comma = engine.scan(Piece(data, len(data), 0, seamed=False, final=True), 0, comma)
    return sum(map(len, rows)), at, status, comma


@pytest.mark.parametrize("native", ENGINES)
@pytest.mark.parametrize(
    "odd",
    [
        event(name='"a\\q"'), event(name='"a\tb"'), event(name="null"), event(name='"\\ud83d"'), event(ts="01"), event(ts="1."),
        event(ts=None), event(ts="5000000000000000"), event(dur='"x"'), event(pid="null"), event(ph='"XX"'), event(ph=None), "{}",
        event(args='{"a": NaN}'), event(args='{"a": [1,]}'), event(args='{"stream": null}'), event(args='{"stream": 18446744073709551615}'),
        event(args='{"correlation": "x"}'), event(args='{"a": ' + "[" * 500 + "]" * 500 + "}"), event()[:-1], "5", "null",
    ],
)  # fmt: skip
def test_what_is_not_sure_is_left(native: bool, odd: str) -> None:
    """Reading stops right before such an event, whatever follows."""
    good = event()
    count, at, status, _ = scan(new_engine(native), f"{good},{odd}, {good}]")
    if count == 0:
        count, at, status, _ = 1, len(good) + 1, ODD, True  # the slower way may leave a whole stretch
    assert (count, status) == (1, ODD)
    assert at in {len(good), len(good) + 1}


@pytest.mark.skipif(not HAVE_NATIVE, reason="not compiled")
def test_the_compiled_scanner_looks_at_no_byte_behind_the_end() -> None:
    """Whatever is cut off, it stops before the cut event; numbers that touch the end may go on behind it."""
    text = event(name='"é\\u00e9\\ud83d\\ude00"', ts="1.5", args='{"a": [1, -2.5e-3, true, false, null, {"b": ""}], "correlation": 5}')
    data = text.encode()
    for size in range(len(data)):
        rows, at, status, comma = new_engine(True).scan(Piece(data, size, 0, seamed=False, final=False), 0, True)
        assert (rows, at, comma) == ([], 0, True)
        assert status == (ODD if size else 0)
    assert scan(new_engine(True), text) == (1, len(data), 0, False)
    assert scan(new_engine(True), text + "\n]") == (1, len(data) + 2, CLOSED, False)


@pytest.mark.skipif(not HAVE_NATIVE, reason="not compiled")
def test_arguments_of_the_compiled_scanner_are_checked() -> None:
    """A wrong offset is an error, and a full table a pause."""
    from tracekit.reading import _native

    scanner, rows = _native.Scanner(), np.empty(2, dtype=ROW)
    with pytest.raises(ValueError, match="outside"):
        scanner.scan(b"{}", 3, 0, True, rows)
    data = ",".join([event()] * 5).encode()
    count, at, status, comma = scanner.scan(data, 0, 0, True, rows)
    assert (count, status, comma) == (2, 2, True)
    assert scanner.scan(data, at, 0, comma, np.empty(9, dtype=ROW))[0] == 3
    with pytest.raises(TypeError, match="read-write"):
        scanner.scan(data, 0, 0, True, b"read-only")


@pytest.mark.skipif(not HAVE_NATIVE, reason="not compiled")
def test_a_scanner_that_two_threads_use_refuses() -> None:
    """It would mix up its tables."""
    from tracekit.reading import _native

    scanner = _native.Scanner()
    data = ",".join([event()] * 200_000).encode()
    errors: list[Exception] = []

    def work() -> None:
        try:
            scanner.scan(data, 0, 0, True, np.empty(200_000, dtype=ROW))
        except RuntimeError as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert all("one thread at a time" in str(error) for error in errors)
    assert [text for text in scanner.strings() if text] == [b"op", b"cpu_op"]
