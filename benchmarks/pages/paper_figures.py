"""Draws Figures 1 to 4 of Jain, White & Radivojac (AAAI 2017) and Figure 2 of PULP, from formulas and committed rows.

Rows: ``recovered-error.csv`` and ``pulp-rank.csv``, see ``docs/pages/experiments.md``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure
from pubench_metrics.recovered import Mixture, auc, direct_auc
from pubench_report.drawing import COLORS, INK, SOFT, looks

#: Way of Tables 1 and 2 -> columns of its AUC and AUC-PR.
WAYS = {
    "PU": ("pu_auc", "pu_ap"),
    "IR": ("real_indirect", "real_ap"), "DR": ("real_direct", ""),
    "IE": ("estimated_indirect", "estimated_ap"), "DE": ("estimated_direct", ""),
}  # fmt: skip
#: Example of Figure 1: scores, who is labeled, who is positive. Its source shows it without numbers in the text.
SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.1])
LABELED = np.array([1, 0, 1, 0, 1, 0, 0, 0], dtype=bool)
POSITIVE = LABELED | (np.arange(8) == 1)
Map = npt.NDArray[Any]


def jain_1(_: object = None) -> Figure:
    """ROC curves of eight examples, with unlabeled rows as negatives and with true labels."""
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    for axes, positive, name in zip(
        figure.subplots(1, 2), (LABELED, POSITIVE), ("unlabeled as negative", "true labels"), strict=True
    ):
        order = positive[np.argsort(-SCORES)]
        recall, fpr = np.append(0, order.cumsum() / order.sum()), np.append(0, (~order).cumsum() / (~order).sum())
        axes.plot(fpr, recall, color=COLORS[0], marker="o")
        axes.fill_between(fpr, recall, color=COLORS[0], alpha=0.15, step="post")
        area = auc(SCORES[positive], SCORES[~positive])
        axes.set(title=f"{name}: AUC {area:.3f}", xlabel="false positive rate, η", ylabel="recall, γ")
    return figure


def jain_2(rows: pd.DataFrame) -> Figure:
    """Signed errors by β, and absolute ones against the error of β - α."""
    betas = sorted(rows.beta.unique(), reverse=True)
    off = ((rows.estimated_beta - rows.estimated_alpha) - (rows.real_beta - rows.real_alpha)).abs()
    figure, shown = Figure(figsize=(8.0, 5.6), layout="constrained"), dict(zip(WAYS, looks(len(WAYS)), strict=True))
    for line, (measure, true) in zip(
        figure.subplots(2, 2), (("AUC", "supervised_auc"), ("AUC-PR", "supervised_ap")), strict=True
    ):
        boxes, points = line
        ways = {way: columns[measure == "AUC-PR"] for way, columns in WAYS.items() if columns[measure == "AUC-PR"]}
        for k, (way, column) in enumerate(ways.items()):
            look = shown[way]
            error = rows[column].clip(upper=1) - rows[true]
            found = boxes.boxplot(
                [error[rows.beta == beta].dropna() for beta in betas],
                positions=[i + 0.15 * (k - (len(ways) - 1) / 2) for i in range(len(betas))],
                widths=0.12, patch_artist=True, flierprops={"markersize": 2}, medianprops={"color": INK},
            )  # fmt: skip
            for box in found["boxes"]:
                box.set(facecolor=look.color, edgecolor=look.color, alpha=0.7)
            boxes.plot([], [], "s", color=look.color, label=way)
            points.plot(off, error.abs(), look.marker, color=look.color, markersize=3, alpha=0.7, label=way)
        boxes.axhline(0, color=SOFT, linewidth=0.8)
        boxes.set_xticks(range(len(betas)), [f"β = {beta:g}" for beta in betas])
        boxes.set(title=f"{measure}: estimate - supervised truth")
        points.set(title=f"{measure}: absolute error", xlabel="absolute error of the estimated β - α")
        points.legend(fontsize=7)
    return figure


def recovered(alpha: float, beta: float, true: float, steps: int = 81) -> tuple[Map, Map]:
    """(absolute error, whether the recovered AUC is outside [0, 1]) over estimates; rows are β, columns α, in [0, 1].

    Equation 4 in both directions. No error where the estimates of β and α are equal.
    """
    pu = (beta - alpha) * true + (1 - (beta - alpha)) / 2
    ticks = np.linspace(0, 1, steps)
    found = np.array([[direct_auc(pu, Mixture(a, b)) if a != b else np.nan for a in ticks] for b in ticks])
    return np.abs(found - true), ~((found >= 0) & (found <= 1))


def heat(axes: Any, alpha: float, beta: float, true: float) -> Any:
    """One heat map with the true α and β as dotted lines; gray: infeasible."""
    error, infeasible = recovered(alpha, beta, true)
    axes.set_facecolor("#BBBBBB")
    shown = axes.imshow(
        np.where(infeasible, np.nan, error), origin="lower", extent=(0, 1, 0, 1), cmap="Blues", vmin=0, vmax=0.5
    )
    axes.axvline(alpha, color=INK, linestyle=":", linewidth=0.8)
    axes.axhline(beta, color=INK, linestyle=":", linewidth=0.8)
    axes.grid(visible=False)
    return shown


def jain_3(_: object = None) -> Figure:
    """27 heat maps of the error of the recovered AUC."""
    figure = Figure(figsize=(9.6, 3.9), layout="constrained")
    grid = figure.subplots(3, 9, sharex=True, sharey=True)
    for column, (beta, true) in enumerate((b, t) for b in (0.75, 0.95, 1.0) for t in (0.65, 0.80, 0.95)):
        for row, alpha in enumerate((0.05, 0.25, 0.50)):
            shown = heat(grid[row, column], alpha, beta, true)
            grid[row, column].set_xticks((0, 1))
            grid[row, column].set_yticks((0, 1))
            grid[row, column].set_title(f"{alpha:g}, {beta:g}, {true:g}", fontsize=6.5)
    figure.supxlabel("estimated α", fontsize=8)
    figure.supylabel("estimated β", fontsize=8)
    figure.colorbar(shown, ax=grid, label="absolute error of AUC", shrink=0.8)
    return figure


def jain_4(_: object = None) -> Figure:
    """One heat map, and the lines on which the recovered AUC has a known value."""
    alpha, beta, true = 0.25, 0.75, 0.90
    figure = Figure(figsize=(8.6, 3.3), layout="constrained")
    left, right = figure.subplots(1, 2)
    figure.colorbar(heat(left, alpha, beta, true), ax=left, label="absolute error of AUC", shrink=0.8)
    left.set(title="α = .25, β = .75, AUC = .90", xlabel="estimated α", ylabel="estimated β")
    gap = beta - alpha
    lines = {"AUC of P against U": 1.0, "AUC (correct)": gap, "1": gap * (2 * true - 1), "0": -gap * (2 * true - 1)}
    lines["1 - AUC"] = -gap
    for (name, difference), look in zip(lines.items(), looks(len(lines)), strict=True):
        ends = np.array([max(0.0, -difference), min(1.0, 1 - difference)])
        marker = "o" if ends[0] == ends[1] else ""
        right.plot(ends, ends + difference, linestyle=look.line, marker=marker, color=look.color, label=name)
    right.fill_between([0, 1], *([np.clip(np.array([0, 1]) + lines[n], -1, 2) for n in "01"]), color="#BBBBBB")
    right.set(title="where the recovered AUC is ...", xlabel="estimated α", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    figure.legend(loc="outside right center", fontsize=8)
    return figure


def pulp_2(rows: pd.DataFrame) -> Figure:
    """Rank correlation and mean absolute deviation of every measure over the share of positives in U."""
    scenarios, measures = list(rows.scenario.unique()), list(rows.measure.unique())
    figure = Figure(figsize=(8.6, 5.0), layout="constrained")
    grid = figure.subplots(2, len(scenarios), sharex=True, sharey="row")
    columns = {"rank_correlation": "rank correlation", "mean_absolute_deviation": "mean absolute deviation"}
    for line, (column, name) in zip(grid, columns.items(), strict=True):
        line[0].set_ylabel(name)
        for axes, scenario in zip(line, scenarios, strict=True):
            for measure, look in zip(measures, looks(len(measures)), strict=True):
                mine = rows[(rows.scenario == scenario) & (rows.measure == measure)]
                axes.plot(mine.share, mine[column], linestyle=look.line, label=measure, **look.marks)
    for k, scenario in enumerate(scenarios):
        grid[0, k].set_title(scenario)
        grid[1, k].set_xlabel("share of positives in U")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", fontsize=8)
    return figure
