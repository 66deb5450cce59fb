"""A report card in a browser: what its script draws and says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from browser import SCHEMES, browser, faults, needs_browser

import pubench


@needs_browser
def test_the_slider_says_how_many_positives_a_review_finds(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(600) < 0.3
    labeled = truth & (rng.random(600) < 0.4)
    scores = rng.normal(1.2 * truth)
    card = pubench.evaluate(scores, labeled, prior=0.3, budget=50, resamples=200)
    (tmp_path / "card.html").write_text(card.html(), encoding="utf-8")
    with browser() as page:
        for scheme in SCHEMES:
            for width in (1280, 390):
                assert faults(page, tmp_path / "card.html", width=width, scheme=scheme) == []
            assert page.inner_text("#budget-text").startswith("50 rows: ")
            page.focus("#budget")
            page.keyboard.press("Home")
            assert page.inner_text("#budget-text") == "0 rows: 0 to 0 positives"
            page.keyboard.press("End")
            assert int(page.inner_text("#budget-text").split()[0]) > 50
