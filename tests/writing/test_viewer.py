"""The server of the viewer."""

from __future__ import annotations

import gzip
import http.client
import json
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import TRACES
from tests.support.perfetto import ask, engine_folder
from tracekit.analysis import analyze
from tracekit.findings import find
from tracekit.writing import Viewer, ViewerError, annotate, annotate_both, serve, viewer


@pytest.fixture
def ui(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small folder that stands for the UI."""
    folder = tmp_path / "web_dist"
    folder.mkdir()
    (folder / "index.html").write_text("<p>ui</p>")
    (tmp_path / "secret.txt").write_text("secret")
    monkeypatch.setattr(viewer, "ui_folder", lambda: folder)
    return folder


@pytest.fixture
def running(ui: Path) -> Iterator[Viewer]:
    """A server over it."""
    made = serve(b"trace", annotated=True)
    yield made
    made.stop()


def get(running: Viewer, path: str, host: str | None = None) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
    connection.request("GET", path, headers={"Host": host or f"127.0.0.1:{running.port}"})
    return connection.getresponse()


def test_the_ui_and_the_trace_are_served_on_loopback_only(running: Viewer) -> None:
    """With a policy that lets the page talk to nobody else."""
    page = get(running, "/")
    assert (page.status, page.read()) == (200, b"<p>ui</p>")
    assert "connect-src 'self'" in (page.getheader("Content-Security-Policy") or "")
    assert get(running, "/trace.json.gz").read() == b"trace"
    assert running.url.startswith(f"http://127.0.0.1:{running.port}/")


@pytest.mark.parametrize("path", ["/../secret.txt", "/%2e%2e/secret.txt", "//etc/passwd", "/nothing", "/trace.json"])
def test_nothing_else_is_served(running: Viewer, path: str) -> None:
    """No way out of the UI's folder."""
    assert get(running, path).status == 404


def test_another_host_name_gets_nothing(running: Viewer) -> None:
    """A name that was made to lead to this machine must not read the trace."""
    assert get(running, "/trace.json.gz", host="evil.example").status == 403


def test_without_the_ui_one_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line."""
    monkeypatch.setattr(viewer, "find_spec", lambda name: None)
    with pytest.raises(ViewerError, match=r"tracekit\[ui\]"):
        viewer.ui_folder()


def test_it_stops_by_itself_when_nobody_asks(running: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    """After half an hour; here at once."""
    monkeypatch.setattr(viewer, "IDLE_S", 0.0)
    running.wait()
    with pytest.raises(OSError, match=r"."):
        get(running, "/")


def asked(url: str) -> dict[str, str]:
    """Return the parameters behind the ``#`` of an address."""
    return dict(urllib.parse.parse_qsl(url.split("#!/?", 1)[1]))


def test_a_path_that_no_file_can_have_is_not_found(running: Viewer) -> None:
    """And isn't an error of the server."""
    assert get(running, "/a%00b").status == 404
    assert get(running, "/" + "a" * 5000).status == 404


def test_the_address_says_where_to_look(ui: Path) -> None:
    """Window and selected slice, in nanoseconds; tracks to pin in the order that they are to stand in; SQL tabs."""
    made = serve(b"trace", annotated=True, focus=viewer.Focus(1_000, 9_000, 2_000, 301))
    made.stop()
    found = asked(made.url)
    assert (found["url"], found["hideSidebar"]) == (f"http://127.0.0.1:{made.port}/trace.json.gz", "true")
    assert [found[key] for key in ("visStart", "visEnd", "ts", "dur")] == ["1000", "9000", "2000", "301"]
    commands = json.loads(found["startupCommands"])
    pinned = [one["args"][0] for one in commands if one["id"].endswith("PinTracksByRegex")]
    assert pinned.index("^findings( [0-9]+)?$") < pinned.index("^steps( [0-9]+)?$") < pinned.index("^attention( [0-9]+)?$")
    assert [one["args"][1] for one in commands if one["id"].endswith("RunQueryAndShowTab")] == ["kernels", "idle time", "findings"]


def test_a_plain_trace_has_nothing_of_ours_to_pin_or_to_ask(ui: Path) -> None:
    """The whole file is shown, and its kernels are asked for."""
    made = serve(b"trace")
    made.stop()
    found = asked(made.url)
    assert "visStart" not in found
    commands = json.loads(found["startupCommands"])
    assert not [one for one in commands if one["id"].endswith("PinTracksByRegex")]
    assert [one["args"][1] for one in commands if one["id"].endswith("RunQueryAndShowTab")] == ["kernels"]


def test_online_hands_the_trace_over_inside_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Needs no UI here; serves the page that does so, and the trace, and nothing else; no address holds the trace."""
    monkeypatch.setattr(viewer, "find_spec", lambda name: None)
    made = serve(b"trace", annotated=True, online=True)
    try:
        assert made.url == f"http://127.0.0.1:{made.port}/"
        page = get(made, "/").read().decode()
        assert "postMessage" in page
        assert "ui.perfetto.dev" in page
        assert get(made, "/trace.json.gz").read() == b"trace"
        assert get(made, "/viewer.py").status == 404
    finally:
        made.stop()


def test_a_trace_too_big_for_a_browser_is_told_of() -> None:
    """By what gzip says of its size; with what to do."""
    small, big = gzip.compress(b"x"), b"\x1f\x8b" + (500_000_000).to_bytes(4, "little")
    assert viewer.too_big(small) == ""
    assert "tracekit slice" in viewer.too_big(big)


@pytest.mark.parametrize("is_diff", [False, True])
def test_the_ready_made_queries_run(is_diff: bool, tmp_path: Path) -> None:
    """In Perfetto's own trace processor, with rows."""
    engine_folder()
    a, b = (analyze(str(TRACES / f"{name}.json.gz")) for name in ("naive", "sdpa_math"))
    made = annotate_both(a, b) if is_diff else annotate(a, find(a))
    out = tmp_path / "out.json.gz"
    out.write_bytes(made.data)
    sql = viewer.queries(annotated=True, is_diff=is_diff)
    answer = ask({out: list(sql.values())}, tmp_path)[out]
    assert answer.error is None
    assert all(answer.rows), dict(zip(sql, map(len, answer.rows), strict=True))
