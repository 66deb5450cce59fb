"""``toy-gaussian``: what U is made of under each scheme, and what its density is, in closed form.

After Figures 7 and 8 of PU-Bench. Two Gaussians of equal variance, labels completely at random, no sampling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from pubench_core.data.generator import label_count
from pubench_core.engine.explain import accepted
from pubench_core.errors import RequestError
from pubench_core.plugins.info import MechanismInfo
from pubench_core.specs import MechanismSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]

#: The toy pool: rows, and how many are positive (prior 0.5).
ROWS, POSITIVE = 1000, 500
#: Mean of the positive class; the negative one is its mirror image. Both have standard deviation 1.
MEAN = 1.5


@dataclass(frozen=True)
class Composition:
    """Rows of LP and U under one scheme. ``copies``: labeled positives that are in U once more."""

    scheme: str
    labeled: int
    copies: int
    hidden: int
    negative: int

    @property
    def unlabeled(self) -> int:
        """n_U."""
        return self.copies + self.hidden + self.negative

    @property
    def positive(self) -> int:
        """Positives in U."""
        return self.copies + self.hidden

    @property
    def prior(self) -> float:
        """Share of positives in U."""
        return self.positive / self.unlabeled


def compositions(c: float, rows: int = ROWS, positive: int = POSITIVE) -> tuple[Composition, Composition]:
    """(case-control, single-training-set): N_l = floor(c |P|); U has n rows, or n - N_l.

    With N_l labels, the prior of U is π in case-control and (π n - N_l) / (n - N_l) in a single training set.

    Raises RequestError if ``c`` labels nobody.
    """
    n = label_count(c, positive)
    if n == 0:
        raise RequestError(f"c = {c:g} labels nobody: floor({c:g} x {positive} positives) = 0")
    hidden, negative = positive - n, rows - positive
    return (
        Composition("case-control", n, n, hidden, negative),
        Composition("single-training-set", n, 0, hidden, negative),
    )


def class_density(x: FloatArray, sign: int) -> FloatArray:
    """f+ (``sign`` 1) or f- (-1): normal density with mean ``sign * MEAN`` and standard deviation 1."""
    return np.asarray(np.exp(-((x - sign * MEAN) ** 2) / 2) / np.sqrt(2 * np.pi), dtype=np.float64)


def unlabeled_density(x: FloatArray, prior: float) -> FloatArray:
    """f_u = p f+ + (1 - p) f-, with p the share of positives in U: under SCAR hidden positives are as f+."""
    return prior * class_density(x, 1) + (1 - prior) * class_density(x, -1)


def label_frequency(text: str) -> float:
    """c as a number in (0, 1]; RequestError in a run's own words if it is none."""
    try:
        c = MechanismSpec.model_validate({"c": text}).c
    except ValidationError:
        raise RequestError(f"--c: given {text!r}; c must be {accepted(MechanismSpec.model_fields['c'])}") from None
    assert c is not None
    return c


def toy_figure(mechanism: MechanismInfo, c: str) -> Figure:
    """Composition of U on the left, densities on the right.

    Raises RequestError for a c out of bounds, or a mechanism that labels some positives rather than others.
    """
    if mechanism.assumption != "SCAR":
        raise RequestError(
            f"--mech {mechanism.key}: toy-gaussian compares the two schemes under labels completely at random "
            "(--mech scar)"
        )
    from .data_figures import WIDE, add_axes, new_figure

    frequency = label_frequency(c)
    control, single = compositions(frequency)
    lines = (
        f"Two schemes, one pool: labels completely at random, c = {frequency:g}",
        f"$n$ = {ROWS:,} rows, prior π = {POSITIVE / ROWS:g}, $N_l$ = {control.labeled} of {POSITIVE} positives "
        "labeled; counts and densities are exact, nothing is sampled",
    )
    figure, foot = new_figure(
        WIDE,
        3.75,
        lines,
        "Case-control: U is the whole pool. The labeled positives are in it once more, without their label, and its "
        f"prior is π = {control.prior:.3f}.",
        "Single training set: labeling takes rows out of U, so its prior is only "
        rf"$(\pi n-N_l)/(n-N_l)$ = {single.prior:.3f}. A method that takes this U for a draw from the population is "
        "biased, the more so the larger c.",
    )
    _draw_composition(add_axes(figure, 0.7, foot + 0.55, 3.6, 2.6), (control, single))
    _draw_densities(add_axes(figure, 5.1, foot + 0.55, 3.2, 2.6), (control, single))
    return figure


def _draw_composition(axes: Axes, both: tuple[Composition, Composition]) -> None:
    from matplotlib.patches import Patch

    from .data_figures import HIDDEN, INK, LABELED, NEGATIVE, SMALL, TEXT, add_legend

    looks: dict[str, dict[str, Any]] = {
        "labeled positives": {"facecolor": LABELED, "edgecolor": LABELED},
        "the same rows in U": {"facecolor": "white", "edgecolor": LABELED, "hatch": "/////"},
        "hidden positives": {"facecolor": HIDDEN, "edgecolor": HIDDEN},
        "negatives": {"facecolor": NEGATIVE, "edgecolor": NEGATIVE},
    }
    for k, made in enumerate(both):
        head, places = 2.95 * k, (2.95 * k + 0.75, 2.95 * k + 1.65)
        parts = (made.labeled, 0, 0, 0), (0, made.copies, made.hidden, made.negative)
        for place, lengths in zip(places, parts, strict=True):
            start = 0
            for length, look in zip(lengths, looks.values(), strict=True):
                if length:
                    axes.barh(place, length, left=start, height=0.72, linewidth=0.8, **look)
                start += length
        summed = " + ".join(f"{length}" for length in parts[1] if length)
        total = f" = {made.unlabeled:,}" if "+" in summed else ""
        axes.text(0, head, f" {made.scheme}", fontsize=SMALL, weight="bold", color=INK, va="center_baseline")
        axes.text(
            ROWS,
            head,
            f"$n_U$ = {summed}{total}",
            fontsize=SMALL,
            color=INK,
            ha="right",
            va="center_baseline",
        )
    axes.set_yticks([0.75, 1.65, 3.7, 4.6], ["LP", "U", "LP", "U"], fontsize=SMALL)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(5.1, -0.4)
    axes.set_xlim(0, ROWS)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("rows", fontsize=TEXT, color=INK)
    add_legend(axes, 2, [Patch(label=name, **look) for name, look in looks.items()])


def _draw_densities(axes: Axes, both: tuple[Composition, Composition]) -> None:
    from .data_figures import INK, LABELED, NEGATIVE, TEXT, add_legend

    x = np.linspace(-4.5, 4.5, 451)
    for sign, color, name in ((1, LABELED, "$f_+$"), (-1, NEGATIVE, "$f_-$")):
        axes.plot(x, class_density(x, sign), color=color, linewidth=1.8)
        axes.text(sign * (MEAN + 1.15), 0.32, name, color=color, fontsize=TEXT + 1.5, ha="center")
    for made, style in zip(both, ("-", (0, (4, 2))), strict=True):
        name = f"$f_u$, {made.scheme}: ${made.prior:.3f}\\,f_+ + {1 - made.prior:.3f}\\,f_-$"
        axes.plot(x, unlabeled_density(x, made.prior), color=INK, linewidth=1.5, linestyle=style, label=name)
    axes.set_xlim(-4.5, 4.5)
    axes.set_ylim(0, 0.42)
    axes.set_xlabel("x (standard deviations of a class)", fontsize=TEXT, color=INK)
    axes.set_ylabel("density", fontsize=TEXT, color=INK)
    add_legend(axes, 1, length=2.2)
