"""The server of the viewer."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracekit.writing import Viewer, ViewerError, serve, viewer


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Viewer]:
    """A server over a small folder that stands for the UI."""
    folder = tmp_path / "web_dist"
    folder.mkdir()
    (folder / "index.html").write_text("<p>ui</p>")
    (tmp_path / "secret.txt").write_text("secret")
    monkeypatch.setattr(viewer, "ui_folder", lambda: folder)
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
