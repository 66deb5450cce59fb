"""The page ``checked-rows.md`` and its figure: what true labels of some unlabeled rows buy, and which rows to check."""

from __future__ import annotations

from itertools import product

import pandas as pd
from matplotlib.figure import Figure
from pubench_report.drawing import DPI, INK, SERIES, SMALL
from scipy.stats import ttest_1samp

from benchmarks.pages.figures import finish
from benchmarks.pages.label_ratio import MECHANISMS
from benchmarks.pages.parts import interval, render, table
from benchmarks.pages.queries import rows

BAGGING, ALONE = "pu-bagging", "checked rows alone"
SHOWN = (BAGGING, ALONE, "naive", "two-step", "elkan-noto")
#: What k rows can be used for without training on them, each a column of :func:`uses`.
USES = {"auc": "choosing a method, AUC", "share": "share of positives, accuracy", "cut": "threshold, accuracy"}
LABELINGS = {"S1": "labels at random", "S2": "likely positives labeled", "S3": "unlikely positives labeled"}


def runs() -> pd.DataFrame:
    """A row per run: mechanism, data, seed, method, how rows were chosen (``by``), how many (``k``), measures."""
    found = rows("study-checked-rows").query("criterion == 'last'").fillna({"preset": ""})
    return found.assign(
        k=found.settings.str.extract(r"checked\.rows=(\d+)")[0].fillna("0").astype(int),
        by=found.settings.str.extract(r"checked\.by=(\w+)")[0].fillna("random"),
        method=found.method.where(found.preset != "known", ALONE),
        mechanism=found.mechanism.map(MECHANISMS),
    )


def gains(found: pd.DataFrame, measure: str = "auc", over: str = BAGGING) -> pd.DataFrame:
    """A measure minus that of a method without checked rows, means over seeds.

    A row per mechanism and table, a column per method, choice of rows and number of rows.
    """
    values = found.pivot_table(measure, ["mechanism", "data", "seed"], ["method", "by", "k"])
    return values.sub(values[over, "random", 0], axis=0).groupby(level=[0, 1]).mean()


def uses() -> pd.DataFrame:
    """Points over `pu-bagging` alone, over decisions at the true prior, and the error of the share of positives."""
    found = rows("checked-uses").query("k < 300").replace({"mechanism": MECHANISMS})  # 300: of four tables
    found = found.assign(share=found.at_share - found.at_prior, cut=found.accuracy - found.at_prior)
    return found.pivot_table([*USES, "prior_error"], ["mechanism", "data"], "k").rename(columns=USES)


def intervals(apart: pd.DataFrame, *heads: str) -> str:
    """A line per labeling and column of ``apart``, with means over tables by number of rows."""
    sizes, lines = sorted({*apart.columns.get_level_values("k")} - {0}), []
    for mechanism, named in product(LABELINGS, dict.fromkeys(column[:-1] for column in apart)):
        of = apart.loc[mechanism].xs(named, axis=1).dropna(axis=1, how="all")
        lines.append((mechanism, *named, *(interval(of[k]) if k in of else "" for k in sizes)))
    return table(("labels", *heads, *map(str, sizes)), lines)


def enough(found: pd.DataFrame, mechanism: str) -> tuple[str, int | None, int | None]:
    """The best method without checked rows; from how many on these alone are better on average, and for sure."""
    auc = found[(found.k == 0) & (found.mechanism == mechanism)].groupby("method").auc.mean()
    apart = gains(found, over=auc.idxmax()).loc[mechanism, (ALONE, "random")]
    ahead = apart.mean() > 0, apart.apply(interval).str.startswith("**+")
    return auc.idxmax(), *(next((k for k in of.index if of.loc[k:].all()), None) for of in ahead)


def draw(apart: pd.DataFrame) -> Figure:
    """A panel per labeling: AUC gained over bagged trees without checked rows, by how many are drawn at random."""
    figure = Figure(figsize=(9.6, 3.4), dpi=DPI)
    panels, sizes = figure.subplots(1, len(LABELINGS), sharey=True), sorted({*apart.columns.get_level_values("k")})
    for panel, (mechanism, said) in zip(panels, LABELINGS.items(), strict=True):
        for look, method in zip(SERIES, SHOWN, strict=True):
            of = apart.loc[mechanism].xs((method, "random"), axis=1).dropna(axis=1, how="all")
            at = [sizes.index(k) for k in of]
            panel.plot(at, of.mean(), color=look["color"], marker=look["marker"], markersize=4, label=method)
            if method in SHOWN[:2]:
                panel.fill_between(at, *ttest_1samp(of, 0).confidence_interval(), color=look["color"], alpha=0.12, lw=0)
        panel.set_xticks(range(len(sizes)), sizes)
        panel.set_ylim(-20, 40)
        finish(panel, f"{mechanism}: {said}")
    panels[0].set_ylabel("points of AUC gained", fontsize=SMALL, color=INK)
    panels[1].set_xlabel("checked rows", fontsize=SMALL, color=INK)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=5, fontsize=SMALL, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    return figure


def page() -> str:
    found = runs()
    apart, accuracy, used = gains(found), gains(found, "accuracy-at-prior"), uses()
    return render(
        "checked-rows.md",
        table=intervals(apart, "trained on", "rows"),
        uses=intervals(used[[*USES.values()]], "use of the rows"),
        error=used["prior_error"].mean(),
        used=used.groupby(level=0).mean(),
        tables=found.data.nunique(),
        seeds=found.groupby(["method", "by", "mechanism", "data"]).seed.nunique().groupby(["method", "by"]).min(),
        enough={mechanism: enough(found, mechanism) for mechanism in LABELINGS},
        gained=apart.groupby(level=0).mean(),
        decided=accuracy.groupby(level=0).mean(),
    )
