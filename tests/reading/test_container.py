"""Files, pipes and archives as streams of bytes."""

from __future__ import annotations

import gzip
import io
import os
import resource
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from tests.reading.support import document, event, read
from tests.support.paths import ROOT
from tracekit.errors import InputError
from tracekit.reading.container import open_source
from tracekit.trace import Repair

TEXT = document(*[event(args='{"a": 1}')] * 20).encode()


def zipped(members: dict[str, bytes]) -> bytes:
    """Return a zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["t.json", "t.json.gz", "t.zip", "t"])
def test_content_decides_and_not_the_suffix(tmp_path: Path, name: str) -> None:
    """Plain, gzip and zip are told by their first bytes, whatever the file is called."""
    found = [read(tmp_path, data, name).log.container for data in (TEXT, gzip.compress(TEXT), zipped({"t": TEXT}))]
    assert found == ["plain", "gzip", "zip"]


def test_sizes_are_of_the_file_and_of_its_content(tmp_path: Path) -> None:
    """The log tells both."""
    data = gzip.compress(TEXT)
    log = read(tmp_path, data).log
    assert (log.file_bytes, log.content_bytes) == (len(data), len(TEXT))


def test_litter_in_a_zip_is_no_member(tmp_path: Path) -> None:
    """What a Mac adds doesn't count; a packed member is unpacked once more."""
    data = zipped({"folder/t": gzip.compress(TEXT), "__MACOSX/t": b"x", "folder/": b""})
    assert read(tmp_path, data).log.kept == 20


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (zipped({"a": TEXT, "b": TEXT}), "zip archive of 2 files (a, b)"),
        (zipped({}), "is a binary file"),
        (zipped({"a": b""}), "zip archive of an empty file"),
        (zipped({"a": TEXT})[:40], "can't be unpacked"),
        (zipped({"a": b"<html></html>"}), "HTML page"),
    ],
)
def test_zips_that_hold_no_trace_are_named(tmp_path: Path, data: bytes, says: str) -> None:
    """The error says what the archive holds."""
    with pytest.raises(InputError) as caught:
        read(tmp_path, data)
    assert says in str(caught.value)


def test_a_damaged_stream_gives_all_that_comes_before(tmp_path: Path) -> None:
    """With a wrong checksum at the end nothing is lost, and it is said."""
    data = bytearray(gzip.compress(TEXT))
    data[-6] ^= 1
    trace = read(tmp_path, bytes(data))
    assert (trace.log.kept, trace.log.repaired) == (20, {Repair.DAMAGED_CONTAINER: 1})


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    """Blanks packed a thousandfold end in one line, in bounded memory."""
    packer = zlib.compressobj(9, wbits=31)
    blanks = b" " * (1 << 20)
    data = packer.compress(b'{"traceEvents": [') + b"".join(packer.compress(blanks) for _ in range(400)) + packer.flush()
    path = tmp_path / "bomb.gz"
    path.write_bytes(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="more than 250 times its size"):
        read(tmp_path, data)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600_000


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    """The reason is the system's."""
    path = tmp_path / "t.json"
    path.write_bytes(TEXT)
    path.chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        open_source(path)


def test_a_name_that_no_file_can_have_is_an_error() -> None:
    """A zero byte in a path is one line too."""
    with pytest.raises(InputError, match="can't be read"):
        open_source("a\0b")


def test_closed_standard_input_is_an_error() -> None:
    """Without a standard input there is one line, not a traceback."""
    program = "import sys; sys.stdin = None; import tracekit\ntry: tracekit.load('-')\nexcept tracekit.TracekitError as e: print(e)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, cwd=ROOT)
    assert b"standard input can't be read" in done.stdout
