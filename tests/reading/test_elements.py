"""The elements of a file as texts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.reading.support import document, event
from tests.support.paths import TRACES
from tracekit.reading import pieces
from tracekit.reading.elements import Elements, elements


def of(tmp_path: Path, content: str | bytes) -> Elements:
    """Return the elements of a content."""
    path = tmp_path / "t.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return elements(path)


@pytest.mark.parametrize("name", ["naive", "gpt_stacks"])
def test_sound_events_stay_byte_for_byte(name: str) -> None:
    """In the file's order."""
    found = elements(TRACES / f"{name}.json.gz")
    data = gzip.decompress((TRACES / f"{name}.json.gz").read_bytes())
    assert found.as_they_stand == len(found.texts) == len(json.loads(data)["traceEvents"])
    at = 0
    for text in found.texts:
        at = data.index(text, at) + len(text)
    assert {key: json.loads(value) for key, value in found.members.items()} == found.trace.metadata


def test_the_place_of_a_lost_element_stays_empty(tmp_path: Path) -> None:
    """So that places are those of ``Slices.index``."""
    found = of(tmp_path, document(event(), "5", event(name='"b"')))
    assert [bool(text) for text in found.texts] == [True, False, True]
    assert found.trace.slices.index.tolist() == [0, 2]


def test_what_follows_the_array_belongs_to_no_event(tmp_path: Path) -> None:
    """The last event ends where it ends."""
    found = of(tmp_path, document(event(), event(name='"last"'), after=', "x": [1, {"y": 2}]'))
    assert json.loads(found.texts[-1])["name"] == "last"
    assert found.as_they_stand == 2
    assert json.loads(found.members["x"]) == [1, {"y": 2}]


def test_two_arrays_in_one_object_are_one(tmp_path: Path) -> None:
    """The last event of the first array ends with it."""
    first, second = document(event(name='"a"'), event(name='"b"')), document(event(name='"c"'))
    found = of(tmp_path, first[:-1] + ", " + second[1:])
    assert [json.loads(text)["name"] for text in found.texts] == ["a", "b", "c"]


def test_digits_are_kept_where_an_event_is_mended(tmp_path: Path) -> None:
    """Of its times and its args."""
    found = of(tmp_path, document(event(ts="5274493431459.762", args='{"a": 1.50000000000000000001, "b": NaN}')))
    assert b"5274493431459.762" in found.texts[0]
    assert b"1.50000000000000000001" in found.texts[0]
    assert json.loads(found.texts[0])["args"]["b"] is None


def test_pieces_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small."""
    content = document(*[event(name=f'"n{i}"', dur="-1" if i % 3 else "2") for i in range(30)])
    whole = of(tmp_path, content).texts
    monkeypatch.setattr(pieces, "PIECE_BYTES", 64)
    assert of(tmp_path, content).texts == whole
