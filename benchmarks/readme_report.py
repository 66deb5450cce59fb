"""Writes the README's findings, its figure and its table of results from committed rows.

    python benchmarks/readme_report.py            # writes them
    python benchmarks/readme_report.py --check    # exit code 1 if the README or its figure show other rows

PU-Bench's conventional setting: case-control data, SCAR labels, c = .1, 1 % validation, true prior. If a method and
seed have several rows, that of the newest engine revision counts. The figure is ordered by what a user can do: the
accuracy at the epoch that ``pa`` chose. The findings are the first headings of the page that ``findings.py`` wrote.
"""

from __future__ import annotations

import csv
import hashlib
import re
import statistics
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from PIL import Image
from summary import OLDER, OLDER_ROWS

from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "pages"
README, FINDINGS = ROOT / "README.md", PAGES / "findings.md"
#: Picture -> colors of background, text, grid, line, PU-only choice, oracle choice.
FIGURES = {
    PAGES / "images" / "spambase-choice.png": ("white", "#1f2328", "#e6e6e6", "#b8c4d0", "#1f5fa8", "#c2571a"),
    PAGES / "images" / "spambase-choice-dark.png": ("#0d1117", "#e6edf3", "#30363d", "#57606a", "#79b8ff", "#f0883e"),
}
PU = "PU learning trains a binary classifier from labeled positives and unlabeled rows."
#: How many findings the README names.
NAMED = 4
STUDIES = [
    ROOT / "benchmarks" / "results" / f"study-{name}.csv"
    for name in ("conventional", "classics", "conventional-13", "methods-2", "methods-3", "methods-4")
]
#: A block of the README, by its name, and where it ends.
START, END = "<!-- {}: written by benchmarks/readme_report.py -->\n", "<!-- end of what readme_report.py wrote -->\n"
#: PU-Bench's conventional setting, as rows of studies have it.
CONVENTIONAL = {
    "scheme": "case-control", "mechanism": "scar", "c": "0.1", "prior": "true", "settings": "validation.fraction=0.01",
}  # fmt: skip
DATA = "spambase"
SEEDS = 10
#: The criterion that reads no true label, and the oracle that publications use.
PU_ONLY, ORACLE = "pa", "f1"
#: How many of the best methods the table shows.
SHOWN = 6
#: Field of the PNG that names the rows it shows.
STAMP = "Source"

#: Method -> criterion -> seed -> row.
Rows = dict[str, dict[str, dict[str, dict[str, str]]]]


def rows() -> Rows:
    """The rows that count: those of a clean commit."""
    return newest(row for path in STUDIES for row in read(path) if not row["commit"].endswith("-dirty"))[DATA]


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def newest(rows: Iterable[dict[str, str]]) -> dict[str, Rows]:
    """Data set -> rows of the conventional setting; if a run has several, that of the newest engine revision."""
    found: dict[str, Rows] = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for row in rows:
        if CONVENTIONAL.items() <= row.items() and row["accuracy"]:
            seeds = found[row["data"]][row["method"]][row["criterion"]]
            if row["seed"] not in seeds or row["revision"] > seeds[row["seed"]]["revision"]:
                seeds[row["seed"]] = row
    return found


def current(row: dict[str, str]) -> bool:
    """Whether a row is of the present engine revision and of a clean commit."""
    return row["revision"] == str(ENGINE_REVISION)


def mean(seeds: Mapping[str, dict[str, str]], measure: str = "accuracy") -> float:
    """Mean of a measure over seeds, in percent."""
    return statistics.fmean(float(row[measure]) for row in seeds.values())


def cell(found: Rows, method: str, criterion: str, measure: str = "accuracy") -> str:
    """Mean ± sample standard deviation over seeds, in percent, with the number of seeds if some are missing."""
    values = [float(row[measure]) for row in found[method][criterion].values()]
    some = f" ({len(values)} of {SEEDS})" if len(values) < SEEDS else ""
    return f"{statistics.fmean(values):.1f} ± {statistics.stdev(values):.1f}{some}"


def label(method: str) -> str:
    """Name of a method with what it is: an oracle or the baseline."""
    info = registry().find(MethodInfo, method)
    kind = "oracle" if "truth" in info.needs else "baseline" if info.role == "baseline" else ""
    return f"{method} ({kind})" if kind else method


def ordered(found: Rows) -> list[str]:
    """Methods, best first, by accuracy at the epoch that the PU-only criterion chose."""
    return sorted(found, key=lambda method: -mean(found[method][PU_ONLY]))


def ranked(found: Rows) -> list[str]:
    """The methods that have all seeds and are neither an oracle nor the baseline, best first."""
    whole = [method for method in ordered(found) if len(found[method][PU_ONLY]) == SEEDS]
    return [method for method in whole if label(method) == method]


def blocks(found: Rows) -> dict[str, str]:
    """Markdown by the name of its block."""
    best = ranked(found)
    behind = max((mean(found[m][ORACLE]) - mean(found[m][PU_ONLY]), m) for m in best)[1]
    accuracy, paid = mean(found[best[0]][PU_ONLY]), mean(found[behind][ORACLE]) - mean(found[behind][PU_ONLY])
    sentences = [
        f"**{len(found)} methods on Spambase, 10 % of the positives labeled.**",
        "Filled: the epoch is chosen without true labels. Hollow: it is chosen with them, as publications do.",
        f"Without them, `{best[0]}` is first ({accuracy:.1f} %).",
        f"`naive`, which takes unlabeled rows as negative, has {mean(found['naive'][PU_ONLY]):.1f} %.",
        f"The choice costs `{behind}` {paid:.0f} points.",
    ]
    findings = f"{PU} **Measured here:** {'. '.join(headings()[:NAMED])}. [All findings](docs/pages/findings.md)."
    light, dark = (path.relative_to(ROOT).as_posix() for path in FIGURES)
    picture = (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">\n<img src="{light}" width="620"\n'
        f'alt="Accuracy of {len(found)} methods on Spambase, epoch chosen without and with true labels"></picture>'
    )
    lines = [
        "| method | accuracy, epoch by `pa` | AUC, epoch by `pa` | accuracy, epoch by F1 (oracle) |",
        "| --- | ---: | ---: | ---: |",
    ]
    for method in [*best[:SHOWN], "nnpu", "naive", "pn"]:
        older = any(not current(row) for row in found[method][PU_ONLY].values())
        cells = [cell(found, method, PU_ONLY), cell(found, method, PU_ONLY, "auc"), cell(found, method, ORACLE)]
        lines.append(f"| {label(method)}{f' {OLDER}' if older else ''} | " + " | ".join(cells) + " |")
    if any(OLDER in line for line in lines):
        lines += ["", f"{OLDER}: runs of an {OLDER_ROWS}."]
    return {
        "opening": f"{wrapped(findings)}\n\n{picture}\n\n{wrapped(' '.join(sentences))}",
        "table": "\n".join(lines),
    }


def headings() -> list[str]:
    """Headings of the page of findings, in its order."""
    return re.findall(r"^## (.+)$", FINDINGS.read_text(encoding="utf-8"), re.MULTILINE)


def wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 118, break_long_words=False))


def block_of(text: str, name: str) -> str:
    """Content of a block of the README."""
    return text.partition(START.format(name))[2].partition(END)[0].strip()


def with_block(text: str, name: str, content: str) -> str:
    """The README with another content of a block."""
    before, _, rest = text.partition(START.format(name))
    return f"{before}{START.format(name)}\n{content}\n{END}{rest.partition(END)[2]}"


def stamp_of(found: Rows) -> str:
    """Digest of every value that the figure shows."""
    shown = [
        (m, c, sorted((s, r["accuracy"]) for s, r in found[m][c].items())) for m in found for c in (PU_ONLY, ORACLE)
    ]
    return hashlib.sha256(repr(sorted(shown)).encode()).hexdigest()


def stamp_in(path: Path) -> str:
    """The digest in a picture."""
    with Image.open(path) as picture:
        return str(picture.info.get(STAMP))


def draw(found: Rows, stamp: str) -> None:
    """One line per method: filled at the PU-only choice, hollow at the oracle's. Once for each color scheme."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    methods = ordered(found)[::-1]
    places = range(len(methods))
    chosen, oracle = ([mean(found[method][by]) for method in methods] for by in (PU_ONLY, ORACLE))
    marks = [f" {OLDER}" if not all(map(current, found[m][PU_ONLY].values())) else "" for m in methods]
    for path, (back, ink, grid, line, filled, hollow) in FIGURES.items():
        text = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), ink)
        with pyplot.rc_context({**text, "figure.facecolor": back, "axes.facecolor": back, "legend.facecolor": back}):
            figure, axes = pyplot.subplots(figsize=(7.2, 7.6), layout="constrained")
            axes.hlines(places, chosen, oracle, color=line, linewidth=1.5, zorder=1)
            axes.scatter(
                oracle, places, s=34, facecolors=back, edgecolors=hollow, zorder=2, label="with true labels (F1)"
            )
            axes.scatter(chosen, places, s=34, color=filled, zorder=3, label="without true labels (PA)")
            axes.set_yticks(places, [label(m) + mark for m, mark in zip(methods, marks, strict=True)], fontsize=8)
            axes.set_xlabel("test accuracy, %, mean over seeds")
            axes.grid(axis="x", color=grid, zorder=0)
            axes.set_ylim(-0.8, len(methods) - 0.2)
            axes.spines[["top", "right", "left"]].set_visible(False)
            axes.tick_params(axis="y", length=0)
            axes.legend(title="epoch chosen", loc="upper left", frameon=True, edgecolor="none", reverse=True)
            figure.savefig(path, format="png", dpi=144, metadata={"Software": None, STAMP: stamp})
            pyplot.close(figure)


def main() -> None:
    found = rows()
    made, stamp = blocks(found), stamp_of(found)
    text = README.read_text(encoding="utf-8")
    if sys.argv[1:] == ["--check"]:
        same = all(block_of(text, name) == content for name, content in made.items())
        same = same and all(stamp_in(path) == stamp for path in FIGURES)
        sys.exit(not same and "README.md: run python benchmarks/readme_report.py")
    draw(found, stamp)
    for name, content in made.items():
        text = with_block(text, name, content)
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
