"""The figure of what the decision at the prior changes."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from pubench_report.drawing import DPI, INK, RULE, SMALL, TEXT, looks

from benchmarks.raw_rows import RESULTS


def rows() -> pd.DataFrame:
    """Mean F1 by data set and method: ``zero`` and ``prior``."""
    found = pd.read_csv(RESULTS / "decisions.csv").query("criterion == 'pa' and scheme == 'case-control'")
    return (
        found.rename(columns={"f1": "zero", "f1_at_prior": "prior"})
        .groupby(["data", "method"], as_index=False)[["zero", "prior"]]
        .mean()
    )


def draw(found: pd.DataFrame) -> Figure:
    """A panel per data set, a line per method from its F1 at 0 to that at the prior."""
    titles = {"spambase": "Spambase, by PA", "20news": "20News, by PA", "connect-4": "Connect-4, by PA"}
    sizes = [max(int((found["data"] == data).sum()), 3) for data in titles]
    figure = Figure(figsize=(6.4, 0.21 * sum(sizes) + 1.6), dpi=DPI)
    panels = figure.subplots(3, 1, sharex=True, height_ratios=sizes)
    first, second = looks(2)
    for axes, (data, title) in zip(panels, titles.items(), strict=True):
        mine = found[found["data"] == data].sort_values("zero", ascending=False)
        places = range(len(mine))
        axes.hlines(places, mine["zero"], mine["prior"], color=RULE, linewidth=1.6)
        axes.plot(mine["zero"], places, first.marker, color=first.color, markersize=4.5, label="scores above 0")
        axes.plot(mine["prior"], places, second.marker, color=second.color, markersize=4.5, label="at the prior")
        axes.set_yticks(list(places), mine["method"], fontsize=SMALL, color=INK)
        axes.invert_yaxis()
        axes.set_title(title, fontsize=TEXT, color=INK)
        axes.grid(color=RULE, linewidth=0.5, axis="x")
        axes.tick_params(labelsize=SMALL, colors=INK)
    panels[-1].set_xlabel("F1 on test rows, %", fontsize=SMALL, color=INK)
    panels[0].legend(fontsize=SMALL, frameon=False, loc="upper left")
    figure.tight_layout()
    return figure
