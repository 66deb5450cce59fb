"""Tables of how far off measures, estimators and tuning are, for the pages about them."""

from __future__ import annotations

from itertools import product

import pandas as pd
from scipy import stats

from benchmarks.pages.parts import interval, table
from benchmarks.pages.queries import rows
from benchmarks.raw_rows import ROOT

#: What the papers print.
STUDIES = ROOT / "benchmarks" / "studies"
#: Table of Jain et al. -> its measure, its true value, and the column of each way to estimate it.
ERRORS = {
    1: ("AUC", "supervised_auc", {"PU": "pu_auc", "IR": "real_indirect", "DR": "real_direct",
                                  "IE": "estimated_indirect", "DE": "estimated_direct"}),
    2: ("PR", "supervised_ap", {"PU": "pu_ap", "IR": "real_ap", "IE": "estimated_ap"}),
}  # fmt: skip

#: Which 60 rows are checked.
DESIGNS = {
    "sheet": "as on the sheet", "weighted": "the same, weighted by their design", "random": "at random",
    "near": "a third nearest the threshold, else as on the sheet",
}  # fmt: skip


def recovered(found: pd.DataFrame) -> dict[str, str]:
    """Mean absolute errors of AUC and AUC-PR per data set and β, the published ones in brackets, and a test."""
    printed = pd.read_csv(STUDIES / "jain-tables.csv", dtype={"beta": float})
    printed["data"] = printed.dataset.str.lower()
    errors = pd.DataFrame({
        (number, way): (found[column].clip(upper=1) - found[true]).abs()
        for number, (_, true, columns) in ERRORS.items()
        for way, column in columns.items()
    })  # fmt: skip
    cells = errors.groupby([found["data"], found["beta"]])
    means, counts, sizes = cells.mean(), cells.count(), cells.size()
    published = printed.set_index(["table", "data", "beta"])
    lines = []
    for data, beta in means.index:
        line = []
        for number, way in errors:
            n, of = counts.loc[data, beta][number, way], sizes[data, beta]
            known = (number, data, beta) in published.index
            beside = [f"{published.loc[(number, data, beta), f'err_{way}']:.3f}"] if known else []
            beside += [f"{n} of {of}"] if 0 < n < of else []
            mean = means.loc[data, beta][number, way]
            line.append("-" if not n else f"{mean:.3f}" + (f" ({'; '.join(beside)})" if beside else ""))
        lines.append((data, f"{beta:g}", sizes[data, beta], *line))
    heads = (f"{measure} {way}" for measure, _, columns in ERRORS.values() for way in columns)
    return {
        "recovered-error": table(("data", "β", "n", *heads), lines),
        "indirect or direct": nearer(means[1].round(3)),
    }


def nearer(means: pd.DataFrame) -> str:
    """How often the indirect way to an AUC is closer to the truth than the direct one, over data sets and β."""
    said = []
    for indirect, direct in (("IR", "DR"), ("IE", "DE")):
        gap = (means[direct] - means[indirect]).dropna()
        wins, losses, ties = int((gap > 0).sum()), int((gap < 0).sum()), int((gap == 0).sum())
        said.append((f"{wins} wins, {losses} losses, {ties} ties", f"{p_of(wins, losses, ties):.2g}"))
    (real, p), (estimated, of_estimates) = said
    return (
        f"The indirect way is closer than the direct one: {real} with the real α and β (one-sided binomial test,\n"
        f"p = {p}), and {estimated} with estimates (p = {of_estimates}). Theirs, in 36 cells: 28, 1, 7\n"
        "(p = 6.5e-6) and 25, 9, 2 (p = 5.7e-3)."
    )


def p_of(wins: int, losses: int, ties: int) -> float:
    """One-sided, with half of the ties as wins."""
    return float(stats.binomtest(wins + ties // 2, wins + losses + ties, alternative="greater").pvalue)


def priors(found: pd.DataFrame) -> dict[str, str]:
    """Mean absolute and mean error of every estimator, and how often its interval holds the true share."""
    lines = []
    for (estimator, c), mine in found.groupby(["estimator", "c"]):
        errors, covered = mine.error.dropna(), mine.covered.dropna()
        means = (f"{errors.abs().mean():.3f}", f"{errors.mean():+.3f}") if len(errors) else ("-", "-")
        held = f"{covered.sum():.0f} of {len(covered)}" if len(covered) else "no interval"
        lines.append((f"`{estimator}`", f"{c:g}", f"{len(errors)} of {len(mine)}", *means, held))
    head = ("estimator", "c", "estimates", "mean absolute error", "mean error", "true share in the interval")
    return {"prior-error": table(head, lines)}


def ranks(found: pd.DataFrame) -> dict[str, str]:
    """Means over the shares of positives in U: rank correlation and mean absolute deviation, published in brackets."""
    printed = pd.read_csv(STUDIES / "pulp-table-1.csv", dtype=str).set_index(["statistic", "scenario"])
    names, lines = list(found.measure.unique()), []
    means = found.groupby(["scenario", "measure"]).mean(numeric_only=True)
    for scenario in found.scenario.unique():
        for title, column in (
            ("order, all", "rank_correlation"),
            ("order, within a task", "within_data_sets"),
            ("absolute deviation", "mean_absolute_deviation"),
            ("standard deviation", "standard_deviation"),
        ):
            known = printed.loc[column, scenario] if (column, scenario) in printed.index else {}
            beside = (f" ({known[name]})" if name in known and pd.notna(known[name]) else "" for name in names)
            cells = (f"{means[column][scenario, name]:.3f}" for name in names)
            lines.append((f"{scenario}: {title}", *map("".join, zip(cells, beside, strict=True))))
    return {"pulp-rank": table(("labels", *names), lines)}


def searches(found: pd.DataFrame) -> dict[str, str]:
    """Per data set and in all: how often what tuning by PA chose was better, equal and worse on test rows."""
    found = found.assign(gain=100 * (found.best_test_accuracy - found.default_test_accuracy))
    lines = []
    for name, mine in [*found.groupby("data"), ("in all", found)]:
        counts = ((mine.gain > 0).sum(), (mine.gain == 0).sum(), (mine.gain < 0).sum())
        ends = f"{mine.gain.min():+.1f} to {mine.gain.max():+.1f}"
        lines.append((name, mine.method.nunique(), len(mine), *counts, f"{mine.gain.mean():+.2f}", ends))
    head = ("data", "methods", "searches", "better", "equal", "worse", "mean gain", "from ... to")
    return {"tuning": table(head, lines)}


def sheets(found: pd.DataFrame) -> dict[str, str]:
    """AUC and accuracy per table without the 60 checked rows and with them, and the mean change."""
    of_table = found.groupby(["mechanism", "data"], sort=False).mean(numeric_only=True)
    lines = {name: [name.removeprefix("teisseyre2025/")] for name in found["data"].unique()}
    last = ["change, mean (95 %)"]
    for mechanism, measure in ((one, name) for one in ("scar", "sar-lbe-b") for name in ("auc", "accuracy")):
        before, after = (of_table.loc[mechanism][f"{measure}_{when}"] for when in ("before", "after"))
        for name, line in lines.items():
            line.append(f"{before[name]:.1f}, {after[name]:.1f}" if name in before else "-")
        last.append(interval(after - before))
    heads = ("SCAR: AUC", "SCAR: accuracy", "biased: AUC", "biased: accuracy")
    return {"sheet": table(("table", *heads), [*lines.values(), last])}


def designs(found: pd.DataFrame) -> dict[str, str]:
    """Change by 60 checked rows, and the ranges that they leave, by how they are drawn; means over tables."""
    of = found.assign(prior=found.high - found.low, top=found.top_high - found.top_low)
    of, lines = of.groupby(["mechanism", "design", "data"]).mean(numeric_only=True), []
    for (design, said), (mechanism, labels) in product(DESIGNS.items(), (("scar", "SCAR"), ("sar-lbe-b", "biased"))):
        now, before = of.loc[mechanism, design], of.loc[mechanism, "none"]
        gained = (interval(now[measure] - before[measure]) for measure in ("auc", "accuracy"))
        lines.append((said, labels, *gained, *(f"{100 * now[name].mean():.0f}" for name in ("prior", "top"))))
    return {"designs": table(("rows", "labels", "AUC", "accuracy", "range of the prior", "of precision"), lines)}


MADE = {
    "advice-sheet": sheets, "sheet-designs": designs, "recovered-error": recovered, "prior-error": priors,
    "pulp-rank": ranks, "tuning": searches,
}  # fmt: skip


def tables(*names: str) -> dict[str, str]:
    """The tables of these files of rows."""
    return {block: text for name in names for block, text in MADE[name](rows(name)).items()}
