"""The README's findings, its figure and its table of results, from committed rows.

PU-Bench's conventional setting on Spambase. The figure is ordered by what a user can do: the accuracy at the epoch that
``pa`` chose. The findings are the first headings of the page that ``findings.py`` wrote.
"""

from __future__ import annotations

import re
import statistics
import textwrap

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.pages.parts import PAGES, render, table
from benchmarks.pages.queries import CONVENTIONAL, at_prior, studies
from benchmarks.pages.summary import OLDER, OLDER_ROWS
from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry

#: Colors of background, text, grid, line, PU-only choice, oracle choice.
LIGHT = ("white", "#1f2328", "#e6e6e6", "#b8c4d0", "#1f5fa8", "#c2571a")
DARK = ("#0d1117", "#e6edf3", "#30363d", "#57606a", "#79b8ff", "#f0883e")
#: How many findings the README names.
NAMED = 5
DATA, SEEDS = "spambase", 10
#: How many of the best methods the table shows.
SHOWN = 6


def runs() -> pd.DataFrame:
    """The rows that count."""
    return studies(**CONVENTIONAL, data=DATA)


def means(found: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy by method and criterion."""
    by = found.groupby(["method", "criterion"]).accuracy.agg(statistics.fmean).unstack()
    return by.sort_values("pa", ascending=False, kind="stable")


def cell(found: pd.DataFrame, method: str, criterion: str, measure: str = "accuracy") -> str:
    """Mean ± sample standard deviation over seeds, in percent, with the number of seeds if some are missing."""
    values = found[(found.method == method) & (found.criterion == criterion)][measure]
    some = f" ({len(values)} of {SEEDS})" if len(values) < SEEDS else ""
    return f"{values.mean():.1f} ± {values.std():.1f}{some}"


def label(method: str) -> str:
    """Name of a method with what it is: an oracle or the baseline."""
    info = registry().find(MethodInfo, method)
    kind = "oracle" if "truth" in info.needs else "baseline" if info.role == "baseline" else ""
    return f"{method} ({kind})" if kind else method


def older(found: pd.DataFrame) -> set[str]:
    """Methods with rows of another engine revision than the present one."""
    return {*found[(found.criterion == "pa") & (found.revision != str(ENGINE_REVISION))].method}


def ranked(found: pd.DataFrame) -> list[str]:
    """The methods that have all seeds and are neither an oracle nor the baseline, best first."""
    counts = found[found.criterion == "pa"].method.value_counts()
    return [method for method in means(found).index if counts[method] == SEEDS and label(method) == method]


def blocks() -> dict[str, str]:
    """Markdown by the name of its block."""
    found = runs()
    by, best, marked = means(found), ranked(found), older(found)
    behind = (by.f1 - by.pa)[best]
    lines = [
        (label(m) + (f" {OLDER}" if m in marked else ""), cell(found, m, "pa"), cell(found, m, "pa", "auc"),
         cell(found, m, "f1"))
        for m in [*best[:SHOWN], "nnpu", "naive", "pn"]
    ]  # fmt: skip
    decided = at_prior().query("data == @DATA").groupby("method").accuracy_at_prior.agg(["mean", "size"])
    whole = decided[decided["size"] == SEEDS]["mean"]
    opening = render(
        "readme-opening.md",
        findings=re.findall(r"^## (.+)$", (PAGES / "findings.md").read_text(encoding="utf-8"), re.MULTILINE)[:NAMED],
        number=len(by),
        best=best[0],
        accuracy=by.pa[best[0]],
        naive=by.pa["naive"],
        behind=behind.idxmax(),
        paid=behind.max(),
    )
    network = next(method for method in best if method in whole.index)
    said = " and ".join(f"`{method}` has {whole[method]:.1f}" for method in (network, "nnpu"))
    head = ("method", "accuracy, epoch by `pa`", "AUC, epoch by `pa`", "accuracy, epoch by F1 (oracle)")
    results = [
        table(head, lines),
        f"Networks decide at a score of 0, classics and `naive` at the prior. There, {said}.",
    ]
    if any(OLDER in name for name, *_ in lines):
        results.append(f"{OLDER}: runs of an {OLDER_ROWS}.")
    return {"opening": "\n\n".join(map(wrapped, opening.split("\n\n"))), "results": "\n\n".join(results)}


def wrapped(text: str) -> str:
    """A paragraph in lines of 118 characters; HTML as it is."""
    if text.startswith("<"):
        return text
    return "\n".join(textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False))


def shown() -> list[tuple[str, str, float, float]]:
    """(method, name, accuracy at the PU-only choice, at the oracle's), the last first."""
    found = runs()
    marked = older(found)
    return [
        (str(method), label(method) + (f" {OLDER}" if method in marked else ""), float(row["pa"]), float(row["f1"]))
        for method, row in means(found)[::-1].iterrows()
    ]


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
