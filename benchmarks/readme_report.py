"""Writes the README's first figure and table: what `pubench study report` makes of the studies' rows on Spambase.

    python benchmarks/readme_report.py            # writes both
    python benchmarks/readme_report.py --check    # exit code 1 where the README or its figure is of other rows

The rows are those of ``benchmarks/results/study-*.csv`` under PU-Bench's main protocol; the code is the report's own.
Rows of the present engine revision count first; a method with older ones is marked.
"""

from __future__ import annotations

import hashlib
import statistics
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

from PIL import Image
from summary import OLDER, OLDER_ROWS

from pubench.running import RunResult
from pubench_cli.report.figures import all_figures
from pubench_cli.report.figures.style import DPI, plain_style
from pubench_cli.report.gather import gathered_of
from pubench_cli.report.model import Model
from pubench_cli.report.statistics import Comparison
from pubench_cli.report.tables import Table, sections
from pubench_cli.report.text import LEGEND, md_table
from pubench_cli.report.write import compared
from pubench_cli.site.rows import read_rows
from pubench_core.request.identity import ENGINE_REVISION
from pubench_core.specs import RunSpec

ROOT = Path(__file__).parents[1]
README, FIGURE = ROOT / "README.md", ROOT / "docs" / "pages" / "images" / "spambase-criteria.png"
STUDIES = [
    ROOT / "benchmarks" / "results" / f"study-{name}.csv"
    for name in ("conventional", "conventional-13", "methods-2", "methods-3", "methods-4")
]
#: A block of the README, by its name, and where it ends.
START, END = "<!-- {}: written by benchmarks/readme_report.py -->\n", "<!-- end of what readme_report.py wrote -->\n"
#: What the table shows of the report's.
COLUMNS = ("method", "accuracy, %", "F1, %", "AUC, %")
DATA, SCHEME, C, MECHANISM = "spambase", "case-control", 0.1, "scar"
#: Field of the PNG that says which table the figure stands beside.
STAMP = "Source"


def report() -> tuple[Model, list[Comparison]]:
    """Of the runs of all studies, each method and seed once, best method first."""
    found = [run for path in STUDIES for run in read_rows(path).runs if _wanted(run.result.spec)]
    kept: dict[str, dict[int, RunResult]] = {}
    for run in sorted(found, key=_current):
        kept.setdefault(run.result.spec.method.key, {})[run.result.spec.seed] = run

    def accuracy(method: str) -> float:
        return statistics.fmean(run.result.test["accuracy"] or 0.0 for run in kept[method].values())

    named = [
        (method if all(map(_current, kept[method].values())) else f"{method} {OLDER}", run)
        for method in sorted(kept, key=lambda method: (-accuracy(method), method))
        for _, run in sorted(kept[method].items())
    ]
    return compared(gathered_of(named, ROOT), "accuracy", None, None)


def _current(run: RunResult) -> bool:
    """Whether a run is of a clean commit with the present engine revision: rows of uncommitted trees name none."""
    return run.result.code.parts.get("engine") == f"revision {ENGINE_REVISION}"


def _wanted(spec: RunSpec) -> bool:
    return (spec.data.key, spec.data.scheme, spec.mechanism.c, spec.mechanism.key, spec.prior) == (
        DATA, SCHEME, C, MECHANISM, "true",
    )  # fmt: skip


def blocks(model: Model, tests: list[Comparison]) -> dict[str, str]:
    """Markdown by the name of its block: the figure, and the report's table of measures with what it shows."""
    whole: Table = next(part for part in sections(model, tests) if part.key == "measures").tables[0]
    places = [whole.head.index(name) for name in COLUMNS]
    found = replace(whole, head=COLUMNS, rows=tuple(tuple(row[place] for place in places) for row in whole.rows))
    methods = len(model.rows)
    older = any(row.endswith(OLDER) for row in model.rows)
    legend = f"{LEGEND['md']}." + (f" {OLDER}: some or all of its runs are of an {OLDER_ROWS}." if older else "")
    figure = (
        f"![Test accuracy of {methods} methods on Spambase at the epoch that each selection criterion chose]"
        f"({FIGURE.relative_to(ROOT).as_posix()})"
    )
    lines = [
        *textwrap.wrap(
            f"{methods} methods on Spambase ({model.settings[0].words}), PU-Bench's protocol as its code has "
            "it ([its text](docs/pages/published.md#where-pu-benchs-text-and-code-differ) differs): test measures at "
            f"the epoch that {model.criterion_name(model.criterion)} chose, mean ± sample standard deviation over "
            "seeds. "
            "`benchmarks/readme_report.py` makes figure and table of [the rows of the studies](benchmarks/results), as "
            "`pubench study report` does of records; a row names its run and its commit, and `pubench run --method "
            "nnpu --data spambase --preset pubench --c 0.1 --set validation.fraction=0.01 --select f1` is one of them; "
            f"a method that lacks seeds is never best or second. {legend}",
            118,
        ),
        "",
        *md_table(found)[2:],
    ]
    return {"figure": figure, "table": "\n".join(lines).rstrip()}


def block_of(text: str, name: str) -> str:
    """What the README has in a block."""
    return text.partition(START.format(name))[2].partition(END)[0].strip()


def with_block(text: str, name: str, content: str) -> str:
    """The README with another content of a block."""
    before, _, rest = text.partition(START.format(name))
    return f"{before}{START.format(name)}\n{content}\n\n{END}{rest.partition(END)[2]}"


def stamp_of(model: Model) -> str:
    """Of every value that the figure shows."""
    cells = {criterion: model.cells(model.measure, criterion) for criterion in model.criteria}
    shown = [(c, row, cell.id, dict(cell.values)) for c, found in cells.items() for row, cell in sorted(found.items())]
    return hashlib.sha256(repr(shown).encode()).hexdigest()


def draw(model: Model, tests: list[Comparison], stamp: str) -> None:
    """The report's figure of criteria, with what it belongs to."""
    figure = next(one for one in all_figures(model, tests) if one.key == "criteria-s1").figure
    with plain_style():
        figure.savefig(FIGURE, format="png", dpi=DPI, metadata={"Software": None, STAMP: stamp})


def main() -> None:
    model, tests = report()
    made, stamp = blocks(model, tests), stamp_of(model)
    text = README.read_text(encoding="utf-8")
    if sys.argv[1:] == ["--check"]:
        with Image.open(FIGURE) as picture:
            same = picture.info.get(STAMP) == stamp
        same = same and all(block_of(text, name) == content for name, content in made.items())
        sys.exit(not same and "README.md: run python benchmarks/readme_report.py")
    draw(model, tests, stamp)
    for name, content in made.items():
        text = with_block(text, name, content)
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
