"""The pictures of ``pubench data show``: from what was collected to a matplotlib figure.

Figures are made without pyplot, so nothing outside them changes. Places are in inches, so that text keeps its size.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.errors import RequestError

from .contents import Block, ClassCount, Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's colors, which differ in hue and in lightness for every kind of color vision.
LABELED, HIDDEN, NEGATIVE, UNLABELED = "#D55E00", "#F0B050", "#0072B2", "#7A7A7A"
INK, SOFT = "#222222", "#555555"
#: Point sizes of text.
TITLE, TEXT, SMALL = 11, 9.5, 8.5
DPI = 200
#: Inches: the margin at the left and right, the width of a figure of two panels.
MARGIN, WIDE = 0.3, 8.6


@contextmanager
def plain_style() -> Iterator[None]:
    """matplotlib as it comes: a user's matplotlibrc changes no picture. Restored afterwards."""
    from matplotlib import rc_context, rcdefaults

    with rc_context():
        rcdefaults()
        yield


def new_figure(width: float, height: float, lines: tuple[str, ...], *notes: str) -> tuple[Figure, float]:
    """A figure with a heading, room for ``width`` by ``height`` inches under it, and notes at its foot.

    Returns the figure and where that room starts, in inches from below. All but the first line may hold mathtext.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    wrapped = [line for note in notes for line in textwrap.wrap(note, int((width - 2 * MARGIN) * 17))]
    foot = 0.2 + 0.165 * len(wrapped)
    top = 0.16 + 0.23 * len(lines) + height + foot
    figure = Figure(figsize=(width, top))
    FigureCanvasAgg(figure)
    left = MARGIN / width
    figure.text(left, 1 - 0.3 / top, lines[0], fontsize=TITLE, weight="bold", color=INK, parse_math=False)
    for k, line in enumerate(lines[1:], 1):
        figure.text(left, 1 - (0.3 + 0.23 * k) / top, line, fontsize=TEXT, color=INK)
    figure.text(left, 0.12 / top, "\n".join(wrapped), fontsize=SMALL, color=SOFT, va="bottom", linespacing=1.3)
    return figure, foot


def add_axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place in inches, without the frame's upper and right side."""
    whole_width, whole_height = figure.get_size_inches()
    axes = figure.add_axes((left / whole_width, bottom / whole_height, width / whole_width, height / whole_height))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=SMALL, color=SOFT)
    return axes


def add_legend(axes: Axes, columns: int, handles: list[Any] | None = None, *, length: float = 1.1) -> None:
    """The legend over the axes, from their left edge; of ``handles`` instead of what has a label, if given."""
    axes.legend(
        handles=handles if handles is not None else axes.get_legend_handles_labels()[0],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=columns,
        fontsize=SMALL,
        frameon=False,
        borderaxespad=0.2,
        borderpad=0,
        handlelength=length,
        columnspacing=1.2,
    )


def image_figure(shown: tuple[Block, ...], columns: int, lines: tuple[str, ...], *notes: str) -> Figure:
    """Three blocks of images, one under the other."""
    labeled, unlabeled, hidden = shown
    captions = (
        f"Labeled positives: {len(labeled.rows)} of {labeled.total:,}",
        f"Unlabeled rows U, as a method sees them: {len(unlabeled.rows)} of {unlabeled.total:,} "
        f"({unlabeled.positive} of these {len(unlabeled.rows)} are positive)",
        f"Hidden positives, which carry no label: {len(hidden.rows)} of {hidden.total:,}",
    )
    width, between = 7.0, 0.4
    mosaics = [mosaic(block.images, columns) for block in shown]
    heights = [0.3 if m is None else (width - 2 * MARGIN) * m.shape[0] / m.shape[1] for m in mosaics]
    # A dollar sign in the name of a class is no mathtext.
    figure, foot = new_figure(
        width, sum(heights) + between * len(shown), lines, *(note.replace("$", r"\$") for note in notes)
    )
    top = foot + sum(heights) + between * len(shown)
    for caption, tiles, height, color in zip(captions, mosaics, heights, (LABELED, UNLABELED, HIDDEN), strict=True):
        top -= between + height
        axes = add_axes(figure, MARGIN, top + 0.1, width - 2 * MARGIN, height)
        axes.set_title(caption, loc="left", fontsize=TEXT, color=INK, pad=4)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines["bottom"].set_visible(False)
        axes.spines["left"].set(color=color, linewidth=4, capstyle="butt")
        if tiles is None:
            axes.text(0.02, 0.5, "none", transform=axes.transAxes, va="center", fontsize=TEXT, color=SOFT)
        else:
            finer = tiles.shape[1] > width * DPI
            axes.imshow(tiles, aspect="auto", interpolation="antialiased" if finer else "nearest")
    return figure


def mosaic(images: npt.NDArray[Any], columns: int) -> npt.NDArray[np.float64] | None:
    """(rows * (height + gap) - gap, columns * (width + gap), 3) in [0, 1], gaps white; None if there is no image.

    ``images``: (n, channels, height, width), uint8 or float. Three channels are red, green and blue; any other number
    is averaged to gray. Floats outside [0, 1] are scaled by the range of all images given.
    """
    if not len(images):
        return None
    values = images.astype(np.float64) / (255 if images.dtype == np.uint8 else 1)
    low, high = min(values.min(), 0.0), max(values.max(), 1.0)
    values = (values - low) / (high - low)
    if values.shape[1] != 3:
        values = values.mean(axis=1, keepdims=True).repeat(3, axis=1)
    height, width = values.shape[2:]
    gap, rows = max(1, width // 14), -(-len(values) // columns)
    tiles = np.ones((rows * (height + gap) - gap, columns * (width + gap), 3))
    for k, image in enumerate(values):
        y, x = (k // columns) * (height + gap), (k % columns) * (width + gap) + gap
        tiles[y : y + height, x : x + width] = image.transpose(1, 2, 0)
    return tiles


def class_figure(
    counts: tuple[ClassCount, ...], propensity: Posterior, lines: tuple[str, ...], note: str, *, by_chance: bool
) -> Figure:
    """Rows per class on the left, the auxiliary posterior of the positives on the right.

    ``by_chance``: the mechanism labels completely at random.
    """
    what = (
        "Auxiliary posterior: logistic regression on the pool's true labels, part of the simulator, never of a method."
    )
    if by_chance:
        what += " This mechanism does not use it, so the two histograms differ by chance alone."
    # A panel of few classes would be flat, one of many needs room for their names; the other is never taller than wide.
    tall, legend, axis = max(2.3, 0.2 * len(counts)), 0.5, 0.6
    figure, foot = new_figure(WIDE, tall + legend + axis, lines, note, what)
    left = 0.5 + 0.073 * max(len(_short(count.name)) for count in counts)
    _draw_classes(add_axes(figure, left, foot + axis, 4.4 - left, tall), counts)
    height = min(tall, 3.2)
    _draw_posterior(add_axes(figure, 5.1, foot + axis + tall - height, 3.2, height), propensity)
    return figure


def _draw_classes(axes: Axes, counts: tuple[ClassCount, ...]) -> None:
    from matplotlib.ticker import MaxNLocator

    places, start = np.arange(len(counts)), np.zeros(len(counts))
    for name, color, lengths in (
        ("labeled positive", LABELED, [count.labeled for count in counts]),
        ("hidden positive", HIDDEN, [count.rows - count.labeled if count.positive else 0 for count in counts]),
        ("negative", NEGATIVE, [0 if count.positive else count.rows for count in counts]),
    ):
        axes.barh(places, lengths, left=start, height=0.78, color=color, label=name)
        start += lengths
    for place, count in enumerate(counts):
        if count.positive:
            share = f" {count.labeled / count.rows:.1%}" if count.rows else " no row"
            axes.text(count.rows, place, share, va="center_baseline", fontsize=SMALL, color=INK)
    axes.set_yticks(places, [_short(count.name) for count in counts], fontsize=SMALL, parse_math=False)
    axes.set_ylim(len(counts) - 0.4, -0.6)
    axes.set_xlim(0, max(count.rows * (1.17 if count.positive else 1.02) for count in counts))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("rows in the training pool (%: share labeled)", fontsize=TEXT, color=INK)
    add_legend(axes, 3)


def _short(name: str) -> str:
    return name if len(name) <= 22 else name[:21] + "…"


def _draw_posterior(axes: Axes, propensity: Posterior) -> None:
    of_all, labeled = propensity.logit, propensity.logit[propensity.labeled]
    mean_of_all, mean_of_labeled = propensity.means
    # Most positives have p near 1, where a histogram of p itself would be a single bar.
    low, high = float(of_all.min()), float(of_all.max())
    edges = np.linspace(low, max(high, low + 1e-6), 31).tolist()
    groups: tuple[tuple[npt.NDArray[np.float64], str, dict[str, Any]], ...] = (
        (of_all, f"all {len(of_all):,} positives: mean p = {mean_of_all:.3f}", {"color": HIDDEN}),
        (
            labeled,
            f"the {len(labeled):,} labeled: mean p = {mean_of_labeled:.3f}",
            {"color": LABELED, "histtype": "step", "linewidth": 1.8},
        ),
    )
    for values, name, style in groups:
        axes.hist(values, edges, weights=np.full(len(values), 100 / len(values)), label=name, **style)
    axes.set_xticks(*posterior_ticks(low, high), fontsize=SMALL)
    axes.set_xlabel("auxiliary posterior p(y = 1 | x), log-odds scale", fontsize=TEXT, color=INK)
    axes.set_ylabel("% of the group", fontsize=TEXT, color=INK)
    add_legend(axes, 1)


def posterior_ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """(log-odds, what the probability is called) in a range of log-odds, ascending."""
    # Few enough that names do not touch: p = 0.9, 0.99, 0.999 ..., else every third of these, every sixth ...
    step = next((k for k in (1, 3, 6, 12, 24, 48) if high - low < (16 if k == 1 else 9 * k)), 96)
    ticks = [(0.0, "0.5")]
    for k in range(step, 300, step):
        distance = float(np.log(10.0**k - 1))
        near = (f"{10.0**-k:g}", f"{1 - 10.0**-k:g}") if k <= 3 else (f"$10^{{-{k}}}$", f"$1-10^{{-{k}}}$")
        ticks += [(-distance, near[0]), (distance, near[1])]
    inside = sorted(tick for tick in ticks if low <= tick[0] <= high)
    return [place for place, _ in inside], [name for _, name in inside]


def write_png(figure: Figure, path: Path) -> None:
    """Writes the figure; the same figure gives the same bytes. Raises RequestError if the file cannot be written."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=DPI)
    try:
        path.write_bytes(picture.getvalue())
    except OSError as error:
        raise RequestError(f"cannot write {path}: {error.strerror or error}") from error
