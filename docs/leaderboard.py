"""mkdocs hook: the leaderboard of the rows in ``benchmarks/results/``, under ``leaderboard/`` of the site."""

from __future__ import annotations

import logging
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
from page_parts import ROWS
from pubench_report.site.pages import slug

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.nav import Navigation

FOLDER = "leaderboard"
#: Address of a plugin's page of documentation, from a page of the leaderboard.
DOCS = "../{kind}/{key}/index.html"
TITLE = "Leaderboard of the committed results"


def row_files(results: Path = ROWS) -> list[Path]:
    """Files with rows of studies, not of other measurements, nor of many tasks of one source (``species.md``)."""
    firsts = {path: pd.read_csv(path, nrows=1) for path in sorted(results.glob("study-*.csv"))}
    return [path for path, of in firsts.items() if "criterion_oracle" in of and not of.data.str.contains("/").any()]


@cache
def _measured(column: str) -> frozenset[str]:
    """The methods or data sets of the leaderboard's rows."""
    return frozenset(pd.concat(pd.read_csv(path, usecols=[column]) for path in row_files())[column])


def board_link(kind: Literal["method", "data"], key: str) -> str:
    """A link from the page of a method or data set to its page of the leaderboard; empty if it has none."""
    link = f'<a href="../../{FOLDER}/{kind}-{slug(key)}.html">On the leaderboard</a>'
    return link if key in _measured(kind) else ""


def on_nav(nav: Navigation, **_: Any) -> Navigation:
    """Links it behind the first page."""
    from mkdocs.structure.nav import Link

    nav.items.insert(1, Link("Leaderboard", f"{FOLDER}/index.html"))
    return nav


def on_post_build(config: MkDocsConfig) -> None:
    """Writes it where the pages are, its first sentences into the home page, and how published figures compare."""
    import pubench
    from benchmarks.pages.published_page import table_1

    log, out = logging.getLogger("mkdocs.hooks.leaderboard"), Path(config.site_dir)
    board = pubench.site(row_files(), out / FOLDER, title=TITLE, home="../index.html", docs=DOCS, progress=log.info)
    if (size := board.stat().st_size) > 250_000:
        log.warning(f"the front page of the leaderboard has {size:,} bytes, more than 250,000")
    home, first = out / "index.html", board.read_text(encoding="utf-8")
    counts = table_1(ROWS).partition("\n\n")[0].encode("ascii", "xmlcharrefreplace").decode()
    link = '<a href="../beside-published/index.html">Next to ours</a>'
    section = f"<section><h2>Published figures</h2><p>{counts} {link}</p></section>"
    board.write_text(first.replace('<section id="add">', f'{section}\n<section id="add">'), encoding="utf-8")
    said = re.findall(r'<(?:h1|p) id="(headline|changes|setting)"[^>]*>(.*?)</', first)
    text = "".join(f'<p class="board-{name}">{sentence}</p>' for name, sentence in said)
    home.write_text(home.read_text(encoding="utf-8").replace('<div id="board"></div>', text), encoding="utf-8")
