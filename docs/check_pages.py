"""Opens a page of each kind of a site in the system's Chromium, at two widths, light and dark, and says what is wrong.

    .venv/bin/python docs/check_pages.py docs/site/leaderboard

Checked are contrast, width, requests, errors of scripts, and the path of the Tab key, as in the tests
(``tests/doubles/browser.py``). `make docs` ends with it. Without a browser nothing is checked, which one line says.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "doubles"))
from browser import SCHEMES, absent, browser, close, faults

KINDS = ("index", "protocol-*", "method-*", "data-*")


def main(site: Path) -> None:
    """Raises SystemExit if a page has a fault."""
    if why := absent():
        print(f"pages are not checked in a browser: {why}")
        return
    pages = [path for kind in KINDS for path in sorted(site.glob(f"{kind}.html"))[:1]]
    found = []
    for path in pages:
        for width in (1280, 390):
            for scheme in SCHEMES:
                with browser() as page:
                    found += [
                        f"{path.name}, {width} pixels, {scheme}: {one}"
                        for one in faults(page, path, width=width, scheme=scheme)
                    ]
    close()
    if found or not pages:
        sys.exit("\n".join(found) or f"no page is in {site}")
    print(f"{len(pages)} kinds of pages have no fault in Chromium, at 1,280 and 390 pixels, light and dark")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
