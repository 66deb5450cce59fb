"""The system's Chromium, headless, driven by Playwright: no browser is downloaded, no page is fetched."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page, Playwright

Scheme = Literal["light", "dark"]

#: Programs that can open a page; the first draws no window, for two thirds of the time of the others.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-renderer-backgrounding",
    "--disable-quic",
]
#: Milliseconds that a browser may take for any one thing.
LIMIT = 60_000.0


#: Ratio of the contrast of each text with what is behind it, as WCAG 2 has it.
CONTRAST = """() => {
  const parts = (color) => { const n = color.match(/[\\d.]+/g).map(Number); return [n[0], n[1], n[2], n.length > 3 ? n[3] : 1]; };
  const over = (top, under) => [0, 1, 2].map((k) => top[k] * top[3] + under[k] * (1 - top[3])).concat(1);
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const behind = (e) => { const all = []; for (; e; e = e.parentElement) all.push(parts(getComputedStyle(e).backgroundColor)); return all.reverse().reduce((under, top) => over(top, under), parts(getComputedStyle(document.body).backgroundColor)); };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + .05) / (Math.min(light(a), light(b)) + .05);
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()), mark = e.matches("circle, path.f");
    if ((!own && !mark) || !e.checkVisibility() || e.closest("script, noscript, dialog, title")) continue;
    const style = getComputedStyle(e), under = behind(e), svg = e.closest("svg");
    const color = mark ? style.stroke : svg ? style.fill : style.color, seen = over(parts(color), under);
    found.push([ratio(seen, under), mark ? 3 : 4.5, e.tagName + " " + e.className.baseVal + " " + e.textContent.slice(0, 30)]);
  }
  return found.filter(([value, least]) => value < least);
}"""  # noqa: E501


#: What is cut off: text that its box or its figure hides a part of.
CUT = """() => [...document.querySelectorAll("main *")].filter((e) => {
  if (!e.checkVisibility() || e.closest("dialog, noscript")) return false;
  const svg = e.ownerSVGElement, a = e.getBoundingClientRect();
  if (!svg) return !e.matches("svg") && ["hidden", "clip"].includes(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth + 1;
  const b = svg.getBoundingClientRect();
  return e.matches("text, circle") && (a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1);
}).map((e) => e.tagName + " " + e.textContent.trim().slice(0, 30))"""  # noqa: E501


#: The same in the text of a page of the documentation, whose frame is the theme's.
CUT_IN_TEXT = CUT.replace("main *", "article *")
CONTRAST_IN_TEXT = CONTRAST.replace("body *", "article :not(.headerlink)")


def absent() -> str:
    """Why no page can be opened; empty if one can."""
    if CHROMIUM is None:
        return f"none of {', '.join(NAMES)} is on the PATH to open a page with (see CONTRIBUTING.md)"
    return "" if find_spec("playwright") else "playwright is not installed: run `make setup`"


#: Marks a test that opens a page.
needs_browser = pytest.mark.skipif(bool(absent()), reason=absent())


#: What :func:`browser` started: starting it takes longer than most tests look at a page.
_started: list[tuple[Playwright, Browser]] = []


@contextmanager
def browser(width: int = 1280, height: int = 900) -> Iterator[Page]:
    """An empty page with storage and settings of its own, which ends with the block. Chromium stays: :func:`close`."""
    from playwright.sync_api import sync_playwright

    if not _started:
        playwright = sync_playwright().start()
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS, timeout=LIMIT)
        _started.append((playwright, launched))
    page = _started[0][1].new_page(viewport={"width": width, "height": height})  # a context of its own
    page.set_default_timeout(LIMIT)
    try:
        yield page
    finally:
        page.close()


def close() -> None:
    """Ends Chromium, and the event loop that Playwright leaves running in this thread, if any page was opened."""
    while _started:
        playwright, launched = _started.pop()
        launched.close()
        playwright.stop()


#: The element with the focus: its place among the page's elements, what it is, whether a frame shows it.
_FOCUSED = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  return [[...document.querySelectorAll("*")].indexOf(one), one.tagName + " " + one.textContent.trim().slice(0, 30), style.outlineStyle !== "none" || one.tagName === "BODY"];
}"""  # noqa: E501
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
#: Letters that a page has at least.
_LEAST = 200
#: Presses of Tab that are tried on a page.
_PRESSES = 40


def faults(page: Page, path: Path, *, width: int) -> list[str]:
    """What is wrong with a page: errors, requests, nothing to read, wider than the window, what is cut off, too little
    contrast in light or dark, no keyboard path.

    Everything that is folded is opened, and all figures are drawn. The first presses of Tab must each move on and show
    where they are.
    """
    found: list[str] = []
    address = f"file://{path.resolve()}"
    page.on("pageerror", lambda error: found.append(f"error: {error}"))
    page.on(
        "request",
        lambda one: found.append(f"asks for {one.url}") if not one.url.startswith((address, "data:")) else None,
    )
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(address)
    if (wide := page.evaluate("document.documentElement.scrollWidth")) > width:
        found.append(f"{wide} pixels wide")
    for _ in range(2):  # those that the first ones lay out
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")  # figures that are far below the window
    found += [f"cut off: {what}" for what in page.evaluate(CUT)]
    found += [] if len(page.inner_text("main")) > _LEAST else ["nothing to read"]
    for scheme in SCHEMES:  # which style sheets alone ask for
        page.emulate_media(color_scheme=scheme)
        low = page.evaluate(CONTRAST)
        found += [f"{scheme}: contrast {value:.2f} below {least}: {what}" for value, least, what in low]
    seen: list[int] = []
    for _ in range(_PRESSES):
        page.keyboard.press("Tab")
        place, what, framed = page.evaluate(_FOCUSED)
        if what.startswith(("BODY", "HTML")):
            break
        found += [f"Tab comes back to {what}"] if place in seen else []
        found += [] if framed else [f"no frame around {what}"]
        seen.append(place)
    found += [] if seen else ["Tab reaches nothing"]
    return found


#: Pages of each kind of a site that ``pubench site`` writes: one is looked at.
KINDS = ("index", "protocol-*", "method-*", "data-*")
WIDTHS = (1280, 390)
#: Pages of the documentation that are opened in the wide window and in the dark as well.
DARK = ("index.html", "findings/index.html", "beside-published/index.html", "publishing/index.html")


def faults_of_board(site: Path) -> list[str]:
    """:func:`faults` of a page of each kind, at both widths."""
    found = []
    for path in [path for kind in KINDS for path in sorted(site.glob(f"{kind}.html"))[:1]]:
        for width in WIDTHS:
            with browser() as page:
                mine = faults(page, path, width=width)
            found += [f"{path.name}, {width} pixels: {one}" for one in mine]
    return found


def faults_of_documents(site: Path) -> list[str]:
    """Pages of the documentation that are wider than the window or cut a text off.

    Text has the least room in the narrow window; a few pages are opened in the wide one as well, and in the dark, for
    contrast. Of pages in folders, which are all made alike, the first one.
    """
    folders = sorted(path for path in site.glob("*/*/index.html") if path.parents[1].name != "leaderboard")
    made = {path.parents[1]: path for path in reversed(folders)}
    paths = [path for path in sorted(site.glob("*/index.html")) if path.parent.name != "leaderboard"]
    wide, narrow = WIDTHS
    found = []
    with browser() as page:
        frame = _frame(page, site, narrow)
        for path in [site / "index.html", *paths, *made.values()]:
            frame.goto(f"file://{path.resolve()}")
            found += [f"{path.relative_to(site)}, {narrow} pixels: {one}" for one in _too_wide(frame, narrow)]
    with browser() as page:  # a new one: the theme keeps the colors of the first page that it was opened with
        page.emulate_media(color_scheme="dark")
        frame = _frame(page, site, wide)
        for name in DARK:
            frame.goto(f"file://{(site / name).resolve()}")
            low = frame.evaluate(CONTRAST_IN_TEXT)
            mine = [f"contrast {value:.2f} below {least}: {what}" for value, least, what in low]
            mine += [] if frame.evaluate("document.body.dataset.mdColorScheme === 'slate'") else ["is light"]
            found += [f"{name}, {wide} pixels, dark: {one}" for one in [*_too_wide(frame, wide), *mine]]
    return found


def _too_wide(frame: Frame, width: int) -> list[str]:
    """What is wider than there is room for on a page of the documentation."""
    wide = frame.evaluate("document.documentElement.scrollWidth")
    return [*([f"{wide} pixels wide"] if wide > width else []), *frame.evaluate(CUT_IN_TEXT)]


def _frame(page: Page, site: Path, width: int) -> Frame:
    """A frame to open pages of a site in: at half the cost, as Chromium does not draw its window while one loads."""
    page.goto(f"file://{(site / '404.html').resolve()}")  # only the page of a file may open others
    page.set_content(f'<iframe name="shown" style="border: 0; width: {width}px; height: 900px">')
    found = page.frame("shown")
    assert found is not None
    return found


def opened(address: str) -> str:
    """The HTML of the page at an address, after its script."""
    with browser() as page:
        page.goto(address)
        return page.content()
