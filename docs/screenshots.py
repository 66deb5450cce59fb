"""Makes the pictures of the leaderboard's front page in ``docs/pages/images/``, with the system's Chromium.

    .venv/bin/python docs/screenshots.py [SITE]

SITE: a folder that ``pubench site`` made; without one, a site of the committed rows is made for it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from leaderboard import TITLE, row_files
from PIL import Image
from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent / "pages" / "images"
#: Width of the window -> height of the picture, which shows the page from its top.
SIZES = {1280: 1500, 768: 1500, 390: 1500}


def main(given: list[str]) -> None:
    """Raises SystemExit if there is no browser."""
    import pubench

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no chromium, chromium-browser or google-chrome on the PATH")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        site = (
            Path(given[0]).resolve() if given else pubench.site(row_files(), Path(place) / "site", title=TITLE).parent
        )
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for width, height in SIZES.items():
            for scheme in ("light", "dark"):
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                page.goto(f"file://{site}/index.html")
                picture = IMAGES / f"board-{width}-{scheme}.png"
                page.screenshot(path=picture)
                page.close()
                Image.open(picture).convert("RGB").quantize(64).save(picture, optimize=True)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
