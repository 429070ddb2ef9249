"""The real Perfetto UI, opened by ``view`` in headless Chromium: what it shows is what tracekit says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import Tab, tab
from tests.support.paths import TRACES
from tests.support.perfetto import engine_folder
from tracekit.analysis import Analysis, analyze
from tracekit.findings import Findings, find
from tracekit.trace import GPU_WORK
from tracekit.writing import Annotated, Viewer, annotate, annotate_both, serve
from tracekit.writing.focus import worst

# A dialog is how the UI refuses a trace.
READY = """() => {
  const dialog = document.querySelector('[class*=modal-dialog]');
  if (dialog) throw new Error('dialog: ' + dialog.innerText.slice(0, 300));
  return !!(window.app && app.trace && !app.isLoadingTrace && app.trace.engine.numRequestsPending === 0);
}"""
SQL = """async sql => {
  const answer = await app.trace.engine.query(sql), columns = answer.columns(), rows = [];
  for (const it = answer.iter({}); it.valid(); it.next())
    rows.push(columns.map(name => { const value = it.get(name); return typeof value === 'bigint' ? Number(value) : value; }));
  return rows;
}"""
SELECTED = """() => { const one = app.trace.selection.selection; return one.kind === 'track_event' ? one.eventId : null; }"""
PINNED = "() => app.trace.workspace.pinnedTracks.map(one => one.name)"
# Where the instant stands on the screen, of a pinned track's row.
PLACE = """([title, ns]) => {
  const row = [...document.querySelectorAll('.pf-track')].find(one => one.innerText.trim().startsWith(title) && one.querySelector('.pf-track__canvas'));
  const box = row.querySelector('.pf-track__canvas').getBoundingClientRect();
  const shown = app.trace.timeline.visibleWindow, start = Number(shown.start.integral), length = shown.duration;
  return [box.x + box.width * (ns - start) / length, box.y + 12];
}"""


@pytest.fixture
def browser() -> Iterator[Tab]:
    """A tab, where the UI is installed."""
    engine_folder()
    with tab() as found:
        yield found


def opened(browser: Tab, made: Annotated, is_diff: bool = False) -> Viewer:
    """Serve a trace as ``view`` does, and wait until the UI has loaded it."""
    viewer = serve(made.data, annotated=True, is_diff=is_diff, focus=made.focus)
    browser.page.goto(viewer.url)
    browser.page.wait_for_function(READY, timeout=60_000)
    return viewer


def ask(browser: Tab, sql: str) -> list[list[Any]]:
    """Return what the UI's own engine answers."""
    found: list[list[Any]] = browser.page.evaluate(SQL, sql)
    return found


def shown(name: str) -> tuple[Analysis, Findings, Annotated]:
    """Return one of our traces, with what was found in it."""
    analysis = analyze(str(TRACES / f"{name}.json.gz"))
    findings = find(analysis)
    return analysis, findings, annotate(analysis, findings)


@pytest.mark.parametrize("name", ["naive", "sdpa_cudnn_new_shapes", "gpt_stacks"])
def test_it_opens_at_the_worst_finding(name: str, browser: Tab, tmp_path: Path) -> None:
    """Loaded without an error, all counts are ours, the finding is selected and in sight, our tracks are pinned in order; nothing leaves the machine."""
    analysis, findings, made = shown(name)
    viewer = opened(browser, made)
    try:
        assert ask(browser, "select name, value from stats where severity in ('error', 'data_loss') and value > 0") == []
        gpu = analysis.trace.slices.rows(*GPU_WORK)
        assert ask(browser, "select count(*) from slice where category in ('kernel', 'gpu_memcpy', 'gpu_memset')") == [[len(gpu)]]
        assert ask(browser, "select count(distinct arg_set_id) > 0 from args where key = 'args.tracekit.class'") == [[1]]
        classed = "select count(*) from slice s join args a on s.arg_set_id = a.arg_set_id where a.key = 'args.tracekit.class'"
        assert ask(browser, classed) == [[len(gpu)]]
        assert ask(browser, "select count(*) from slice where category = 'finding' and dur > 0") == [
            [sum(bool(one.evidence) for one in findings.findings)]
        ]
        assert ask(browser, "select count(*) from slice where category = 'tracekit.step' and dur > 0") == [[len(analysis.links.steps)]]
        linked = int((analysis.links.launch >= 0).sum())
        arrived = (
            "select count(distinct f.slice_in) from flow f join slice s on f.slice_in = s.id join args a on s.arg_set_id = a.arg_set_id"
        )
        assert ask(browser, f"{arrived} where a.key = 'args.tracekit.class'")[0][0] >= linked
        counters = {name for (name,) in ask(browser, "select distinct t.name from counter c join counter_track t on c.track_id = t.id")}
        assert {"GPU busy %", "launch to start us"} <= counters

        evidence = worst(findings)
        assert evidence is not None
        code = next(one.code for one in findings.findings if one.evidence)
        browser.page.wait_for_function(f"() => ({SELECTED})() !== null", timeout=20_000)
        (chosen,) = ask(browser, f"select name, ts, dur from slice where id = {browser.page.evaluate(SELECTED)}")
        assert chosen[0].startswith(code)
        assert chosen[1] == evidence.ts_ns
        pinned = browser.page.evaluate(PINNED)
        assert pinned.index("findings") < pinned.index("steps") < pinned.index("GPU idle")

        path = tmp_path / "ui.png"
        browser.page.screenshot(path=str(path))
        assert path.stat().st_size > 50_000
        here = f"http://127.0.0.1:{viewer.port}/"
        assert {url for url in browser.requests if not url.startswith((here, "data:", "blob:"))} <= blocked(browser)
    finally:
        viewer.stop()


def blocked(browser: Tab) -> set[str]:
    """Return addresses that the page wanted and its policy kept it from."""
    return {
        url for url in browser.requests if any(url.split("?")[0] in line and "Content Security Policy" in line for line in browser.errors)
    }


def test_a_click_on_a_finding_tells_of_it(browser: Tab) -> None:
    """What, why, the mend, its cost and saving are in the panel below."""
    _, findings, made = shown("naive")
    evidence = worst(findings)
    assert evidence is not None
    viewer = opened(browser, made)
    try:
        browser.page.wait_for_function(f"() => ({SELECTED})() !== null", timeout=20_000)
        browser.page.evaluate("() => app.trace.selection.clearSelection()")
        x, y = browser.page.evaluate(PLACE, ["findings", evidence.ts_ns + evidence.dur_ns // 2])
        browser.page.mouse.click(x, y)
        browser.page.wait_for_function(f"() => ({SELECTED})() !== null", timeout=10_000)
        panel = browser.page.locator(".pf-split-panel__drawer")
        panel.get_by_text("saving_us_per_step").last.wait_for(timeout=10_000)
        text = panel.inner_text()
        found = next(one for one in findings.findings if one.evidence)
        assert all(word in text for word in (found.code, found.title, found.what, found.why, found.fix))
    finally:
        viewer.stop()


def test_a_diff_shows_both_one_above_the_other(browser: Tab) -> None:
    """Aligned, differences as a track, both with their own processes."""
    a, b = (analyze(str(TRACES / f"{name}.json.gz")) for name in ("naive", "sdpa_math"))
    made = annotate_both(a, b)
    viewer = opened(browser, made, is_diff=True)
    try:
        assert ask(browser, "select name, value from stats where severity in ('error', 'data_loss') and value > 0") == []
        gpu = len(a.trace.slices.rows(*GPU_WORK)) + len(b.trace.slices.rows(*GPU_WORK))
        assert ask(browser, "select count(*) from slice where category in ('kernel', 'gpu_memcpy', 'gpu_memset')") == [[gpu]]
        assert ask(browser, "select count(*) > 0 from slice where category = 'tracekit.difference'") == [[1]]
        pinned = browser.page.evaluate(PINNED)
        assert any(name.startswith("differences") for name in pinned)
        names = {name for (name,) in ask(browser, "select distinct name from process where name is not null")}
        assert any(name.startswith("naive:") for name in names)
        assert any(name.startswith("sdpa_math:") for name in names)
    finally:
        viewer.stop()
