"""mkdocs hook: the leaderboard of the rows in ``benchmarks/results/``, under ``leaderboard/`` of the site."""

from __future__ import annotations

import csv
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from page_parts import BENCHMARKS

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.nav import Navigation

FOLDER = "leaderboard"
TITLE = "Leaderboard of the committed results"
#: A column that files of rows have, and files of other measurements have not.
OF_ROWS = "criterion_oracle"


def row_files(results: Path = BENCHMARKS / "results") -> list[Path]:
    """Files with rows of studies, except those of many tasks of one source: ``species.md`` has them."""
    found = []
    for path in sorted(results.glob("study-*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            first = next(csv.DictReader(file), {})
        if OF_ROWS in first and "/" not in first["data"]:
            found.append(path)
    return found


def on_nav(nav: Navigation, **_: Any) -> Navigation:
    """Links it behind the first page."""
    from mkdocs.structure.nav import Link

    nav.items.insert(1, Link("Leaderboard", f"{FOLDER}/index.html"))
    return nav


def on_post_build(config: MkDocsConfig) -> None:
    """Writes it where the pages are."""
    import pubench

    say = logging.getLogger("mkdocs.hooks.leaderboard").info
    pubench.site(row_files(), Path(config.site_dir) / FOLDER, title=TITLE, home="../index.html", progress=say)
