"""The page ``guide.md``: which method for which data, labels, bias and time, from committed rows.

A *cell* is a data set, scheme, mechanism and c. Methods are compared with the reference in the same cell and with the
same seeds, and a difference is the mean over seeds, then cells, then data sets. The percentile bootstrap draws data
sets and seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from benchmarks.pages.parts import render, table
from benchmarks.pages.queries import CLASSICS, by_pa, studies

#: Positives of the training part, as every record of the data set has them (``data.train.positive``).
POSITIVES = {
    "spambase": 1435, "letter": 7879, "usps": 3745, "20news": 6326, "connect-4": 35222, "imdb": 12375, "mnist": 29197,
    "fashion-mnist": 29700,
}  # fmt: skip
KINDS = {
    "tables": ("spambase", "letter", "connect-4"),
    "text embeddings": ("20news", "imdb"),
    "images": ("usps", "mnist", "fashion-mnist"),
}
#: Table B.3 of PU-Bench, and the classics.
FAMILIES = {
    "risk minimization": ("nnpu", "pusb", "vpu", "mpe-pu", "lbe-pu", "puet", "dist-pu"),
    "disambiguation": (
        "pulda", "self-pu", "p3mix-e", "p3mix-c", "robust-pu", "holistic-pu", "lagam-pu", "pul-cpbf",
    ),
    "generative matching": ("vae-pu", "pan", "cgenpu"),
    "classics": CLASSICS,
}  # fmt: skip
#: What others are compared with; the second for data that the first was not run on.
REFERENCES = ("pu-bagging", "nnpu")
#: A line names at most so many methods that are above the reference.
NAMED = 3
RESAMPLES = 2000
#: AUC in percent of scores that say nothing.
CHANCE = 50.0
#: With fewer seeds in every cell, chance decides.
SEEDS = 3
#: A cell with fewer methods would hide what is known of others in the same line.
FEWEST = 4

Cell = tuple[str, str, str, float]
#: Method -> seed -> value in percent.
Values = dict[str, dict[int, float]]


@dataclass(frozen=True)
class Answer:
    """Findings in the cells of a regime. ``differences``: points to the reference, best first."""

    reference: str = ""
    differences: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    #: Share of resamples in which a method is first, the reference included.
    first: Mapping[str, float] = field(default_factory=dict)
    data: Sequence[str] = ()
    #: Mean of the reference.
    level: float = math.nan

    @property
    def better(self) -> list[str]:
        """Methods whose interval is above 0, best first: they are recommended, otherwise the reference is."""
        return [method for method in self.differences if self.intervals[method][0] > 0]


def rows() -> pd.DataFrame:
    """Rows by ``pa`` of data sets whose number of positives is known, without the oracle."""
    frame = by_pa(studies())
    return frame[frame.data.isin(POSITIVES) & (frame.method != "pn")]


def cells_of(frame: pd.DataFrame, measure: str) -> dict[Cell, Values]:
    found: dict[Cell, Values] = {}
    for key, cell in frame.groupby(["data", "scheme", "mechanism", "c"]):
        of_methods = {method: dict(zip(g.seed, g[measure], strict=True)) for method, g in cell.groupby("method")}
        found[key] = {method: seeds for method, seeds in of_methods.items() if len(seeds) >= SEEDS}
    return {key: values for key, values in found.items() if len(values) >= FEWEST}


def answer(cells: Mapping[Cell, Values], methods: Callable[[str], bool] = lambda _: True) -> Answer:
    """Compare methods with the first reference that these cells have."""
    reference = next((ref for ref in REFERENCES if any(ref in values for values in cells.values())), "")
    mine = {cell: values for cell, values in cells.items() if reference in values and len(values) > 1}
    if not mine:
        return Answer()
    data = sorted({cell[0] for cell in mine})
    random = np.random.default_rng(0)
    drawn = np.array([random.multinomial(len(data), [1 / len(data)] * len(data)) for _ in range(RESAMPLES)])
    means, resampled = {}, {}
    level = np.mean([
        np.mean([np.mean([*values[reference].values()]) for cell, values in mine.items() if cell[0] == name])
        for name in data
    ])  # fmt: skip
    for method in sorted({method for values in mine.values() for method in values if methods(method)} - {reference}):
        by_data = []
        for name in data:
            pairs = [
                np.array([values[method][seed] - values[reference][seed] for seed in seeds])
                for cell, values in mine.items()
                if cell[0] == name and (seeds := sorted({*values.get(method, ())} & {*values[reference]}))
            ]
            picked = [pair[random.integers(len(pair), size=(RESAMPLES, len(pair)))].mean(1) for pair in pairs]
            by_data.append((np.mean([pair.mean() for pair in pairs]), np.mean(picked, 0)) if pairs else None)
        if all(by_data):  # a method counts where it was run on every data set of the regime
            means[method] = float(np.mean([mean for mean, _ in by_data]))
            resampled[method] = sum(drawn[:, i] * picked for i, (_, picked) in enumerate(by_data)) / len(data)
    order = sorted(means, key=lambda method: -means[method])
    stacked = np.array([np.zeros(RESAMPLES), *(resampled[method] for method in order)])
    wins = np.bincount(stacked.argmax(0), minlength=len(stacked)) / RESAMPLES
    return Answer(
        reference,
        {method: means[method] for method in order},
        {method: tuple(np.percentile(resampled[method], [2.5, 97.5])) for method in order},
        dict(zip([reference, *order], wins.tolist(), strict=True)),
        data,
        float(level),
    )


def cells_in(found: Answer) -> tuple[str, str]:
    """Recommended methods and the best of the others: difference, interval, share of resamples in which it is first."""
    if not found.differences:
        return "unknown", ""
    best = next(iter(found.differences))
    low, high = found.intervals[best]
    undecided = not found.better and found.differences[best] > 0
    return (
        ", ".join(f"`{method}`" for method in found.better[:NAMED] or [found.reference])
        + (", open" if undecided else ""),
        f"`{best}` {found.differences[best]:+.1f} ({low:+.1f} to {high:+.1f}), {100 * found.first[best]:.0f} %",
    )


def regimes(frame: pd.DataFrame, cells: Mapping[Cell, Values]) -> dict[str, list[tuple[str, Answer]]]:
    """The tables of the guide: name of the regime, answer."""

    def of(keep: Callable[[Cell], bool], methods: Callable[[str], bool] = lambda _: True) -> Answer:
        return answer({cell: values for cell, values in cells.items() if keep(cell)}, methods)

    def scar(cell: Cell) -> bool:
        return cell[2] == "scar"

    bounds = ((0, 100), (100, 300), (300, 1000), (1000, math.inf))
    labels = {cell: math.floor(cell[3] * POSITIVES[cell[0]] + 1e-9) for cell in cells}
    by_labels = [
        (
            f"{kind}, {low} to {high - 1} labels" if high < math.inf else f"{kind}, {low} labels or more",
            of(lambda cell, n=names, a=low, b=high: scar(cell) and cell[0] in n and a <= labels[cell] < b),
        )
        for kind, names in KINDS.items()
        for low, high in bounds
    ]
    biases = {
        "sar-lbe-a": "S2: likely",
        "sar-lbe-b": "S3: unlikely",
        "sar-pusb": "S4: likeliest",
    }
    by_bias = [
        (f"{name}, c = {c:g}", of(lambda cell, k=key, c=c: cell[2:] == (k, c)))
        for key, name in biases.items()
        for c in (0.05, 0.5)
    ]
    by_c = [(f"c = {c:g}", of(lambda cell, c=c: scar(cell) and cell[3] == c)) for c in (0.02, 0.05, 0.1, 0.3, 0.5)]
    seconds = frame[(frame.mechanism == "scar") & (frame.c == 0.1)].groupby("method").seconds.median()
    by_time = [
        (f"at most {most} s", of(lambda cell: scar(cell) and cell[3] == 0.1, lambda m, s=most: seconds[m] <= s))
        for most in (10, 30, 100, 1000)
    ]
    return {"data and labels": by_labels, "label frequency": by_c, "bias": by_bias, "time": by_time}


def families(cells: Mapping[Cell, Values]) -> str:
    """Accuracy of PU-Bench's families by kind of data in its main comparison (case-control, SCAR, c = .1)."""
    lines = []
    for kind, names in KINDS.items():
        for family, methods in FAMILIES.items():
            found = {
                (method, cell[0]): [*values[method].values()]
                for cell, values in cells.items()
                if cell[0] in names and cell[1:] == ("case-control", "scar", 0.1)
                for method in methods
                if method in values
            }
            if not found:
                continue
            means = {key: float(np.mean(values)) for key, values in found.items()}
            deviation = np.mean([np.std(values, ddof=1) for values in found.values()])
            ends = (f"`{key[0]}` on {key[1]} {means[key]:.1f}" for key in (f(means, key=means.get) for f in (min, max)))
            middle = f"{np.mean([*means.values()]):.1f}"
            count = f"{len({method for method, _ in found})} of {len(methods)}"
            lines.append((f"{kind}, {family}", count, middle, *ends, f"{deviation:.1f}"))
    return table(("kind, family", "methods", "mean", "lowest", "highest", "deviation over seeds"), lines)


TITLES = {
    "data and labels": "By kind of data and number of labeled positives",
    "label frequency": "By share of positives that is labeled",
    "bias": "By labeling bias: which positives are labeled",
    "time": "By time of a run (c = .1)",
}


def page() -> str:
    frame = rows()
    accuracy = cells_of(frame, "accuracy")
    rank, decide = regimes(frame, cells_of(frame, "auc")), regimes(frame, accuracy)
    # lines by time compare the same cells as the line of c = .1
    known = [found for key in TITLES if key != "time" for _, found in rank[key] if found.first]
    better = [found for found in known if found.better]
    head = ("what you have", "rank", "best other", "decide", "best other", "methods", "data sets")
    tables = {
        title: table(head, (_line(*one, other) for one, (_, other) in zip(rank[key], decide[key], strict=True)))
        for key, title in TITLES.items()
    }
    return render(
        "guide.md",
        others=len(better),
        known=len(known),
        alone=sum(len(found.data) == 1 for found in better),
        named=NAMED,
        fewest=FEWEST,
        seeds=SEEDS,
        tables=tables,
        families=families(accuracy),
    )


def _line(regime: str, rank: Answer, decide: Answer) -> tuple[str, ...]:
    shown = [*cells_in(rank), *cells_in(decide)]
    if rank.differences and rank.level + max(0, *rank.differences.values()) < CHANCE:
        shown[0] = shown[2] = "none works"
    return regime, *shown, str(len(rank.differences) or ""), ", ".join(rank.data)
