"""The HTML pages in a real browser: names from a trace are text, nothing is fetched, tables sort by keyboard, a phone can show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.browser import tab
from tests.support.builder import build
from tests.support.paths import TRACES
from tracekit.cli import main

EVIL = '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">"\' onmouseover=alert(1) \x1b[31m'

# Text on what is behind it, by WCAG 2: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
CONTRAST = """() => {
  const light = text => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = one => {
    for (let at = one; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!colour.endsWith(', 0)') && colour !== 'transparent') return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  let least = 99;
  for (const one of document.querySelectorAll('h1, h2, h3, p, dt, dd, td, th button, figcaption'))
    least = Math.min(least, ratio(getComputedStyle(one).color, behind(one)));
  for (const one of document.querySelectorAll('svg text.on'))
    least = Math.min(least, ratio(getComputedStyle(one).fill, getComputedStyle(one.parentElement.querySelector('rect')).fill));
  return least;
}"""


def page(tmp_path: Path, *args: str) -> Path:
    """Return the page that a command writes."""
    out = tmp_path / "page.html"
    with pytest.raises(SystemExit) as stopped:
        main([*args, "-o", str(out)])
    assert stopped.value.code == 0
    return out


def hostile(tmp_path: Path) -> Path:
    """Return a trace whose every name is an attack."""
    trace = build().device(EVIL)
    for i in range(4):
        at = 1000 * i
        trace.step(i, at, 1000).annotation(EVIL, at + 1, 900).op(EVIL, at + 10, 20).launch("cudaLaunchKernel", at + 15, 5)
        trace.kernel(EVIL, at + 700, 200)
    return trace.write(tmp_path / "evil<b>.json")


@pytest.mark.parametrize("command", ["report", "summary", "kernels", "ops", "links", "critical"])
def test_a_hostile_name_is_text(command: str, tmp_path: Path) -> None:
    """It shows, does nothing, fetches nothing, and leaves no error on the console."""
    out = page(tmp_path, command, str(hostile(tmp_path)))
    with tab() as found:
        found.page.goto(out.as_uri())
        assert found.page.evaluate("() => window.hacked") is None
        assert found.page.evaluate("() => document.scripts.length") == 1
        assert found.page.evaluate("() => document.images.length") == 0
        assert "<script>window.hacked" in found.page.evaluate("() => document.body.innerText + document.body.textContent")
        assert found.errors == []
        assert [url for url in found.requests if not url.startswith(("file:", "data:"))] == []


def test_a_table_sorts_by_keyboard(tmp_path: Path) -> None:
    """Its headings are buttons; the direction is said to a screen reader."""
    out = page(tmp_path, "report", str(TRACES / "gpt.json.gz"))
    column = "() => [...table.tBodies[0].rows].map(row => parseFloat(row.cells[at].dataset.key))"
    with tab() as found:
        found.page.goto(out.as_uri())
        found.page.evaluate(
            "() => { window.table = [...document.querySelectorAll('table')].at(-1); "
            "window.at = [...table.tHead.rows[0].cells].findIndex(one => one.innerText.startsWith('calls')); "
            "table.tHead.rows[0].cells[at].querySelector('button').focus(); }"
        )
        found.page.keyboard.press("Enter")
        values = found.page.evaluate(column)
        assert values == sorted(values, reverse=True)
        assert found.page.evaluate("() => table.tHead.rows[0].cells[at].getAttribute('aria-sort')") == "descending"
        found.page.keyboard.press("Enter")
        assert found.page.evaluate(column) == sorted(values)
        assert found.errors == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_page_can_be_read_at_any_width_and_light(dark: bool, width: int, tmp_path: Path) -> None:
    """Nothing hangs over the edge but what scrolls by itself; text stands out by 4.5 to 1 (3 to 1 on the bars of a picture)."""
    out = page(tmp_path, "report", *(str(TRACES / f"{name}.json.gz") for name in ("naive", "gpt_stacks", "two_streams")))
    with tab(width=width, dark=dark) as found:
        found.page.goto(out.as_uri())
        assert found.page.evaluate("() => document.documentElement.scrollWidth") <= width
        assert found.page.evaluate(CONTRAST) >= 3
        assert found.errors == []
