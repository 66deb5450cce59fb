"""Histograms of scores: what a method gives to labeled positives, to positives without a label, and to negatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .style import (
    INK,
    SMALL,
    SOFT,
    TEXT,
    TITLE,
    add_axes,
    new_figure,
    numbers,
    rule_x,
    rule_y,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

#: Inches: a panel's width and height, around it, a line of its legend, the lines over all panels.
PANEL, TALL, LEFT, RIGHT, LINE, UNDER, HEAD = 3.3, 2.1, 0.62, 0.25, 0.19, 0.55, 0.62
ACROSS, BINS = 2, 40
#: Scores beyond these quantiles are counted in the outermost bins.
ENDS = (0.005, 0.995)
#: How each group is drawn, in the order of a panel's groups: told by line and hatch where colors are not seen.
LOOKS: Mapping[str, Mapping[str, Any]] = {
    "labeled positives": {"color": "#D55E00", "linestyle": "-", "linewidth": 1.9},
    "unlabeled positives": {"color": "#000000", "linestyle": "--", "linewidth": 1.3},
    "positives": {"color": "#000000", "linestyle": "--", "linewidth": 1.3},
    "negatives": {"color": "#0072B2", "linewidth": 0.9, "hatch": "////", "fill": "#0072B233"},
    "unlabeled rows": {"color": "#7A7A7A", "linewidth": 0.9, "hatch": "....", "fill": "#7A7A7A33"},
}


@dataclass(frozen=True)
class ScorePanel:
    """``groups``: name (a key of ``LOOKS``) -> (n,) scores, empty ones left out. ``decided``: whether above 0 means
    positive, which further outputs of a method do not have.
    """

    title: str
    groups: Mapping[str, Floats]
    decided: bool = True


def score_histograms(panels: Sequence[ScorePanel], title: str, subtitle: str) -> Figure:
    """A panel each, two in a line. Each group adds up to 100 %: labeled positives are few."""
    across = min(ACROSS, len(panels))
    lines = -(-len(panels) // across)
    legend = LINE * max(len(panel.groups) for panel in panels)
    height = TALL + legend + UNDER + 0.35
    figure = new_figure(across * (LEFT + PANEL + RIGHT), HEAD + lines * height)
    width, whole = (float(size) for size in figure.get_size_inches())
    for text, size, color, down in ((title, TITLE, INK, 0.26), (subtitle, TEXT, SOFT, 0.48)):
        figure.text(
            0.12 / width, 1 - down / whole, shortened(text, width - 0.24, size), fontsize=size, color=color,
            parse_math=False,
        )  # fmt: skip
    for k, panel in enumerate(panels):
        line, place = divmod(k, across)
        bottom = (lines - 1 - line) * height + UNDER
        axes = add_axes(figure, LEFT + place * (LEFT + PANEL + RIGHT), bottom, PANEL, TALL)
        _draw(axes, panel)
    return figure


def _draw(axes: Axes, panel: ScorePanel) -> None:
    edges = _edges(np.concatenate(list(panel.groups.values())), decided=panel.decided)
    highest = 0.0
    for name, scores in panel.groups.items():
        share = 100 * np.histogram(np.clip(scores, edges[0], edges[-1]), edges)[0] / len(scores)
        highest = max(highest, float(share.max()))
        look = LOOKS[name]
        label = _named(name, scores, decided=panel.decided)
        if "hatch" in look:
            axes.stairs(
                share, edges, facecolor=look["fill"], edgecolor=look["color"], fill=True, hatch=look["hatch"],
                linewidth=look["linewidth"], label=label, zorder=1,
            )  # fmt: skip
        else:
            axes.stairs(
                share, edges, color=look["color"], linestyle=look["linestyle"], linewidth=look["linewidth"],
                fill=False, label=label, zorder=3,
            )  # fmt: skip
    axes.set_xlim(float(edges[0]), float(edges[-1]))
    axes.set_ylim(0, 1.06 * highest)
    if panel.decided:
        axes.axvline(0, color=INK, linewidth=0.9, zorder=4)
    rule_x(axes, numbers(float(edges[0]), float(edges[-1]), 6), "score" if panel.decided else "value")
    rule_y(axes, numbers(0, 1.06 * highest, 4), "% of the group")
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), fontsize=SMALL, frameon=False, borderaxespad=0.2, borderpad=0,
        handlelength=2.2, labelspacing=0.25,
    )  # fmt: skip
    over = (0.06 + 0.155 * len(panel.groups)) / TALL
    axes.text(
        0, 1 + over, shortened(panel.title, PANEL, TEXT), transform=axes.transAxes, fontsize=TEXT, weight="bold",
        color=INK, va="bottom", parse_math=False,
    )  # fmt: skip


def _named(name: str, scores: Floats, *, decided: bool) -> str:
    if not decided:
        return f"{name}: {len(scores):,}, mean {scores.mean():.3g}"
    return f"{name}: {len(scores):,}, {100 * float(np.mean(scores > 0)):.0f} % decided positive"


def _edges(scores: Floats, *, decided: bool) -> Floats:
    """Edges of the bins; the decision at 0 is one of them where it lies among the scores, so that no bin has both."""
    low, high = (float(value) for value in np.quantile(scores, ENDS))
    if high <= low:
        low, high = low - 0.5, high + 0.5
    step = (high - low) / BINS
    if not decided or not low < 0 < high:
        return np.linspace(low, high, BINS + 1)
    return step * np.arange(np.floor(low / step), np.ceil(high / step) + 1)
