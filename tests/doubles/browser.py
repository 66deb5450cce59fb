"""The system's Chromium, headless, driven by Playwright: no browser is downloaded, no page is fetched."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]
#: Milliseconds that a browser may take for any one thing.
LIMIT = 60_000.0


def _absent() -> str:
    """Why no page can be opened; empty if one can."""
    if CHROMIUM is None:
        return "no chromium, chromium-browser or google-chrome on the PATH to open a page with (see CONTRIBUTING.md)"
    return "" if find_spec("playwright") else "playwright is not installed: run `make setup`"


#: Marks a test that opens a page.
needs_browser = pytest.mark.skipif(bool(_absent()), reason=_absent())


@contextmanager
def browser(width: int = 1280, height: int = 900) -> Iterator[Page]:
    """An empty page of a Chromium of its own, which ends with the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS, timeout=LIMIT)
        page = chromium.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(LIMIT)
        yield page
        chromium.close()


def opened(address: str) -> str:
    """The HTML of the page at an address, after its script."""
    with browser() as page:
        page.goto(address)
        return page.content()
