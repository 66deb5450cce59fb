"""Makes the pictures of pages that pubench writes, in ``docs/pages/images/screens/``, with the system's Chromium.

    .venv/bin/python docs/screenshots.py [--check] [SITE]

Front page, method and data set are of the committed rows; SITE is a folder that ``pubench site`` made of them, if
there is one. The study report is of a small study that is carried out here. The report card is of one feature of
biopsies as a score, the advice on a table of them. ``docs/pages/screens.md`` shows the pictures;
``docs/screens.json`` has a digest of the templates that they were made with, which ``--check`` compares.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import numpy as np
import pandas as pd
from leaderboard import TITLE, row_files
from PIL import Image
from sklearn.datasets import load_breast_cancer

import pubench

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "doubles"))
from browser import SCHEMES, absent, browser, close

HERE = Path(__file__).parent
SCREENS, MADE_WITH = HERE / "pages" / "images" / "screens", HERE / "screens.json"
#: Width of the window -> height of the picture, which shows the page from its top.
SIZES = {1280: 1000, 768: 1000, 390: 844}
#: Of a WebP picture; text is sharp from here on.
QUALITY = 60


def addresses(place: Path, site: Path | None) -> Iterator[tuple[str, Path]]:
    """(name of the pictures, file of the page)."""
    if site is None:
        site = pubench.site(row_files(), place / "site", title=TITLE).parent
    yield "front", site / "index.html"
    yield "method", site / "method-pu-bagging.html"
    yield "data", site / "data-spambase.html"
    trained = {name: {"method": name, "config": {"epochs": 20}} for name in ("nnpu", "vpu")}
    classics = {name: {"method": name} for name in ("puet", "pu-bagging", "elkan-noto")}
    pubench.compare(
        {**trained, **classics}, data=["digits", "breast-cancer"], seeds=3, results=place / "results", tracking=False
    )
    report = place / "report.html"
    command = [Path(sys.executable).with_name("pubench"), "study", "report", place / "results"]
    subprocess.run([*command, "--format", "html", "--criterion", "pa", "--out", report], check=True)
    yield "report", report
    features, benign = load_breast_cancer(return_X_y=True)
    known = (benign == 0) & (np.random.default_rng(0).random(len(benign)) < 0.4)
    card = place / "card.html"
    texture = features[:, 1]  # a score that nothing was fitted for
    card.write_text(pubench.evaluate(texture, known, prior=(0.3, 0.45), budget=100).html(), encoding="utf-8")
    yield "card", card
    table = place / "biopsies.csv"
    frame = pd.DataFrame(features).assign(labeled=known.astype(int))
    frame.to_csv(table, index=False)
    with chdir(place):  # the page names its files as they were given
        pubench.advise(table, "labeled", prior=(0.3, 0.45), goal="review:100", out="advice")
    yield "advice", place / "advice" / "advice.html"


def digest() -> str:
    """Digest of the templates of all pages."""
    paths = sorted((HERE.parent / "plugins" / "tools").glob("*/src/**/templates/*"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def pictures(name: str, page_file: Path) -> None:
    """Pictures of a page at every width, light and dark."""
    for width, height in SIZES.items():
        for scheme in SCHEMES:
            picture = SCREENS / f"{name}-{width}-{scheme}.png"
            with browser(width, height) as page:
                page.emulate_media(color_scheme=scheme)
                page.goto(f"file://{page_file.resolve()}")
                page.screenshot(path=picture)
            Image.open(picture).convert("RGB").save(picture.with_suffix(".webp"), quality=QUALITY, method=6)
            picture.unlink()


def main(given: list[str]) -> None:
    """Raises SystemExit if there is no browser, or for ``--check`` and pictures of other templates."""
    if "--check" in given:
        same = json.loads(MADE_WITH.read_text(encoding="utf-8"))["templates"] == digest()
        sys.exit(0 if same else "docs/screenshots.py must make the pictures again: pages have other templates now")
    if why := absent():
        sys.exit(why)
    with tempfile.TemporaryDirectory() as place:
        for name, page in addresses(Path(place), Path(given[0]) if given else None):
            pictures(name, page)
    close()
    MADE_WITH.write_text(json.dumps({"templates": digest()}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
