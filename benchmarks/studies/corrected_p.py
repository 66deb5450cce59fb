"""Counts the corrected p-values of PU-Bench's Table D.6 that no runs with the figures of its Table 1 can have.

    python -m benchmarks.studies.corrected_p

The caption of Table D.6 names two-sided paired t-tests on the values of Table 1, ten seeds, Holm-Bonferroni over the 17
methods of a data set. Two means and deviations do not give the p-value of a paired test, but they bound it. The
deviation of the differences lies between |s - s'| and s + s'. The correction multiplies by 1 to 17. Means, deviations
and p-values may be off by half of their last digit. What lies outside of that is impossible.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from pubench_report.published import PublishedCell, source
from scipy import stats

P_VALUES = files("pubench_report.published") / "pubench2026-table-d6.csv"
BASELINE, SEEDS, HALF_DIGIT = "nnpu", 10, 0.005


@dataclass(frozen=True)
class Bounded:
    """A printed p-value, and the lowest and highest one that Table 1 allows."""

    method: str
    data: str
    printed: float
    lowest: float
    highest: float

    @property
    def possible(self) -> bool:
        """Whether the printed value, of two digits, can be rounded from one within the bounds."""
        half = 0.05 * 10 ** math.floor(math.log10(self.printed))
        return self.lowest - half <= self.printed <= self.highest + half


def bounded(*, divided_by_n: bool = False) -> Iterator[Bounded]:
    """Every figure of Table D.6. ``divided_by_n``: whether the printed deviations of Table 1 divide by n."""
    cells = {(cell.method, cell.data): cell for cell in source("pubench2026").cells}
    with P_VALUES.open(newline="") as file:
        rows = list(csv.DictReader(file))
    methods = len({row["method"] for row in rows})
    scale = math.sqrt(SEEDS / (SEEDS - 1)) if divided_by_n else 1.0
    for row in rows:
        lowest, highest = _raw(cells[row["method"], row["data"]], cells[BASELINE, row["data"]], scale)
        yield Bounded(row["method"], row["data"], float(row["p"]), lowest, min(1.0, methods * highest))


def _raw(one: PublishedCell, other: PublishedCell, scale: float) -> tuple[float, float]:
    """The lowest and the highest uncorrected p-value."""
    difference, rounding = abs(one.mean - other.mean), 2 * HALF_DIGIT
    narrow = scale * max(0.0, abs(one.printed - other.printed) - rounding)
    wide = scale * (one.printed + other.printed + rounding)
    return _p(difference + rounding, narrow), _p(max(0.0, difference - rounding), wide)


def _p(difference: float, deviation: float) -> float:
    """Two-sided p-value of a paired t-test over ``SEEDS`` pairs."""
    if deviation == 0:
        return 0.0
    return float(2 * stats.t.sf(difference / (deviation / math.sqrt(SEEDS)), SEEDS - 1))


def main() -> None:
    for divided_by_n in (False, True):
        found = list(bounded(divided_by_n=divided_by_n))
        low = sum(not one.possible and one.printed < one.lowest for one in found)
        high = sum(not one.possible and one.printed > one.highest for one in found)
        divisor = "n" if divided_by_n else "n - 1"
        print(f"deviations that divide by {divisor}: of {len(found)}, {low} are too low and {high} too high")


if __name__ == "__main__":
    main()
