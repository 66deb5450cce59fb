"""Panels with names at their right: a measure against the label frequency, and against what training costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .labels import LINE, label_column
from .style import (
    INK,
    SMALL,
    TEXT,
    Look,
    add_axes,
    add_legend,
    legend_rows,
    looks,
    new_figure,
    numbers,
    room_around,
    rule_x,
    rule_y,
    short_names,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches: a panel's width, its least height, around it.
PANEL, LEAST, LEFT, OVER, UNDER = 3.2, 2.4, 0.62, 0.36, 0.62
MOST_NAMES, ACROSS = 1.9, 2
#: Areas of bubbles in square points, for the least and the most memory.
BUBBLES = (18.0, 320.0)


@dataclass(frozen=True)
class Curve:
    """``points``: (how many are labeled, value), ascending."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Cost:
    """Means over the runs of a method that were alone on the machine."""

    name: str
    seconds: float
    bytes: float
    value: float


def curves(panels: Mapping[str, Sequence[Curve]], label: str, against: str, *, logarithmic: bool) -> Figure:
    """Title -> curves: a measure against how many are labeled, a line, a marker and a dash of its own for each method.

    ``against``: what the horizontal axis is called.
    """
    names = list(dict.fromkeys(curve.name for group in panels.values() for curve in group))
    styles, shown = dict(zip(names, looks(len(names)), strict=True)), short_names(names, MOST_NAMES, SMALL)
    figure, places = _grid(len(panels), names, max(len(group) for group in panels.values()))
    titles = short_names(list(panels), PANEL + 0.5, TEXT)
    for (title, group), (left, bottom, height) in zip(panels.items(), places, strict=True):
        axes = add_axes(figure, left, bottom, PANEL, height)
        for curve in group:
            look = styles[curve.name]
            axes.plot(
                *zip(*curve.points, strict=True), color=look.color, linestyle=look.line, marker=look.marker,
                linewidth=1.3, markersize=4.5, markerfacecolor=look.face, markeredgecolor=look.color,
            )  # fmt: skip
        axes.set_xscale("log" if logarithmic else "linear")
        _limits(axes, [point for curve in group for point in curve.points], logarithmic=logarithmic)
        ticks = [(x, f"{x:g}") for x in sorted({x for curve in group for x, _ in curve.points})]
        _finish(axes, titles[title], ticks, against, label)
        label_column(axes, [curve.points[-1] for curve in group], [shown[curve.name] for curve in group])
    return figure


def epochs(panels: Mapping[str, Sequence[Any]]) -> Figure:
    """Quantity -> curves (``run``, ``values`` by epoch, ``chosen``): a panel each, a dot at the chosen epoch."""
    across = min(3, len(panels))
    lines = -(-len(panels) // across)
    runs = list(dict.fromkeys(curve.run for group in panels.values() for curve in group))
    width = across * (0.75 + PANEL)
    head = 0.2 + 0.2 * legend_rows(runs, width - 0.2)
    figure, tall = new_figure(width, head + lines * (OVER + 2.0 + UNDER)), 2.0
    styles, handles = dict(zip(runs, looks(len(runs)), strict=True)), {}
    for k, (title, group) in enumerate(panels.items()):
        line, place = divmod(k, across)
        bottom = (lines - 1 - line) * (OVER + tall + UNDER) + UNDER
        axes = add_axes(figure, 0.65 + place * (0.75 + PANEL), bottom, PANEL - 0.1, tall)
        for curve in group:
            look, values = styles[curve.run], [math.nan if v is None else v for v in curve.values]
            (handles[curve.run],) = axes.plot(range(1, len(values) + 1), values, color=look.color, linestyle=look.line)
            if curve.chosen is not None and 1 <= curve.chosen <= len(values):
                axes.plot([curve.chosen], [values[curve.chosen - 1]], marker="o", markersize=5, color=look.color)
        rule_x(axes, numbers(*axes.get_xlim(), 5), "epoch")
        rule_y(axes, numbers(*axes.get_ylim(), 4), "")
        axes.set_title(title, loc="left", fontsize=TEXT, color=INK, parse_math=False)
    add_legend(figure, list(handles.values()), list(handles), width - 0.2, 0.1)
    return figure


def costs(panels: Mapping[str, Sequence[Cost]], label: str) -> Figure:
    """Title -> methods: a measure against seconds of a run, areas of bubbles by peak memory."""
    names = list(dict.fromkeys(cost.name for group in panels.values() for cost in group))
    styles, shown = dict(zip(names, looks(len(names)), strict=True)), short_names(names, MOST_NAMES, SMALL)
    memory = [cost.bytes for group in panels.values() for cost in group]
    low, high = min(memory), max(memory)
    figure, places = _grid(len(panels), names, max(len(group) for group in panels.values()))
    titles = short_names(list(panels), PANEL + 0.5, TEXT)
    for (title, group), (left, bottom, height) in zip(panels.items(), places, strict=True):
        axes = add_axes(figure, left, bottom, PANEL, height)
        for cost in sorted(group, key=lambda one: -one.bytes):  # small ones on top
            _bubble(axes, cost, styles[cost.name], (cost.bytes - low) / ((high - low) or 1.0))
        axes.set_xscale("log")
        _limits(axes, [(cost.seconds, cost.value) for cost in group], logarithmic=True)
        _finish(axes, titles[title], _decades(*axes.get_xlim()), "seconds of training (log scale)", label)
        label_column(axes, [(cost.seconds, cost.value) for cost in group], [shown[cost.name] for cost in group])
    return figure


def _bubble(axes: Axes, cost: Cost, look: Look, share: float) -> None:
    area = BUBBLES[0] + share * (BUBBLES[1] - BUBBLES[0])
    axes.plot(
        [cost.seconds], [cost.value], markersize=math.sqrt(area), marker=look.marker, markerfacecolor=look.face,
        markeredgecolor=look.color, alpha=0.8, linestyle="none",
    )  # fmt: skip


def _decades(low: float, high: float) -> list[tuple[float, str]]:
    """1, 2, 5, 10 ... within limits, powers of ten where these are many, any round numbers where there are not two."""
    parts = (1, 2, 5) if high / low < 100 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [part * 10.0**power for power in powers for part in parts]
    inside = [(value, f"{value:g}") for value in found if low <= value <= high]
    return inside if len(inside) > 1 else numbers(low, high)


def _limits(axes: Axes, points: Sequence[tuple[float, float]], *, logarithmic: bool) -> None:
    """With room around the points."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    if logarithmic:
        factor = (max(xs) / min(xs)) ** 0.1 if max(xs) > min(xs) else 2.0
        axes.set_xlim(min(xs) / factor, max(xs) * factor)
    else:
        room = room_around(min(xs), max(xs), 0.1)
        axes.set_xlim(min(xs) - room, max(xs) + room)
    pad = room_around(min(ys), max(ys), 0.1)
    axes.set_ylim(min(ys) - pad, max(ys) + pad)


# -------------------------------------------------------------------- what panels share


def _grid(panels: int, names: Sequence[str], most: int) -> tuple[Figure, list[tuple[float, float, float]]]:
    """A figure, and (left, bottom, height) of each panel, which has room for so many names."""
    beside = min(MOST_NAMES, max(text_width(name, SMALL) for name in names)) + 0.3
    across = min(ACROSS, panels)
    lines = -(-panels // across)
    height = max(LEAST, LINE * (most + 1))
    figure = new_figure(across * (LEFT + PANEL + beside) + 0.1, lines * (OVER + height + UNDER))
    places = []
    for k in range(panels):
        line, place = divmod(k, across)
        left = LEFT + place * (LEFT + PANEL + beside)
        places.append((left, (lines - 1 - line) * (OVER + height + UNDER) + UNDER, height))
    return figure, places


def _finish(axes: Axes, title: str, ticks: Sequence[tuple[float, str]], x: str, y: str) -> None:
    rule_x(axes, ticks, x)
    rule_y(axes, numbers(*axes.get_ylim(), 6), y)
    axes.set_title(title, loc="left", fontsize=TEXT, color=INK, parse_math=False)
