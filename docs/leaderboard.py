"""mkdocs hook: the leaderboard of the rows in ``benchmarks/results/``, under ``leaderboard/`` of the site."""

from __future__ import annotations

import logging
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
from page_parts import BENCHMARKS
from pubench_report.site.pages import slug

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.nav import Navigation

FOLDER = "leaderboard"
#: Address of a plugin's page of documentation, from a page of the leaderboard.
DOCS = "../{kind}/{key}/index.html"
TITLE = "Leaderboard of the committed results"
#: A column that files of rows have, and files of other measurements have not.
OF_ROWS = "criterion_oracle"


def row_files(results: Path = BENCHMARKS / "results") -> list[Path]:
    """Files with rows of studies, except those of many tasks of one source: ``species.md`` has them."""
    found = []
    for path in sorted(results.glob("study-*.csv")):
        first = pd.read_csv(path, nrows=1)
        if OF_ROWS in first and not first.data.str.contains("/").any():
            found.append(path)
    return found


@cache
def _measured(column: str) -> frozenset[str]:
    """The methods or data sets of the leaderboard's rows."""
    return frozenset(pd.concat(pd.read_csv(path, usecols=[column]) for path in row_files())[column])


def board_link(kind: Literal["method", "data"], key: str) -> str:
    """A link from the page of a method or data set to its page of the leaderboard; empty if it has none."""
    if key not in _measured(kind):
        return ""
    return f'<a href="../../{FOLDER}/{kind}-{slug(key)}.html">On the leaderboard</a>'


def on_nav(nav: Navigation, **_: Any) -> Navigation:
    """Links it behind the first page."""
    from mkdocs.structure.nav import Link

    nav.items.insert(1, Link("Leaderboard", f"{FOLDER}/index.html"))
    return nav


def on_post_build(config: MkDocsConfig) -> None:
    """Writes it where the pages are, and its first sentences into the home page."""
    import pubench

    say = logging.getLogger("mkdocs.hooks.leaderboard").info
    home, out = Path(config.site_dir) / "index.html", Path(config.site_dir) / FOLDER
    board = pubench.site(row_files(), out, title=TITLE, home="../index.html", docs=DOCS, progress=say)
    said = re.findall(r'<(?:h1|p) id="(headline|changes|setting)"[^>]*>(.*?)</', board.read_text(encoding="utf-8"))
    text = "".join(f'<p class="board-{name}">{sentence}</p>' for name, sentence in said)
    home.write_text(home.read_text(encoding="utf-8").replace('<div id="board"></div>', text), encoding="utf-8")
