"""The folder of formats."""

from __future__ import annotations

from pathlib import Path

from tracekit.render.formats import for_path, named, names


def test_every_module_is_a_format() -> None:
    """It says what it takes and which files it writes."""
    assert {"csv", "html", "json", "md", "table"} <= set(names())
    for name in names():
        module = named(name)
        assert module.TAKES in {"document", "result"}
        assert all(suffix.startswith(".") for suffix in module.SUFFIXES)
        assert callable(module.write)


def test_a_suffix_belongs_to_one_format() -> None:
    """-o FILE has one meaning."""
    suffixes = [suffix for name in names() for suffix in named(name).SUFFIXES]
    assert len(suffixes) == len(set(suffixes))
    assert list(for_path(Path("x.MD"))) == ["md"]
