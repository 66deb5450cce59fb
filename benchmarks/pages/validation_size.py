"""The figure and the table of what a choice with few held-out labels loses."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pubench_report.drawing import DPI, INK, SERIES, SMALL

from benchmarks.pages.figures import finish
from benchmarks.pages.parts import table
from benchmarks.pages.queries import rows

HEAD = ("held-out labeled positives", *(f"{what} by {by}" for what in ("epoch", "method") for by in ("PA", "PAUC")))
#: Numbers of held-out labeled positives of figure and table; nearly every cell has as many.
SHOWN = (1, 3, 5, 8, 12, 20, 30, 50, 80, 120)
CRITERIA = {"pa": "PA", "pauc": "PAUC"}


def means(found: pd.DataFrame, by: str, value: str = "lost") -> pd.DataFrame:
    """Mean over cells (data set, c, seed, method) with the lowest and highest of them, by ``by``."""
    grouped = found.groupby(by)[value]
    return pd.DataFrame({"mean": grouped.mean(), "low": grouped.min(), "high": grouped.max(), "n": grouped.size()})


def draw(found: pd.DataFrame) -> Figure:
    """Points lost by choosing the epoch, by choosing the method, and by PA that is given a wrong prior."""
    figure = Figure(figsize=(9.6, 3.3), dpi=DPI)
    epoch, method, prior = figure.subplots(1, 3)
    for axes, question, title in ((epoch, "epoch", "choosing the epoch"), (method, "method", "choosing the method")):
        for look, (criterion, name) in zip(SERIES, CRITERIA.items(), strict=False):
            asked = (found["question"] == question) & (found["criterion"] == criterion)
            mine = means(found[asked & found["held_out"].isin(SHOWN)], "held_out")
            axes.plot(mine.index, mine["mean"], color=look["color"], marker=look["marker"], markersize=4, label=name)
            axes.fill_between(mine.index, mine["low"], mine["high"], color=look["color"], alpha=0.12, linewidth=0)
        axes.set_xscale("log")
        axes.set_xlabel("held-out labeled positives", fontsize=SMALL, color=INK)
        finish(axes, title)
    epoch.set_ylabel("points of test accuracy lost", fontsize=SMALL, color=INK)
    wrong = means(found.query("question == 'prior'"), "factor")
    prior.plot(np.arange(len(wrong)), wrong["mean"], color=SERIES[0]["color"], marker="o", markersize=4, label="PA")
    prior.fill_between(np.arange(len(wrong)), wrong["low"], wrong["high"], color=SERIES[0]["color"], alpha=0.12)
    prior.set_xticks(np.arange(len(wrong)), [f"{factor:g}" for factor in wrong.index])
    prior.set_xlabel("prior given to PA / true prior", fontsize=SMALL, color=INK)
    finish(prior, "choosing the epoch, wrong prior")
    for axes in (epoch, method, prior):
        axes.set_ylim(bottom=0)
    epoch.legend(fontsize=SMALL, frameon=False)
    figure.tight_layout()
    return figure


def blocks() -> dict[str, str]:
    """Points of accuracy lost, means over cells."""
    found = rows("validation-size")
    columns = [
        means(found[(found["question"] == question) & (found["criterion"] == criterion)], "held_out")["mean"]
        for question in ("epoch", "method")
        for criterion in CRITERIA
    ]
    chosen = found[(found["question"] == "method") & (found["criterion"] == "pa")]
    columns.append(means(chosen.astype({"of_random": float}), "held_out", "of_random")["mean"])
    return {
        "lost": table((*HEAD, "a method at random"), ((n, *(f"{column[n]:.1f}" for column in columns)) for n in SHOWN))
    }
