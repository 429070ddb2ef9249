"""What all tests share: the goldens, and a cache folder that isn't the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pytest

from tests.support.paths import ROOT

GOLDEN = ROOT / "tests" / "golden"
Golden = Callable[[Iterable[tuple[str, str]]], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes the goldens anew."""
    parser.addoption("--update-golden", action="store_true", help="write what differs from tests/golden, and fail: look at the difference")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's cache folder out of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEKIT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Return what compares texts with files of tests/golden, given as name and text, or writes those that differ."""

    def compare(texts: Iterable[tuple[str, str]]) -> None:
        different = []
        for name, text in texts:
            path = GOLDEN / name
            before = path.read_text(encoding="utf-8") if path.is_file() else ""
            if text == before:
                continue
            if request.config.getoption("--update-golden"):
                GOLDEN.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
                different.append(name)
            else:
                assert text.splitlines() == before.splitlines(), f"tests/golden/{name} differs; pytest --update-golden writes it anew"
        if different:
            pytest.fail(f"written: {', '.join(different)}. Look at the difference, then run without --update-golden.")

    return compare
