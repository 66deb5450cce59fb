"""The figure of nnPU's order and decisions against the prior, with the sigmoid and the logistic loss."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from pubench_report.drawing import DPI, INK, RULE, SMALL, TEXT, looks

from benchmarks.raw_rows import RESULTS

ROWS = RESULTS / "own-priors.csv"
#: Table -> what is positive there.
TABLES = {"pendigits": "Pendigits, even digits", "bank": "Bank, who said yes"}
#: Lines in the order of the legend.
LINES = ("nnPU, sigmoid loss", "nnPU, logistic loss", "bagged trees, P against U")


def line_of(row: Mapping[str, str]) -> str:
    """The line that a row belongs to; the sigmoid loss is nnPU's default."""
    if row["method"] == "bagged-trees":
        return LINES[2]
    return LINES[json.loads(row["config"]).get("surrogate", "sigmoid") == "logistic"]


def draw(rows: Sequence[Mapping[str, str]]) -> Figure:
    """A column of panels per table: AUC on the unlabeled rows, and the share of them that is decided positive."""
    figure = Figure(figsize=(7.2, 4.6), dpi=DPI)
    panels = figure.subplots(2, len(TABLES), sharex=True, sharey="row")
    for k, (table, title) in enumerate(TABLES.items()):
        above, below = panels[0][k], panels[1][k]
        for line, look in zip(LINES, looks(len(LINES)), strict=True):
            mine = sorted(
                (row for row in rows if row["table"] == table and line_of(row) == line),
                key=lambda row: float(row["true_prior"]),
            )
            for axes, name in ((above, "auc"), (below, "decided")):
                points = [(float(row["true_prior"]), float(row[name])) for row in mine if row[name]]
                axes.plot(
                    *zip(*points, strict=True) if points else ((), ()), color=look.color, marker=look.marker,
                    linestyle=look.line, markersize=4.5, linewidth=1.3, label=line,
                )  # fmt: skip
        below.plot((0, 1), (0, 1), color=RULE, linewidth=1.0, zorder=0)
        above.axhline(0.5, color=RULE, linewidth=1.0, zorder=0)
        above.set_title(title, fontsize=TEXT, color=INK)
        below.set_xlabel("class prior π", fontsize=SMALL, color=INK)
        for axes in (above, below):
            axes.set_ylim(-0.03, 1.03)
            axes.grid(color=RULE, linewidth=0.6)
            axes.tick_params(labelsize=SMALL, colors=INK)
    panels[0][0].set_ylabel("AUC", fontsize=SMALL, color=INK)
    panels[1][0].set_ylabel("decided positive", fontsize=SMALL, color=INK)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(LINES), fontsize=SMALL, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    return figure


def rows() -> list[dict[str, str]]:
    """One seed, last epoch."""
    with ROWS.open(newline="") as file:
        return [
            row
            for row in csv.DictReader(file)
            if row["criterion"] in ("last", "") and "paired" not in row["config"] and row["seed"] == "2"
        ]
