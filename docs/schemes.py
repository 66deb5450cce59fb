"""Draws the picture of ``pages/settings.md``: which rows are labeled and which are U under the two schemes.

python docs/schemes.py docs/pages/images/schemes.svg
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

LABELED, HIDDEN, NEGATIVE = "labeled", "hidden", "negative"
#: marker, face, edge
STYLE = {
    LABELED: ("o", "#0B5FA5", "#0B5FA5"),
    HIDDEN: ("o", "#CFE3F5", "#0B5FA5"),
    NEGATIVE: ("s", "#D9D9D9", "#777777"),
}
#: 50 rows, π = 0.4, c = 0.5
POSITIVE, NEGATIVES, LABELS = 20, 30, 10
PER_LINE = 10
#: Inches.
HEIGHT = 5.35


def draw(path: Path) -> None:
    """One column, so that a telephone shows it without scaling it down."""
    hidden, negative = [HIDDEN] * POSITIVE, [NEGATIVE] * NEGATIVES
    with rc_context({"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": "pubench"}):
        figure = Figure(figsize=(4.3, HEIGHT))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, 4.3)
        axes.set_ylim(0, HEIGHT)
        axes.axis("off")
        y = _legend(axes, HEIGHT - 0.2)
        y = _title(axes, y - 0.32, "case-control (two-sample)", "U alone is a draw from the population")
        y = _box(axes, y, [LABELED] * LABELS, "P: 10 labeled positives")
        y = _box(axes, y, hidden + negative, "U: all 50 rows, those of P too; positives: 20 of 50 = π = 0.40")
        y = _title(
            axes, y - 0.32, "single-training-set (one-sample)", "P and U together are a draw from the population"
        )
        y = _box(axes, y, [LABELED] * LABELS, "P: 10 of the 20 positives have a label (c = 0.5)")
        _box(axes, y, hidden[LABELS:] + negative, "U: the other 40 rows; positives: 10 of 40 = 0.25, less than π")
        FigureCanvasSVG(figure).print_svg(str(path), metadata={"Date": None})


def _legend(axes: Axes, y: float) -> float:
    for x, kind, text in (
        (0.2, LABELED, "labeled positive"),
        (1.62, HIDDEN, "hidden positive"),
        (3.02, NEGATIVE, "negative"),
    ):
        _mark(axes, x, y, kind)
        axes.text(x + 0.14, y, text, fontsize=8.5, va="center")
    return y


def _title(axes: Axes, y: float, name: str, what: str) -> float:
    """Two lines from ``y`` down; where the next thing may start."""
    axes.text(0.12, y, name, fontsize=11, weight="bold", va="center")
    axes.text(0.12, y - 0.2, what, fontsize=8.5, va="center")
    return y - 0.3


def _box(axes: Axes, y: float, rows: Sequence[str], text: str) -> float:
    """``text`` below ``y``, then rows as marks in a frame; where the next thing may start."""
    height = 0.18 * -(-len(rows) // PER_LINE) + 0.08
    bottom = y - 0.32 - height
    axes.text(0.12, y - 0.2, text, fontsize=8.5, va="center")
    frame = FancyBboxPatch(
        (0.14, bottom), 4.0, height, boxstyle="round,pad=0,rounding_size=0.05", fc="white", ec="#999999"
    )
    axes.add_patch(frame)
    for k, kind in enumerate(rows):
        line, place = divmod(k, PER_LINE)
        _mark(axes, 0.47 + 0.373 * place, bottom + height - 0.13 - 0.18 * line, kind)
    return bottom


def _mark(axes: Axes, x: float, y: float, kind: str) -> None:
    marker, face, edge = STYLE[kind]
    axes.plot([x], [y], marker=marker, ms=6.5, mfc=face, mec=edge, mew=1.0, ls="none")


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
