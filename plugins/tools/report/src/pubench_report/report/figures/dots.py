"""Methods as lines, values along x, a marker for each series: what a bar chart shows, with room for many methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .style import (
    INK,
    SMALL,
    TEXT,
    add_axes,
    add_legend,
    legend_rows,
    looks,
    name_rows,
    new_figure,
    numbers,
    room_around,
    rule_x,
    short_names,
    shortened,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches: the width of a panel, by how many are side by side; between panels, a method's line, over and under the
#: panels of a row.
PANEL, BETWEEN, LINE, OVER, UNDER = {1: 5.2, 2: 3.2, 3: 2.5, 4: 1.95}, 0.22, 0.2, 0.34, 0.52
#: Panels side by side, and the room that names get at most.
MOST_PANELS, MOST_NAMES = 4, 2.4

#: (row, series) -> (value, spread or None)
Values = Mapping[tuple[str, str], tuple[float, float | None]]


@dataclass(frozen=True)
class Panel:
    """``values``: what is there; ``label``: of the axis."""

    title: str
    label: str
    values: Values


def dots(panels: Sequence[Panel], rows: Sequence[str], series: Sequence[str]) -> Figure:
    """A panel each, the same methods in the same order in all. The spread is a thin line.

    Four panels are in a line, or as many as have room for their titles.
    """
    names = min(MOST_NAMES, max(text_width(row, SMALL) for row in rows)) + 0.15
    most = min(MOST_PANELS, len(panels))
    across = next((n for n in range(most, 1, -1) if all(_fits(panel.title, PANEL[n]) for panel in panels)), 1)
    lines = -(-len(panels) // across)
    wide = PANEL[across]
    width = names + across * (wide + BETWEEN) + 0.1
    legend = list(series) if len(series) > 1 else []
    head = 0.1 + 0.2 * legend_rows(legend, width - 0.2)
    tall = LINE * len(rows) + 0.1
    figure = new_figure(width, head + lines * (OVER + tall + UNDER))
    styles = dict(zip(series, looks(len(series)), strict=True))
    titles = short_names([panel.title for panel in panels], wide, TEXT)
    handles = {}
    for k, panel in enumerate(panels):
        line, place = divmod(k, across)
        bottom = (lines - 1 - line) * (OVER + tall + UNDER) + UNDER
        axes = add_axes(figure, names + place * (wide + BETWEEN), bottom, wide, tall)
        for number, one in enumerate(series):
            shift = (number - (len(series) - 1) / 2) * min(0.12, 0.7 / max(1, len(series)))
            found = [(n + shift, *panel.values[row, one]) for n, row in enumerate(rows) if (row, one) in panel.values]
            look = styles[one]
            axes.hlines(
                [y for y, _, s in found if s], [v - s for _, v, s in found if s], [v + s for _, v, s in found if s],
                color=look.color, linewidth=0.7,
            )  # fmt: skip
            (handles[one],) = axes.plot(
                [v for _, v, _ in found], [y for y, _, _ in found], linestyle="none", marker=look.marker,
                markersize=4.6, markerfacecolor=look.face, markeredgecolor=look.color, markeredgewidth=0.9,
            )  # fmt: skip
        _finish(axes, panel, titles[panel.title], rows, names, wide, first=place == 0)
    if legend:
        add_legend(figure, [handles[name] for name in legend], legend, width - 0.2, 0.08)
    return figure


def _fits(title: str, wide: float) -> bool:
    return shortened(title, wide, TEXT) == title


def _finish(
    axes: Axes, panel: Panel, title: str, rows: Sequence[str], names: float, wide: float, *, first: bool
) -> None:
    ends = [end for value, spread in panel.values.values() for end in (value - (spread or 0), value + (spread or 0))]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    pad = room_around(low, high, 0.06)
    axes.set_xlim(low - pad, high + pad)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    name_rows(axes, list(short_names(rows, names, SMALL).values()), shown=first)
    rule_x(axes, numbers(low, high, round(2 * wide)), shortened(panel.label, wide, TEXT))
    axes.set_title(title, loc="left", fontsize=TEXT, color=INK, parse_math=False)
