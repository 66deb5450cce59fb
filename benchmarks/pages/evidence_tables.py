"""Tables of how far off measures, estimators and tuning are, for the pages about them."""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from scipy import stats

from benchmarks.pages.parts import table
from benchmarks.raw_rows import RESULTS, ROOT

#: What the papers print.
STUDIES = ROOT / "benchmarks" / "studies"

#: Table of Jain et al. -> its true value, and the column of each way to estimate it.
ERRORS = {
    "1": ("supervised_auc", {"PU": "pu_auc", "IR": "real_indirect", "DR": "real_direct", "IE": "estimated_indirect",
                             "DE": "estimated_direct"}),
    "2": ("supervised_ap", {"PU": "pu_ap", "IR": "real_ap", "IE": "estimated_ap"}),
}  # fmt: skip
Row = dict[str, str]


def read(path: Path) -> list[Row]:
    """The rows of a CSV file; none where it is not there."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def recovered(rows: list[Row]) -> str:
    """Mean absolute errors of AUC and AUC-PR per data set and β, the published ones in brackets."""
    tables = read(STUDIES / "jain-tables.csv")
    published = {(row["table"], row["dataset"].lower(), float(row["beta"])): row for row in tables}
    lines = []
    for (data, beta), mine in _groups(rows, lambda row: (row["data"], float(row["beta"]))):
        cells = []
        for number, (true, columns) in ERRORS.items():
            theirs = published.get((number, data, beta), {})
            for name, column in columns.items():
                errors = [abs(min(float(row[column]), 1) - float(row[true])) for row in mine if row[column]]
                beside = theirs.get(f"err_{name}")
                count = f"; {len(errors)} of {len(mine)}" if errors and len(errors) < len(mine) else ""
                cells.append(_of(errors, f"{beside}{count}" if beside else count.lstrip("; ")))
        lines.append((data, f"{beta:g}", len(mine), *cells))
    heads = (f"{measure} {name}" for measure, number in (("AUC", "1"), ("PR", "2")) for name in ERRORS[number][1])
    return table(("data", "β", "n", *heads), lines)


def nearer(rows: list[Row]) -> str:
    """How often the indirect way to an AUC is closer to the truth than the direct one, over data sets and β."""
    said = []
    for indirect, direct in (("IR", "DR"), ("IE", "DE")):
        true, columns = ERRORS["1"]
        signs = []
        for _, mine in _groups(rows, lambda row: (row["data"], row["beta"])):
            here = [
                [abs(min(float(row[columns[way]]), 1) - float(row[true])) for row in mine if row[columns[way]]]
                for way in (indirect, direct)
            ]
            if here[1]:
                one, other = (round(statistics.mean(errors), 3) for errors in here)
                signs.append((other > one) - (other < one))
        counts = signs.count(1), signs.count(-1), signs.count(0)
        said.append(("{} wins, {} losses, {} ties".format(*counts), f"{p_of(*counts):.2g}"))
    (real, p), (estimated, of_estimates) = said
    return (
        f"The indirect way is closer than the direct one: {real} with the real α and β (one-sided binomial test,\n"
        f"p = {p}), and {estimated} with estimates (p = {of_estimates}). Theirs, in 36 cells: 28, 1, 7\n"
        "(p = 6.5e-6) and 25, 9, 2 (p = 5.7e-3)."
    )


def p_of(wins: int, losses: int, ties: int) -> float:
    """One-sided, with half of the ties as wins."""
    return float(stats.binomtest(wins + ties // 2, wins + losses + ties, alternative="greater").pvalue)


def priors(rows: list[Row]) -> str:
    """Mean absolute and mean error of every estimator, and how often its interval holds the true share."""
    lines = []
    for (estimator, c), mine in _groups(rows, lambda row: (row["estimator"], float(row["c"]))):
        errors = [float(row["error"]) for row in mine if row["error"]]
        covered = [int(row["covered"]) for row in mine if row["covered"]]
        held = f"{sum(covered)} of {len(covered)}" if covered else "no interval"
        mean = f"{statistics.mean(errors):+.3f}" if errors else "-"
        lines.append(
            (f"`{estimator}`", f"{c:g}", f"{len(errors)} of {len(mine)}", _of(map(abs, errors), ""), mean, held)
        )
    return table(
        ("estimator", "c", "estimates", "mean absolute error", "mean error", "true share in the interval"), lines
    )


def ranks(rows: list[Row]) -> str:
    """Means over the shares of positives in U: rank correlation and mean absolute deviation, published in brackets."""
    printed = {(row["statistic"], row["scenario"]): row for row in read(STUDIES / "pulp-table-1.csv")}
    names = list(dict.fromkeys(row["measure"] for row in rows))
    lines = []
    for scenario in dict.fromkeys(row["scenario"] for row in rows):
        for title, column, statistic in (
            ("order, all", "rank_correlation", "rank_correlation"),
            ("order, within a task", "within_data_sets", ""),
            ("absolute deviation", "mean_absolute_deviation", "mean_absolute_deviation"),
            ("standard deviation", "standard_deviation", ""),
        ):
            beside = printed.get((statistic, scenario), {})
            mine = (
                [float(row[column]) for row in rows if (row["scenario"], row["measure"]) == (scenario, name)]
                for name in names
            )
            cells = (_of(values, beside.get(name, "")) for values, name in zip(mine, names, strict=True))
            lines.append((f"{scenario}: {title}", *cells))
    return table(("labels", *names), lines)


def searches(rows: list[Row]) -> str:
    """Per data set and in all: how often what tuning by PA chose was better, equal and worse on test rows."""
    lines = []
    for name, mine in [*_groups(rows, lambda row: row["data"]), *([("in all", rows)] if rows else [])]:
        gains = [100 * (float(row["best_test_accuracy"]) - float(row["default_test_accuracy"])) for row in mine]
        counts = (sum(g > 0 for g in gains), sum(g == 0 for g in gains), sum(g < 0 for g in gains))
        ends = f"{min(gains):+.1f} to {max(gains):+.1f}"
        methods = len({row["method"] for row in mine})
        lines.append((name, methods, len(mine), *counts, f"{statistics.mean(gains):+.2f}", ends))
    return table(("data", "methods", "searches", "better", "equal", "worse", "mean gain", "from ... to"), lines)


def _groups(rows: Iterable[Row], key: Any) -> Iterator[tuple[Any, list[Row]]]:
    found: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    yield from sorted(found.items())


def _of(values: Iterable[float], beside: str) -> str:
    values = list(values)
    if not values:
        return "-"
    return f"{statistics.mean(values):.3f}{f' ({beside})' if beside else ''}"


_MAKE = {"recovered-error": recovered, "prior-error": priors, "pulp-rank": ranks, "tuning": searches}


def tables(*names: str) -> dict[str, str]:
    """The tables of these files of rows."""
    found = {name: _MAKE[name](read(RESULTS / f"{name}.csv")) for name in names}
    if "recovered-error" in names:
        found["indirect or direct"] = nearer(read(RESULTS / "recovered-error.csv"))
    return found
