"""Files of figures with matplotlib: panels of dots.

Pages draw their own figures (``pages/templates/charts.js``); these are for papers. Made without pyplot: nothing outside
them changes. matplotlib lays texts out, so that none covers another.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubench_core.errors import RequestError
from pubench_core.records.files import replace_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Okabe and Ito's colors, which differ in hue and in lightness for every kind of color vision. Each has a marker and a
#: line of its own, so that no color is needed to tell series apart.
SERIES: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    {"color": "#D55E00", "marker": "s", "linestyle": "--"},
    {"color": "#009E73", "marker": "^", "linestyle": "-."},
    {"color": "#CC79A7", "marker": "D", "linestyle": ":"},
    {"color": "#56B4E9", "marker": "v", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
)
INK, SOFT, RULE = "#222222", "#555555", "#D8D8D8"
TEXT, SMALL = 9.0, 8.0
DPI = 160
#: Inches: a row of names, a character of a name, a panel's width, what is over and under its axes.
ROW, CHARACTER, PANEL, AROUND = 0.2, 0.068, 2.6, 0.75
#: Characters of a line of a panel's title, and panels in a line.
WRAPPED, ACROSS = 34, 4


@contextmanager
def plain_style() -> Iterator[None]:
    """matplotlib as it comes: a user's matplotlibrc changes no figure. Raises RequestError if it is not installed."""
    try:
        from matplotlib import rc_context, rcdefaults, rcParams
    except ModuleNotFoundError as error:
        raise RequestError(
            "files of figures need matplotlib, which is not installed: pip install 'pubench-report[figures]'"
        ) from error
    with rc_context():
        rcdefaults()
        rcParams.update(
            {
                "text.parse_math": False,  # names of methods and data sets are no formulas
                "font.size": TEXT, "axes.titlesize": TEXT, "axes.labelsize": TEXT, "legend.fontsize": TEXT,
                "xtick.labelsize": SMALL, "ytick.labelsize": SMALL, "axes.labelcolor": SOFT, "text.color": INK,
                "xtick.color": INK, "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False,
                "axes.axisbelow": True, "axes.grid": True, "grid.color": RULE, "grid.linewidth": 0.5,
                "axes.titlelocation": "left", "legend.frameon": False, "lines.markersize": 4.6,
                "axes.formatter.useoffset": False, "svg.fonttype": "path",
            }
        )  # fmt: skip
        yield


# -------------------------------------------------------------------- methods as rows


def dots(panels: Mapping[str, Mapping[str, tuple[float, float]]], label: str, rows: Sequence[str]) -> Figure:
    """A panel for each title, the same methods in the same order in all. ``panels``: title -> row -> value and spread,
    which is a thin line. ``label``: of the axes.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(ACROSS, len(panels))
    lines = -(-len(panels) // across)
    width = CHARACTER * max(map(len, rows)) + 0.3 + across * PANEL
    figure = Figure(figsize=(width, lines * (max(ROW * len(rows), 1.0) + AROUND) + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    grid = list(figure.subplots(lines, across, squeeze=False).flat)
    for axes in grid[len(panels) :]:
        axes.remove()
    for k, (title, values) in enumerate(panels.items()):
        axes = grid[k]
        axes.set_title(textwrap.fill(title, WRAPPED))
        found = [(n, *values[row]) for n, row in enumerate(rows) if row in values]
        spreads = [spread for *_, spread in found]
        axes.errorbar(
            [v for _, v, _ in found], [y for y, *_ in found], xerr=spreads if any(spreads) else None,
            elinewidth=0.7, markeredgewidth=0.9, **{**SERIES[0], "linestyle": "none"},
        )  # fmt: skip
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), [""] * len(rows) if k % across else rows)
        axes.set_xlabel(label)
        axes.locator_params(axis="x", nbins=5)
    return figure


# -------------------------------------------------------------------- files


def write_figures(figures: Mapping[str, Figure], folder: Path) -> list[Path]:
    """Each as PNG and SVG, of the same bytes for the same figure. Raises RequestError if they cannot be written."""
    from matplotlib import rc_context

    found = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, form in product(figures, ("png", "svg")):
            stream, metadata = io.BytesIO(), None if form == "png" else {"Date": None, "Creator": None}
            with plain_style(), rc_context({"svg.hashsalt": name}):
                figures[name].savefig(stream, format=form, dpi=DPI, metadata=metadata)
            found.append(folder / f"{name}.{form}")
            replace_bytes(found[-1], stream.getvalue())
    except OSError as error:
        raise RequestError(f"cannot write figures in {folder}: {error.strerror or error}") from error
    return found
