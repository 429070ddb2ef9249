"""The HTML page."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tracekit.render.document import Bar, Cell, Column, Document, Facts, Heading, Notice, Strip, Table, Text
from tracekit.render.formats import Page, html

EVIL = "<script>window.hacked = 1</script>\"' onmouseover=alert(1) \x1b[31m"


def page(text: str = EVIL) -> str:
    """Return a page with a text in every place that has one."""
    table = Table(
        (Column(text, unit=text), Column("n", right=True), Column("", bar=True)),
        ((Cell(text), Cell("1,234.5"), Cell("", share=0.5)),),
        note=text,
    )
    strip = Strip(((text, (Bar(text, 0, 10, text),)),), 0, 100, text, text)
    blocks = (Heading(text, 1), Text(text), Facts(((text, text),)), table, strip, Notice(text), Table((Column("a"),), (), empty=text))
    stream = io.StringIO()
    html.write(Document(blocks, text), stream, Page())
    return stream.getvalue()


class Tags(HTMLParser):
    """Collects tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))


def test_a_hostile_text_is_text_everywhere() -> None:
    """One script, ours; no handler; no control character."""
    parser = Tags()
    text = page()
    parser.feed(text)
    assert [tag for tag, _ in parser.tags].count("script") == 1
    assert not [name for _, attrs in parser.tags for name, _ in attrs if name.startswith("on")]
    assert "\x1b" not in text


def test_a_page_of_several_parts_has_links_to_each() -> None:
    """Behind its first heading; a page of one part has none."""
    stream = io.StringIO()
    html.write(Document((Heading("all", 1), Text("x"), Heading(EVIL, 1), Heading("two", 1)), "t"), stream, Page())
    parser = Tags()
    parser.feed(stream.getvalue())
    links = [value for tag, attrs in parser.tags if tag == "a" for name, value in attrs if name == "href"]
    places = [f"#{value}" for tag, attrs in parser.tags if tag == "h1" for name, value in attrs if name == "id"]
    assert links == places[1:]
    assert len(links) == 2
    assert "<nav" not in page("plain")


def test_the_page_needs_nothing_from_outside() -> None:
    """No link, no source, no import: it opens from disk without a network."""
    text = page("plain")
    assert not re.search(r"""(src|href)=["'](?!data:|#part)|@import|url\((?!data:)|https?://""", text)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium on this machine")
def test_a_real_browser_runs_nothing_of_it(tmp_path: Path) -> None:
    """The DOM that Chromium makes has the text as text, and sorting works."""
    path = tmp_path / "page.html"
    path.write_text(
        page().replace(
            "</body>", "<script>document.title = String(window.hacked) + document.querySelectorAll('td').length;</script></body>"
        )
    )
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "<title>undefined3</title>" in done.stdout
