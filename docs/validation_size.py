"""Draws what a choice with few held-out labels loses, from ``benchmarks/results/validation-size.csv``.

python docs/validation_size.py docs/pages/images/validation-size.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pubench_report.report.figures.style import DPI, INK, RULE, SMALL, TEXT, looks

ROWS = Path(__file__).parents[1] / "benchmarks" / "results" / "validation-size.csv"
CRITERIA = {"pa": "PA", "pauc": "PAUC"}


def rows() -> pd.DataFrame:
    """All of them."""
    return pd.read_csv(ROWS)


def means(found: pd.DataFrame, by: str, value: str = "lost") -> pd.DataFrame:
    """Mean over cells (data set, c, seed, method) with the lowest and highest of them, by ``by``."""
    grouped = found.groupby(by)[value]
    return pd.DataFrame({"mean": grouped.mean(), "low": grouped.min(), "high": grouped.max(), "n": grouped.size()})


def draw(found: pd.DataFrame) -> Figure:
    """Points lost by choosing the epoch, by choosing the method, and by PA that is given a wrong prior."""
    figure = Figure(figsize=(9.6, 3.3), dpi=DPI)
    epoch, method, prior = figure.subplots(1, 3)
    for axes, question, title in ((epoch, "epoch", "choosing the epoch"), (method, "method", "choosing the method")):
        for look, (criterion, name) in zip(looks(2), CRITERIA.items(), strict=True):
            mine = means(found[(found["question"] == question) & (found["criterion"] == criterion)], "held_out")
            axes.plot(mine.index, mine["mean"], color=look.color, marker=look.marker, markersize=4, label=name)
            axes.fill_between(mine.index, mine["low"], mine["high"], color=look.color, alpha=0.12, linewidth=0)
        axes.set_xscale("log")
        axes.set_xlabel("held-out labeled positives", fontsize=SMALL, color=INK)
        _finish(axes, title)
    epoch.set_ylabel("points of test accuracy lost", fontsize=SMALL, color=INK)
    wrong = means(found.query("question == 'prior'"), "factor")
    prior.plot(np.arange(len(wrong)), wrong["mean"], color=looks(1)[0].color, marker="o", markersize=4, label="PA")
    prior.fill_between(np.arange(len(wrong)), wrong["low"], wrong["high"], color=looks(1)[0].color, alpha=0.12)
    prior.set_xticks(np.arange(len(wrong)), [f"{factor:g}" for factor in wrong.index])
    prior.set_xlabel("prior given to PA / true prior", fontsize=SMALL, color=INK)
    _finish(prior, "choosing the epoch, wrong prior")
    epoch.legend(fontsize=SMALL, frameon=False)
    figure.tight_layout()
    return figure


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=TEXT, color=INK)
    axes.grid(color=RULE, linewidth=0.5)
    axes.tick_params(labelsize=SMALL, colors=INK)
    axes.set_ylim(bottom=0)


if __name__ == "__main__":
    draw(rows()).savefig(sys.argv[1], metadata={"Software": None})
