"""The README's findings, its figure and its table of results, from committed rows.

PU-Bench's conventional setting: case-control data, SCAR labels, c = .1, 1 % validation, true prior. If a method and
seed have several rows, that of the newest engine revision counts. The figure is ordered by what a user can do: the
accuracy at the epoch that ``pa`` chose. The findings are the first headings of the page that ``findings.py`` wrote.
"""

from __future__ import annotations

import csv
import re
import statistics
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.pages.summary import OLDER, OLDER_ROWS
from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "pages"
README, FINDINGS = ROOT / "README.md", PAGES / "findings.md"
#: Colors of background, text, grid, line, PU-only choice, oracle choice.
LIGHT = ("white", "#1f2328", "#e6e6e6", "#b8c4d0", "#1f5fa8", "#c2571a")
DARK = ("#0d1117", "#e6edf3", "#30363d", "#57606a", "#79b8ff", "#f0883e")
PU = "PU learning trains a binary classifier from labeled positives and unlabeled rows."
#: How many findings the README names.
NAMED = 4
STUDIES = [
    ROOT / "benchmarks" / "results" / f"study-{name}.csv"
    for name in ("conventional", "classics", "conventional-13", "methods-2", "methods-3", "methods-4")
]
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

#: Method -> criterion -> seed -> row.
Rows = dict[str, dict[str, dict[str, dict[str, str]]]]


def rows() -> Rows:
    """The rows that count."""
    return newest(row for path in STUDIES for row in read(path))[DATA]


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
    """Whether a row is of the present engine revision."""
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


def blocks() -> dict[str, str]:
    """Markdown by the name of its block."""
    found = rows()
    best = ranked(found)
    behind = max((mean(found[m][ORACLE]) - mean(found[m][PU_ONLY]), m) for m in best)[1]
    accuracy, paid = mean(found[best[0]][PU_ONLY]), mean(found[behind][ORACLE]) - mean(found[behind][PU_ONLY])
    sentences = [
        f"**{len(found)} methods on Spambase, 10 % of the positives labeled.**",
        "Filled: the epoch is chosen without true labels. Hollow: it is chosen with them, as publications do.",
        f"Without them, `{best[0]}` is first ({accuracy:.1f} %).",
        f"`naive`, which takes unlabeled rows as negative, has {mean(found['naive'][PU_ONLY]):.1f} %.",
        f"At a score of 0, the choice costs `{behind}` {paid:.0f} points.",
    ]
    findings = f"{PU} **Measured here:** {'. '.join(headings()[:NAMED])}. [All findings](docs/pages/findings.md)."
    light, dark = (f"docs/pages/images/spambase-choice{scheme}.png" for scheme in ("", "-dark"))
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
    network = next(method for method in best if prior_accuracy(found, method) is not None)
    said = " and ".join(f"`{method}` has {prior_accuracy(found, method):.1f}" for method in (network, "nnpu"))
    lines += ["", f"Networks decide at a score of 0, classics and `naive` at the prior. There, {said}."]
    if any(OLDER in line for line in lines):
        lines += ["", f"{OLDER}: runs of an {OLDER_ROWS}."]
    return {
        "opening": f"{wrapped(findings)}\n\n{picture}\n\n{wrapped(' '.join(sentences))}",
        "results": "\n".join(lines),
    }


def prior_accuracy(found: Rows, method: str) -> float | None:
    """Mean accuracy of the epoch by ``pa``, decided at the prior; None without all seeds."""
    seeds = {
        row["seed"]: float(row["accuracy_at_prior"])
        for row in read(ROOT / "benchmarks" / "results" / "decisions.csv")
        if (row["method"], row["data"], row["criterion"]) == (method, DATA, PU_ONLY) and row["scheme"] == "case-control"
    }
    return statistics.fmean(seeds.values()) if seeds.keys() == found[method][PU_ONLY].keys() else None


def headings() -> list[str]:
    """Headings of the page of findings, in its order."""
    return re.findall(r"^## (.+)$", FINDINGS.read_text(encoding="utf-8"), re.MULTILINE)


def wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False))


def shown() -> list[tuple[str, str, float, float]]:
    """(method, name, accuracy at the PU-only choice, at the oracle's), the last first."""
    found = rows()
    return [
        (method, label(method) + ("" if all(map(current, found[method][PU_ONLY].values())) else f" {OLDER}"),
         mean(found[method][PU_ONLY]), mean(found[method][ORACLE]))
        for method in ordered(found)[::-1]
    ]  # fmt: skip


def draw(methods: list[tuple[str, str, float, float]], colors: tuple[str, str, str, str, str, str]) -> Figure:
    """One line per method: filled at the PU-only choice, hollow at the oracle's."""
    back, ink, grid, line, filled, hollow = colors
    names, chosen, oracle = ([one[k] for one in methods] for k in (1, 2, 3))
    places = range(len(methods))
    figure = Figure(figsize=(7.2, 7.6), layout="constrained", facecolor=back)
    axes = figure.subplots()
    axes.set_facecolor(back)
    axes.hlines(places, chosen, oracle, color=line, linewidth=1.5, zorder=1)
    axes.scatter(oracle, places, s=34, facecolors=back, edgecolors=hollow, zorder=2, label="with true labels (F1)")
    axes.scatter(chosen, places, s=34, color=filled, zorder=3, label="without true labels (PA)")
    axes.set_yticks(places, names, fontsize=8)
    axes.set_xlabel("test accuracy, %, mean over seeds", color=ink)
    axes.grid(axis="x", color=grid, zorder=0)
    axes.set_ylim(-0.8, len(methods) - 0.2)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(ink)
    axes.tick_params(axis="both", color=ink, labelcolor=ink)
    axes.tick_params(axis="y", length=0)
    legend = axes.legend(
        title="epoch chosen", loc="upper left", edgecolor="none", facecolor=back, labelcolor=ink, reverse=True
    )
    legend.get_title().set_color(ink)
    return figure
