"""Writes every page, table and figure that shows numbers of committed rows. ``make pages`` calls it.

python -m benchmarks.pages            # writes what is stale
python -m benchmarks.pages --check    # exit code 1 if anything is stale, or if a row's key is unknown
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from pubench_report.drawing import DPI

from benchmarks.pages import (
    checked_rows,
    classics_table,
    costs,
    evidence_tables,
    experiment_cost,
    figures,
    findings,
    guide,
    label_ratio,
    lite,
    published_page,
    readme_report,
    results_page,
    species,
    validation_size,
    wang_page,
)
from benchmarks.pages.keys import unknown_keys
from benchmarks.pages.parts import IMAGES, PAGES, STAMP, digest, filled, names_of_blocks, stamp_in
from benchmarks.pages.queries import rows
from benchmarks.raw_rows import ROOT

#: Pages that are written as a whole.
WHOLE: Mapping[str, Callable[[], str]] = {
    "checked-rows.md": checked_rows.page,
    "findings.md": findings.page,
    "guide.md": guide.page,
    "label-ratio.md": label_ratio.page,
}
#: Pages with blocks, and what the blocks hold.
BLOCKS: Mapping[str, Callable[[], Mapping[str, str]]] = {
    "advice.md": partial(evidence_tables.tables, "advice-sheet", "sheet-designs"),
    "beside-published.md": lambda: {"table 1": published_page.table_1()},
    "boards.md": lite.blocks,
    "classics.md": classics_table.tables,
    "cost-and-speed.md": costs.blocks,
    "evaluation-measures.md": partial(evidence_tables.tables, "recovered-error", "pulp-rank"),
    "experiments.md": experiment_cost.blocks,
    "prior-estimation.md": partial(evidence_tables.tables, "prior-error"),
    "released-recipes.md": lambda: {"recipes": published_page.released()},
    "results.md": lambda: {"conventional": results_page.conventional()},
    "species.md": species.tables,
    "tuning.md": partial(evidence_tables.tables, "tuning"),
    "validation-size.md": validation_size.blocks,
    "wang.md": wang_page.blocks,
    "../../README.md": readme_report.blocks,  # the last: it names the findings
}


#: Figures: the rows that one shows, how it is drawn, dots per inch.
FIGURES: Mapping[str, tuple[Callable[[], Any], Callable[[Any], Figure], int]] = {
    "checked-rows": (lambda: checked_rows.gains(checked_rows.runs()), checked_rows.draw, DPI),
    "decisions": (figures.decisions, figures.draw_decisions, DPI),
    "label-ratio": (partial(label_ratio.means, "accuracy"), label_ratio.draw, 110),
    "label-shift": (wang_page.points, wang_page.draw, DPI),
    "loss-and-prior": (figures.losses, figures.draw_losses, DPI),
    "spambase-choice": (readme_report.shown, partial(readme_report.draw, colors=readme_report.LIGHT), 144),
    "spambase-choice-dark": (readme_report.shown, partial(readme_report.draw, colors=readme_report.DARK), 144),
    "validation-size": (partial(rows, "validation-size"), validation_size.draw, DPI),
}


def pages(write: bool, only: Collection[str] = ()) -> Iterator[Path]:
    """Pages that show other numbers than the rows give."""
    for name, page in WHOLE.items():
        if not only or name in only:
            yield from _replaced(PAGES / name, lambda _, page=page: page(), write)
    for name, blocks in BLOCKS.items():
        if not only or name in only:
            yield from _replaced((PAGES / name).resolve(), partial(_with_blocks, name, blocks), write)


def _with_blocks(name: str, blocks: Callable[[], Mapping[str, str]], text: str) -> str:
    found = blocks()
    if sorted(found) != sorted(names_of_blocks(text)):
        sys.exit(f"{name}: has the blocks {', '.join(names_of_blocks(text))}; there are tables for {', '.join(found)}")
    return filled(text, found)


def _replaced(path: Path, made: Callable[[str], str], write: bool) -> Iterator[Path]:
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    after = made(before)
    if after != before:
        yield path
        if write:
            path.write_text(after, encoding="utf-8")


def drawn(write: bool, only: Collection[str] = ()) -> Iterator[Path]:
    """Figures of other rows than the committed ones."""
    for name, (query, draw, dpi) in FIGURES.items():
        if only and f"{name}.png" not in only:
            continue
        path, found = IMAGES / f"{name}.png", query()
        if stamp_in(path) != digest(found):
            yield path
            if write:
                draw(found).savefig(path, dpi=dpi, metadata={"Software": None, STAMP: digest(found)})


def stale(write: bool, only: Collection[str] = ()) -> list[str]:
    """Stale files, from the root; they are written again if wanted. ``only``: names of files, by default all."""
    return [str(path.relative_to(ROOT)) for path in (*pages(write, only), *drawn(write, only))]


def main() -> None:
    check, only = "--check" in sys.argv[1:], [word for word in sys.argv[1:] if word != "--check"]
    if unknown := unknown_keys():
        sys.exit("\n".join(unknown))
    found = stale(not check, only)
    print(*(f"{'stale' if check else 'written'}: {path}" for path in found), sep="\n")
    if check and found:
        sys.exit("run make pages and commit what it wrote")


if __name__ == "__main__":
    main()
