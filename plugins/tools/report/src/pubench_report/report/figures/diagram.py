"""Critical-difference diagram (Demsar, 2006): average ranks on a line, bars over methods that are not told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...ranking import RankInterval
from .style import INK, SMALL, SOFT, TEXT, add_axes, name_rows, new_figure, numbers, rule_x, short_names, text_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Inches: the axis, one label's line, one bar's line, over the axis.
AXIS, LINE, BAR, HEAD, MOST_NAMES = 5.2, 0.19, 0.1, 0.75, 2.6


def critical_difference(
    ranks: Sequence[RankInterval], difference: float, groups: Sequence[tuple[str, ...]], alpha: float
) -> Figure:
    """``ranks``: best first. The better half is named at the left, the other at the right; ``groups``: the bars."""
    half = -(-len(ranks) // 2)
    numbers_of = {one.method: f"  {one.rank:.2f}" for one in ranks}
    beside = max(text_width(number, SMALL) for number in numbers_of.values())
    side = min(MOST_NAMES, max(text_width(one.method, SMALL) for one in ranks) + beside) + 0.2
    names = short_names([one.method for one in ranks], side - beside, SMALL)
    below = 0.12 + BAR * len(groups) + 0.1 + LINE * half
    figure = new_figure(AXIS + 2 * side, HEAD + below + 0.1)
    axes = add_axes(figure, side, 0.1, AXIS, HEAD + below)
    axes.axis("off")
    k = len(ranks)
    axes.set_xlim(k + 0.0, 1.0) if k < 2 else axes.set_xlim(1.0, k)
    axes.set_ylim(-below, HEAD)  # inches, so that lines keep their distance
    axes.hlines(0, 1, k, color=INK, linewidth=1.2)
    step = max(1, round((k - 1) / 10))
    for tick in range(1, k + 1, step):
        axes.vlines(tick, 0, 0.07, color=INK, linewidth=1)
        axes.text(tick, 0.1, str(tick), ha="center", va="bottom", fontsize=SMALL, color=SOFT)
    shown = min(difference, k - 1.0)
    axes.hlines(0.42, 1, 1 + shown, color=INK, linewidth=1.6)
    axes.vlines([1, 1 + shown] if shown == difference else [1], 0.37, 0.47, color=INK, linewidth=1.2)
    more = "" if shown == difference else " (longer than the axis)"
    axes.text(
        1, 0.5, f"critical difference {difference:.2f}, level {alpha:g}{more}", fontsize=TEXT, color=INK, va="bottom"
    )
    places = {one.method: one.rank for one in ranks}
    for number, group in enumerate(groups):
        y = -0.12 - BAR * number
        left, right = places[group[0]], places[group[-1]]
        pad = 0.006 * (k - 1)
        axes.hlines(y, left - pad, right + pad, color=INK, linewidth=3.2)
    start = 0.12 + BAR * len(groups) + 0.1
    for n, one in enumerate(ranks):
        at_left = n < half
        y = -(start + LINE * (n if at_left else k - 1 - n))
        edge = 1.0 if at_left else float(k)
        axes.plot([one.rank, one.rank, edge], [0, y, y], color=SOFT, linewidth=0.7, clip_on=False)
        axes.plot([one.rank], [0], marker="o", markersize=3.5, color=INK, clip_on=False)
        axes.annotate(
            names[one.method] + numbers_of[one.method], xy=(edge, y), xytext=(-4 if at_left else 4, 0),
            textcoords="offset points", ha="right" if at_left else "left", va="center", fontsize=SMALL, color=INK,
            annotation_clip=False, parse_math=False, backgroundcolor="none",
        )  # fmt: skip
    return figure


def rank_figure(ranks: Sequence[RankInterval]) -> Figure:
    """Average ranks with their intervals, best first."""
    names = min(MOST_NAMES, max(text_width(one.method, SMALL) for one in ranks)) + 0.15
    tall = 0.2 * len(ranks) + 0.1
    figure = new_figure(names + 4.6, tall + 0.7)
    axes = add_axes(figure, names, 0.5, 4.4, tall)
    for n, one in enumerate(ranks):
        if one.interval is not None:
            axes.hlines(n, *one.interval, color="#0072B2", linewidth=2)
        axes.plot([one.rank], [n], marker="o", markersize=5, color=INK)
    axes.set_xlim(1 - 0.02 * len(ranks), len(ranks) + 0.02 * len(ranks))
    axes.set_ylim(len(ranks) - 0.4, -0.6)
    name_rows(axes, list(short_names([one.method for one in ranks], names, SMALL).values()))
    rule_x(axes, numbers(1, len(ranks), 8), "average rank (1 is best)")
    return figure
