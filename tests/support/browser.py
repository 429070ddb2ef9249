"""Drives headless Chromium, as a user would."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")

# What a browser does on its own account is no request of the page's.
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass
class Tab:
    """A page in a browser.

    Attributes:
        page: Playwright's page.
        requests: Addresses that it asked for.
        errors: What stood on its console as an error, and errors that nobody caught.
    """

    page: Any
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@contextmanager
def tab(width: int = 1600, height: int = 1000, dark: bool = False) -> Iterator[Tab]:
    """Open a tab; skips the test where there is no Chromium, or nothing to drive it with."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright (extra browser) isn't installed")
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip("Chromium isn't installed")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(_FLAGS))
        try:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
            found = Tab(page)
            page.on("request", lambda request: found.requests.append(request.url))
            page.on("console", lambda line: found.errors.append(line.text) if line.type == "error" else None)
            page.on("pageerror", lambda error: found.errors.append(str(error)))
            yield found
        finally:
            browser.close()
