"""The check of pages in a browser (``tests/doubles/browser.py``) finds what it looks for."""

from __future__ import annotations

from pathlib import Path

from browser import browser, faults, needs_browser

BAD = """<!DOCTYPE html><style>body { background: #fff; } a { outline: none; }
@media (prefers-color-scheme: dark) { body { background: #bbb; } }</style><main>
<p style="color: #ccc">faint</p><svg width="40" height="20"><text x="30" y="15">beyond</text></svg>
<div style="width: 2000px">wide</div><a href="#">bare</a><img src="other.png"><script>lost()</script></main>"""


@needs_browser
def test_a_page_with_every_fault_is_told_every_one(tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text(BAD)
    with browser() as page:
        found = faults(page, tmp_path / "bad.html", width=390)
    for words in (
        "error: lost is not defined",
        "other.png",
        "pixels wide",
        "cut off: text beyond",
        "nothing to read",
        "light: contrast 1.6",
        "dark: contrast 1.2",
        "no frame around A bare",
    ):
        assert any(words in one for one in found), words
