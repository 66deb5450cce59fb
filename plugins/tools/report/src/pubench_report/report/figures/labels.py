"""Labels in a column next to a panel, none over another, each joined to its point by a thin line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .style import INK, SMALL, SOFT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches between the base lines of two labels.
LINE = SMALL * 1.3 / 72


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places near the wanted ones, in their order, at least ``gap`` apart and within [low, high].

    If there is no room for all, they are spread evenly, closer than the gap.

    >>> spread([1.0, 1.0, 5.0], 1.0, 0.0, 10.0)
    [0.5, 1.5, 5.0]
    """
    order = sorted(range(len(wanted)), key=lambda k: (wanted[k], k))
    if len(order) > 1 and gap * (len(order) - 1) > high - low:
        gap = (high - low) / (len(order) - 1)
    blocks: list[tuple[float, list[int]]] = []  # (place of the first, its members)
    for k in order:
        blocks.append((min(max(wanted[k], low), high), [k]))
        while len(blocks) > 1 and blocks[-2][0] + gap * len(blocks[-2][1]) > blocks[-1][0]:
            members = blocks[-2][1] + blocks[-1][1]
            middle = sum(wanted[m] - gap * n for n, m in enumerate(members)) / len(members)
            blocks[-2:] = [(min(max(middle, low), high - gap * (len(members) - 1)), members)]
    places = [0.0] * len(wanted)
    for first, members in blocks:
        for n, k in enumerate(members):
            places[k] = first + gap * n
    return places


def label_column(axes: Axes, points: Sequence[tuple[float, float]], names: Sequence[str]) -> None:
    """Names at the right of a panel, with lines to their points. Limits of the panel must be set before."""
    if not names:
        return
    from matplotlib.collections import LineCollection

    height = axes.bbox.height / axes.figure.dpi
    to_axes = axes.transData + axes.transAxes.inverted()
    starts = [tuple(to_axes.transform(point)) for point in points]
    places = spread([y for _, y in starts], LINE / height, 0.0, 1.0)
    leaders = [[start, (1.03, place)] for start, place in zip(starts, places, strict=True)]
    axes.add_collection(
        LineCollection(leaders, colors=SOFT, linewidths=0.4, transform=axes.transAxes, clip_on=False), autolim=False
    )
    for place, name in zip(places, names, strict=True):
        axes.text(
            1.04,
            place,
            name,
            transform=axes.transAxes,
            fontsize=SMALL,
            color=INK,
            va="center",
            ha="left",
            parse_math=False,
        )
