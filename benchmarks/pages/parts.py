"""Parts that the pages of rows share: Markdown tables, blocks of a page, sources of rows, and the stamp of a figure."""

from __future__ import annotations

import hashlib
import re
import statistics
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from PIL import Image
from pubench_report.rendering import md_rows
from scipy.stats import ttest_1samp

from benchmarks.pages import summary
from benchmarks.raw_rows import ROOT

PAGES = ROOT / "docs" / "pages"
IMAGES = PAGES / "images"
#: Field of a PNG that names the rows it shows.
STAMP = "Source"
_BLOCK = re.compile(r"(<!-- table ([\w -]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_NUMBER = re.compile(r"[-+*.]*\d[\d.,]*(?![\dA-Za-z])|-?$")


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A Markdown table, columns of numbers to the right; empty without rows."""
    lines = [[str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells] for cells in rows]
    if not lines:
        return ""
    left = [k for k, column in enumerate(zip(*lines, strict=True)) if not k or not all(map(_NUMBER.match, column))]
    return "\n".join(md_rows(columns, lines, left))


@cache
def _templates() -> Environment:
    folders = Path(__file__).with_name("templates"), ROOT / "docs" / "templates"
    return Environment(loader=FileSystemLoader(folders), undefined=StrictUndefined, keep_trailing_newline=True)


def render(template: str, **values: Any) -> str:
    """A page from its template in ``templates/`` here or of the documentation."""
    return _templates().get_template(template).render(values)


def names_of_blocks(page: str) -> list[str]:
    """Names of the blocks of a page, ``<!-- table NAME -->`` to ``<!-- end -->``."""
    return [name for _, name, _ in _BLOCK.findall(page)]


def filled(page: str, found: Mapping[str, str]) -> str:
    """The page with the content of each of its blocks; a table ends with an empty line."""
    ends = {name: "\n\n" if text.endswith("|") else "\n" for name, text in found.items()}
    return _BLOCK.sub(lambda mark: f"{mark[1]}\n{found[mark[2]]}{ends[mark[2]]}{mark[3]}", page)


def spread(values: Iterable[float]) -> str:
    """Mean ± sample standard deviation; the value itself if there is one."""
    values = list(values)
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{deviation}"


def interval(values: pd.Series) -> str:
    """Mean and 95 % interval by Student's t, in bold where 0 is outside."""
    tested = ttest_1samp(values, 0, nan_policy="omit")
    text = "{:+.1f} ({:+.1f} to {:+.1f})".format(values.mean(), *tested.confidence_interval())
    return f"**{text}**" if tested.pvalue < 0.05 else text


def marked(name: str, older: Iterable[bool]) -> str:
    """A name, with a mark if any of its runs is older than the present engine."""
    return f"{name} {summary.OLDER}" if any(older) else name


def origin(runs: pd.DataFrame) -> str:
    """The files, commits and machines of raw rows, and what the mark means if any of them has it."""
    files, commits, machines = (sorted({*runs[name]}) for name in ("file", "commit", "machine"))
    said = f"Raw rows: {listed(files)} in `benchmarks/results/`; commit {listed(commits)}; {'; '.join(machines)}."
    older = sum(runs.older)
    return f"{said} {summary.OLDER}: {older} of {len(runs)} runs are of an {summary.OLDER_ROWS}." if older else said


def listed(names: Iterable[str]) -> str:
    """Names as code, with commas between."""
    return ", ".join(f"`{name}`" for name in names)


def digest(rows: Any) -> str:
    """Digest of the rows that a figure shows."""
    text = rows.to_csv(index=False) if isinstance(rows, pd.DataFrame) else repr(rows)
    return hashlib.sha256(text.encode()).hexdigest()


def stamp_in(path: Path) -> str:
    """The digest in a picture; empty without one."""
    if not path.exists():
        return ""
    with Image.open(path) as picture:
        return str(picture.info.get(STAMP, ""))
