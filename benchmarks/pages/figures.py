"""Figures of findings: what the decision at the prior changes, and nnPU's loss far from a prior of one half."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pubench_report.drawing import DPI, INK, RULE, SERIES, SMALL, TEXT

from benchmarks.pages import queries
from benchmarks.pages.queries import DATA


def finish(axes: Axes, title: str = "", grid: str = "both", width: float = 0.5) -> None:
    """Title, grid and ticks in the style of the pages."""
    axes.set_title(title, fontsize=TEXT, color=INK)
    axes.grid(color=RULE, linewidth=width, axis=grid)
    axes.tick_params(labelsize=SMALL, colors=INK)


def decisions() -> pd.DataFrame:
    """Mean F1 by data set and method: ``zero`` and ``prior``."""
    found = queries.rows("decisions").query("criterion == 'pa' and scheme == 'case-control'")
    named = found.rename(columns={"f1": "zero", "f1_at_prior": "prior"})
    return named.groupby(["data", "method"], as_index=False)[["zero", "prior"]].mean()


def draw_decisions(found: pd.DataFrame) -> Figure:
    """A panel per data set, a line per method from its F1 at 0 to that at the prior."""
    shown = ("spambase", "20news", "connect-4")
    sizes = [max(int((found["data"] == data).sum()), 3) for data in shown]
    figure = Figure(figsize=(6.4, 0.21 * sum(sizes) + 1.6), dpi=DPI)
    panels = figure.subplots(3, 1, sharex=True, height_ratios=sizes)
    first, second, *_ = SERIES
    for axes, data in zip(panels, shown, strict=True):
        mine = found[found["data"] == data].sort_values("zero", ascending=False)
        places = range(len(mine))
        axes.hlines(places, mine["zero"], mine["prior"], color=RULE, linewidth=1.6)
        axes.plot(mine["zero"], places, first["marker"], color=first["color"], markersize=4.5, label="scores above 0")
        axes.plot(mine["prior"], places, second["marker"], color=second["color"], markersize=4.5, label="at the prior")
        axes.set_yticks(list(places), mine["method"], fontsize=SMALL, color=INK)
        axes.invert_yaxis()
        finish(axes, f"{DATA[data]}, by PA", grid="x")
    panels[-1].set_xlabel("F1 on test rows, %", fontsize=SMALL, color=INK)
    panels[0].legend(fontsize=SMALL, frameon=False, loc="upper left")
    figure.tight_layout()
    return figure


def losses() -> pd.DataFrame:
    """Rows of nnPU with each loss (the sigmoid one is its default) and of bagged trees: one seed, last epoch."""
    found = queries.rows("own-priors").query("(criterion == 'last' or criterion.isna()) and seed == 2")
    found = found[~found.config.str.contains("paired")]
    logistic = found.config.str.contains('"surrogate": "logistic"', regex=False)
    line = logistic.map({False: "nnPU, sigmoid loss", True: "nnPU, logistic loss"})
    line = line.where(found.method != "bagged-trees", "bagged trees, P against U")
    return found.assign(line=line).sort_values("true_prior", kind="stable")


def draw_losses(found: pd.DataFrame) -> Figure:
    """A column of panels per table: AUC on the unlabeled rows, and the share of them that is decided positive."""
    figure = Figure(figsize=(7.2, 4.6), dpi=DPI)
    panels = figure.subplots(2, 2, sharex=True, sharey="row")
    lines = ("nnPU, sigmoid loss", "nnPU, logistic loss", "bagged trees, P against U")
    titles = {"pendigits": "Pendigits, even digits", "bank": "Bank, who said yes"}
    for column, (table, title) in zip(panels.T, titles.items(), strict=True):
        for axes, name in zip(column, ("auc", "decided"), strict=True):
            for line, look in zip(lines, SERIES, strict=False):
                mine = found[(found.table == table) & (found.line == line)].dropna(subset=name)
                axes.plot(
                    mine.true_prior, mine[name], **look,
                    markersize=4.5, linewidth=1.3, label=line,
                )  # fmt: skip
            finish(axes, title if name == "auc" else "", width=0.6)
            axes.set_ylim(-0.03, 1.03)
        column[0].axhline(0.5, color=RULE, linewidth=1.0, zorder=0)
        column[1].plot((0, 1), (0, 1), color=RULE, linewidth=1.0, zorder=0)
        column[1].set_xlabel("class prior π", fontsize=SMALL, color=INK)
    panels[0][0].set_ylabel("AUC", fontsize=SMALL, color=INK)
    panels[1][0].set_ylabel("decided positive", fontsize=SMALL, color=INK)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(lines), fontsize=SMALL, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    return figure
