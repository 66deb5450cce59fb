"""How figures look, and how they become files. Made without pyplot: nothing outside them changes."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pubench_core.errors import RequestError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's colors, which differ in hue and in lightness for every kind of color vision; a marker and a line of
#: its own next to each, so that no color is needed to tell series apart.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7A7A7A")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d", "8")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 2)), (0, (7, 3)))
INK, SOFT, RULE = "#222222", "#555555", "#D8D8D8"
TITLE, TEXT, SMALL = 10.0, 9.0, 8.0
#: Inches that a character takes at most, per point of its size.
CHARACTER = 0.0089
DPI = 160


@dataclass(frozen=True)
class Drawn:
    """A figure with its file name, its title and what it shows, in words. ``section``: of the page, by its key."""

    key: str
    title: str
    caption: str
    figure: Figure
    section: str = "results"


@dataclass(frozen=True)
class Look:
    """Color, marker and line of one series. Every second round of the markers is hollow."""

    color: str
    marker: str
    line: Any
    hollow: bool

    @property
    def face(self) -> str:
        """Fill of the marker."""
        return "white" if self.hollow else self.color


def looks(n: int) -> list[Look]:
    """Looks of n series: no two share color and marker, and none differs by its color alone."""
    return [
        Look(
            COLORS[k % len(COLORS)],
            MARKERS[k % len(MARKERS)],
            LINES[k % len(LINES)],
            (k // len(MARKERS)) % 2 == 1,
        )
        for k in range(n)
    ]


_PLAIN: ContextVar[bool] = ContextVar("_PLAIN", default=False)


@contextmanager
def plain_style() -> Iterator[None]:
    """matplotlib as it comes: a user's matplotlibrc changes no figure. Within another one, nothing is to be done."""
    if _PLAIN.get():
        yield
        return
    try:
        from matplotlib import rc_context, rcdefaults
    except ModuleNotFoundError as error:
        raise RequestError(
            "files of figures need matplotlib, which is not installed: pip install 'pubench-report[figures]'"
        ) from error

    token = _PLAIN.set(True)
    try:
        with rc_context():
            rcdefaults()
            yield
    finally:
        _PLAIN.reset(token)


def text_width(text: str, size: float) -> float:
    """Inches that a text takes at most."""
    return len(text) * size * CHARACTER


def shortened(text: str, width: float, size: float) -> str:
    """The text, cut so that it takes no more than so many inches."""
    most = max(4, int(width / (size * CHARACTER)))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def short_names(names: Sequence[str], width: float, size: float) -> dict[str, str]:
    """Name -> name that takes no more than so many inches, no two of them alike.

    Names that would be alike when their ends are cut lose their middles, as their ends tell them apart; where that is
    not enough, they are numbered.
    """
    found = {name: shortened(name, width, size) for name in names}
    for name in _alike(found):
        most = len(found[name])
        found[name] = f"{name[: most // 3]}…{name[len(name) - (most - most // 3 - 1) :]}"
    for number, name in enumerate(_alike(found), 1):
        end = f"… {number}"
        found[name] = f"{name[: len(found[name]) - len(end)]}{end}"
    return found


def _alike(shown: Mapping[str, str]) -> list[str]:
    """Names that are not shown in a way of their own."""
    counts = Counter(shown.values())
    return [name for name, text in shown.items() if counts[text] > 1]


def new_figure(width: float, height: float) -> Figure:
    """An empty figure; sizes in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def add_axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place in inches, without the frame's upper and right side."""
    whole_width, whole_height = figure.get_size_inches()
    axes = figure.add_axes((left / whole_width, bottom / whole_height, width / whole_width, height / whole_height))
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    return axes


def numbers(low: float, high: float, n: int = 4) -> list[tuple[float, str]]:
    """Round numbers within limits, about n, and how they are written."""
    from matplotlib.ticker import MaxNLocator

    if low == high:
        return [(low, f"{low:g}")]
    inside = [float(v) for v in MaxNLocator(n, min_n_ticks=2).tick_values(low, high) if low <= v <= high]
    texts = [f"{round(value, 10):g}" for value in inside]
    if len(set(texts)) < len(texts):  # they differ in a later digit
        texts = [f"{value:.12g}" for value in inside]
    return list(zip(inside, texts, strict=True))


def room_around(low: float, high: float, share: float) -> float:
    """A share of the range of values; of their size where all are equal."""
    return share * (high - low) or share * abs(high) or 0.01


def rule_x(axes: Axes, ticks: Sequence[tuple[float, str]], label: str) -> None:
    """Lines, numbers and a label along x; ticks of matplotlib's own would take most of a figure's time.

    A number that would touch the one before it is left out.
    """
    axes.xaxis.set_visible(False)
    width, height = _inches(axes)
    to_axes = axes.transData + axes.transAxes.inverted()
    _rules(axes, [[(place, 0), (place, 1)] for place, _ in ticks], axes.get_xaxis_transform())
    end = -math.inf
    for place, text in ticks:
        middle, half = float(to_axes.transform((place, 0))[0]) * width, text_width(text, SMALL) / 2
        if middle - half > end + 0.03:
            _say(axes, middle / width, -0.06 / height, text, SMALL, INK, ha="center", va="top")
            end = middle + half
    _say(axes, 0.5, -0.24 / height, label, TEXT, SOFT, ha="center", va="top")


def rule_y(axes: Axes, ticks: Sequence[tuple[float, str]], label: str) -> None:
    """Lines, numbers and a label along y."""
    axes.yaxis.set_visible(False)
    width, _ = _inches(axes)
    _rules(axes, [[(0, place), (1, place)] for place, _ in ticks], axes.get_yaxis_transform())
    to_axes = axes.transData + axes.transAxes.inverted()
    for place, text in ticks:
        _say(axes, -0.06 / width, float(to_axes.transform((1, place))[1]), text, SMALL, INK, ha="right", va="center")
    _say(axes, -0.44 / width, 0.5, label, TEXT, SOFT, ha="right", va="center", rotation=90)


def name_rows(axes: Axes, names: Sequence[str], *, shown: bool = True) -> None:
    """A line across for each row, from 0, and its name at the left. Limits along y must be set before."""
    axes.yaxis.set_visible(False)
    axes.spines["left"].set_color(RULE)
    width, _ = _inches(axes)
    _rules(axes, [[(0, k), (1, k)] for k in range(len(names))], axes.get_yaxis_transform())
    to_axes = axes.transData + axes.transAxes.inverted()
    for k, name in enumerate(names if shown else ()):
        _say(axes, -0.06 / width, float(to_axes.transform((0, k))[1]), name, SMALL, INK, ha="right", va="center")


def _inches(axes: Axes) -> tuple[float, float]:
    return axes.bbox.width / axes.figure.dpi, axes.bbox.height / axes.figure.dpi


def _rules(axes: Axes, lines: Sequence[Any], transform: Any) -> None:
    from matplotlib.collections import LineCollection

    rules = LineCollection(lines, colors=RULE, linewidths=0.5, transform=transform, zorder=0.5)
    axes.add_collection(rules, autolim=False)


def _say(axes: Axes, x: float, y: float, text: str, size: float, color: str, **how: Any) -> None:
    """A text at a place in shares of the panel."""
    axes.text(x, y, text, transform=axes.transAxes, fontsize=size, color=color, parse_math=False, **how)


def legend_rows(names: list[str], width: float) -> int:
    """Lines that a legend needs."""
    if not names:
        return 0
    columns = _columns(names, width)
    return -(-len(names) // columns)


def _columns(names: list[str], width: float) -> int:
    widest = max(text_width(name, TEXT) for name in names) + 0.45
    return max(1, min(len(names), int(width / widest)))


def add_legend(figure: Figure, handles: list[Any], names: list[str], width: float, top: float) -> None:
    """A legend over the whole figure, its upper edge ``top`` inches below the figure's."""
    whole_width, whole_height = figure.get_size_inches()
    figure.legend(
        handles,
        names,
        loc="upper left",
        bbox_to_anchor=(0.1 / whole_width, 1 - top / whole_height),
        ncols=_columns(names, width),
        fontsize=TEXT,
        frameon=False,
        borderaxespad=0,
        borderpad=0,
        handlelength=2.0,
        columnspacing=1.0,
        labelspacing=0.35,
    )


# -------------------------------------------------------------------- files


def png(drawn: Drawn) -> bytes:
    """The figure as PNG; the same figure gives the same bytes."""
    stream = io.BytesIO()
    with plain_style():
        drawn.figure.savefig(stream, format="png", dpi=DPI)
    return stream.getvalue()


def svg(drawn: Drawn) -> str:
    """The figure as SVG, its texts as outlines, so that no reader's fonts make them wider than they are here."""
    from matplotlib import rc_context

    stream = io.StringIO()
    with plain_style(), rc_context({"svg.hashsalt": drawn.key, "svg.fonttype": "path"}):
        drawn.figure.savefig(
            stream, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None}
        )
    return stream.getvalue()
