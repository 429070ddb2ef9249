"""Traces kept from one command to the next."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.reading.support import document, event, same
from tests.support.paths import ROOT, TRACES
from tracekit.errors import InputError
from tracekit.reading import cache, load
from tracekit.reading.cache import clear, folder, held, load_cached
from tracekit.trace import Drop


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own, and no file too small for it."""
    monkeypatch.setenv("TRACEKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "LEAST_BYTES", 0)
    monkeypatch.setattr(cache, "LEAST_PACKED_BYTES", 0)
    return tmp_path / "cache"


def refused(*_: object, **__: object) -> None:
    """Stand for a reader that mustn't be asked."""
    raise AssertionError("read anew")


@pytest.mark.parametrize("name", ["gpt_stacks", "naive", "cuda_graph"])
@pytest.mark.parametrize("packed", [True, False])
def test_what_comes_back_is_what_was_read(name: str, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every column, every arg, the log and the metadata; without reading the file."""
    path = tmp_path / "t.json"
    data = (TRACES / f"{name}.json.gz").read_bytes()
    path.write_bytes(data if packed else gzip.decompress(data))
    first = load_cached(path)
    monkeypatch.setattr(cache, "load", refused)
    again = load_cached(path)
    same(first, again)
    assert (first.log, first.path) == (again.log, again.path)
    again.check()


def test_damage_and_mended_args_are_remembered(tmp_path: Path) -> None:
    """With places and reasons."""
    path = tmp_path / "t.json"
    path.write_text(document(event(args='{"a": NaN, "b": 2}'), "5", event(dur="-1"), event()[:-9]))
    first, again = load_cached(path), load_cached(path)
    same(first, again)
    assert again.log.dropped[Drop.NOT_AN_OBJECT] == 1
    assert again.args(0) == {"a": None, "b": 2}


def test_a_copy_is_known_and_keeps_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is the content."""
    one, other = tmp_path / "a.json.gz", tmp_path / "b.json.gz"
    shutil.copy(TRACES / "naive.json.gz", one)
    shutil.copy(one, other)
    load_cached(one)
    monkeypatch.setattr(cache, "load", refused)
    assert load_cached(other).path == load_cached(other).log.path == str(other)


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    """Even with the same size and time."""
    path = tmp_path / "t.json"
    path.write_text(document(event(name='"one"')))
    info = path.stat()
    load_cached(path)
    path.write_text(document(event(name='"two"')))
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert load_cached(path).name(0) == "two"


@pytest.mark.parametrize("damage", ["empty", "cut", "header", "name", "noise"])
def test_a_damaged_cache_is_no_matter(damage: str, tmp_path: Path, place: Path) -> None:
    """The file is read anew and kept anew."""
    path = tmp_path / "t.json.gz"
    shutil.copy(TRACES / "naive.json.gz", path)
    first = load_cached(path)
    (kept,) = place.iterdir()
    data = bytearray(kept.read_bytes())
    if damage == "empty":
        data = bytearray()
    elif damage == "cut":
        del data[len(data) // 2 :]
    elif damage == "header":
        data[30:60] = b"x" * 30
    elif damage == "name":
        data = bytearray(bytes(data).replace(b'"name", "<i4"', b'"name", "<f4"'))
    else:
        data[len(data) // 3 : len(data) // 3 + 4000] = b"\xff" * 4000
    kept.write_bytes(data)
    same(first, load_cached(path))
    assert held()[0] == 1


def test_the_folder_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """Who was used longest ago goes first; the newest stays however big it is."""
    paths = [tmp_path / f"{i}.json" for i in range(4)]
    for i, path in enumerate(paths):
        path.write_text(document(*[event(name=f'"{i} {j}"') for j in range(50)]))
    load_cached(paths[0])
    size = held()[1]
    monkeypatch.setattr(cache, "MOST_BYTES", 3 * size)
    for i, path in enumerate(paths[1:], 1):
        load_cached(path)
        for age, kept in enumerate(sorted(place.iterdir(), key=lambda one: one.stat().st_mtime_ns)):
            os.utime(kept, ns=(i * 1000 + age, i * 1000 + age))
    assert held()[0] in {2, 3}
    assert held()[1] <= 3 * size


def test_clear_leaves_nothing(tmp_path: Path, place: Path) -> None:
    """And says how much there was."""
    path = tmp_path / "t.json"
    path.write_text(document(event()))
    load_cached(path)
    count, size = held()
    assert clear() == (count, size) == (1, size)
    assert list(place.iterdir()) == []
    assert held() == (0, 0)


def test_many_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Each gets the same trace, and one file is left."""
    path = tmp_path / "t.json.gz"
    shutil.copy(TRACES / "gpt.json.gz", path)
    with ThreadPoolExecutor(4) as pool:
        traces = list(pool.map(lambda _: load_cached(path), range(8)))
    for trace in traces:
        same(traces[0], trace, args=False)
    assert held()[0] == 1


def test_a_folder_that_can_not_be_written_is_no_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace is read all the same."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRACEKIT_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert len(load_cached(TRACES / "naive.json.gz")) == len(load(TRACES / "naive.json.gz"))


def test_errors_are_those_of_the_reader(tmp_path: Path) -> None:
    """Nothing is kept of what is no trace."""
    path = tmp_path / "t.json"
    path.write_text("<html>")
    with pytest.raises(InputError, match="HTML"):
        load_cached(path)
    with pytest.raises(InputError, match="No such file"):
        load_cached(tmp_path / "none.json")
    assert held() == (0, 0)


def test_small_files_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read as fast."""
    monkeypatch.undo()
    before = held()
    load_cached(TRACES / "naive.json.gz")
    assert held() == before


def test_only_its_owner_sees_the_folder(tmp_path: Path) -> None:
    """Traces hold names of models and paths."""
    path = tmp_path / "t.json"
    path.write_text(document(event()))
    load_cached(path)
    assert folder().stat().st_mode & 0o077 == 0


def test_the_commands(tmp_path: Path) -> None:
    """``info`` and ``clear``; ``--no-cache`` keeps nothing."""
    run = [sys.executable, "-m", "tracekit"]
    done = subprocess.run([*run, "summary", str(TRACES / "naive.json.gz"), "--no-cache"], capture_output=True, cwd=ROOT, check=True)
    assert done.stdout
    info = subprocess.run([*run, "cache"], capture_output=True, cwd=ROOT, check=True, text=True)
    assert info.stdout.startswith("0 traces in ")
    assert str(tmp_path / "cache") in info.stdout
    assert subprocess.run([*run, "cache", "clear"], capture_output=True, cwd=ROOT, check=True, text=True).stdout.startswith(
        "0 traces deleted"
    )
