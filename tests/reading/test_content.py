"""Where args come from when they are asked for."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.reading.support import document, event, read
from tracekit.reading import content
from tracekit.reading.content import KeptContent, WithAside


def test_kept_content_is_read_across_pieces() -> None:
    """Pieces may come in any order, and a read may span several."""
    kept = KeptContent()
    for base in (10, 0, 20):
        kept.add(base, memoryview(bytes(range(base, base + 10))))
    assert kept.read(5, 20) == bytes(range(5, 25))
    assert kept.read(28, 10) == bytes([28, 29])


def test_content_beyond_a_bound_is_packed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads the same."""
    monkeypatch.setattr(content, "_PLAIN_BYTES", 1000)
    kept = KeptContent()
    data = bytes(i % 7 for i in range(10_000))
    for base in range(0, 10_000, 500):
        kept.add(base, memoryview(data)[base : base + 500])
    assert [kept.read(at, 700) for at in range(0, 9000, 333)] == [data[at : at + 700] for at in range(0, 9000, 333)]
    assert sum(len(piece) for piece, _ in kept._pieces.values()) < 4000


def test_mended_args_stand_aside() -> None:
    """Offsets beyond every file count in the other store."""
    both = WithAside(KeptContent(), b"abcdef", 1 << 62)
    assert both.read((1 << 62) + 2, 3) == b"cde"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_args_of_any_length_are_read_whole(tmp_path: Path, pack: object) -> None:
    """Short ones, ones across blocks, ones of megabytes; sound or mended."""
    sizes = (1, 200_000, 300_000, 3_000_000, 10)
    rows = [event(ts=str(i), args='{"a": "%s"}' % ("x" * size)) for i, size in enumerate(sizes)]
    rows.append(event(ts="9", args='{"a": "C:\\q", "b": NaN, "c": 1.50, "d": 123456789012345678901}'))
    trace = read(tmp_path, pack(document(*rows).encode()))  # type: ignore[operator]
    assert [len(trace.args(i)["a"]) for i in range(5)] == list(sizes)
    assert trace.args(5) == {"a": "C:\\q", "b": None, "c": 1.5, "d": 123456789012345678901}


def test_args_keep_their_text(tmp_path: Path) -> None:
    """What is sound is the file's own bytes, spaces and all."""
    trace = read(tmp_path, document(event(args='{ "a" :  [1,2] , "b": "\\u00e9" }')))
    at, length = int(trace.slices.args_at[0]), int(trace.slices.args_len[0])
    assert json.loads(trace.content.read(at, length)) == trace.args(0) == {"a": [1, 2], "b": "é"}
