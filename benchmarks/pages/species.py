"""The tables of ``species.md``: results on species with surveys as truth. ``species_rows.py`` makes the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pubench_report.significance import friedman, holm
from scipy import stats

from benchmarks.pages.parts import table as markdown_table
from benchmarks.raw_rows import RESULTS

MEASURES = ("auc", "average-precision", "auc-prg", "correlation")
#: Short training: ten epochs, or the preset `quick`.
NETWORKS = ("nnpu", "upu", "dist-pu", "vpu", "pusb", "pue", "lbe-pu")
REGIONS = ("awt", "can", "nsw", "nz", "sa", "swi")


def table_of(frame: pd.DataFrame, methods: list[str], reference: str, measure: str = "auc") -> str:
    """Methods over the species that all of them were run on, each the mean of its seeds: mean by region and overall,
    average rank, and the paired difference to the reference.
    """
    wide = frame[frame.method.isin(methods)].pivot_table(index="species", columns="method", values=measure)
    wide = wide[methods].dropna()
    means = wide.groupby(dict(zip(frame.species, frame.region, strict=True))).mean()
    tested = friedman({method: wide[method].to_dict() for method in methods})
    others = [method for method in methods if method != reference]
    adjusted = holm([stats.wilcoxon((wide[one] - wide[reference]).round(12)).pvalue for one in others])
    lines = []
    for rank, method in sorted(zip(tested.average_ranks, tested.methods, strict=True)):
        paired, more = "reference", wide[method] - wide[reference]
        if method != reference:
            p = adjusted[others.index(method)]
            paired = f"{more.mean():+.3f} ({(more > 0).sum()} of {len(wide)}; p {p:.2g})"
        numbers = [*(means[method][region] for region in REGIONS if region in means.index), wide[method].mean()]
        lines.append((f"`{method}`", *(f"{mean:.3f}".lstrip("0") for mean in numbers), f"{rank:.2f}", paired))
    regions = (region.upper() for region in REGIONS if region in means.index)
    head = ("method", *regions, "all", "rank", f"against `{reference}` (wins; Holm)")
    difference = tested.critical_difference
    return f"{markdown_table(head, lines)}\n\nNemenyi's critical difference of ranks: {difference:.2f}."


def predicted(frame: pd.DataFrame, methods: list[str]) -> str:
    """Whether measures of held-out records order the methods as the survey's AUC does, for each species and seed."""
    keys = ["species", "seed"]
    mine = frame[frame.method.isin(methods)].sort_values([*keys, "method"])
    mine = mine[mine.groupby(keys).method.transform("size") == len(methods)]
    by_case = {name: mine[name].to_numpy().reshape(-1, len(methods)) for name in ("auc", "pauc", "spies")}
    auc, lines = by_case["auc"], []
    for guide in ("pauc", "spies"):
        taus = np.nan_to_num([stats.kendalltau(*case).statistic for case in zip(by_case[guide], auc, strict=True)])
        last = len(methods) - 1 - by_case[guide][:, ::-1].argmax(axis=1)  # of equal ones the last by name
        gain = auc[np.arange(len(auc)), last].mean()
        lines.append((f"`{guide}`", f"{len(auc)}", f"{taus.mean():+.2f}", f"{gain:.3f}", f"{auc.mean():.3f}"))
    head = ("guide", "species x seeds", "Kendall's tau, mean", "AUC of its choice", "AUC of a method at random")
    return markdown_table(head, lines)


def tables() -> dict[str, str]:
    """The tables of the page by the names of their marks."""
    frame = pd.read_csv(RESULTS / "species.csv")
    random, target = frame[frame.source == "disdat"], frame[frame.source == "disdat-target-group"]
    counts = random.groupby("method").species.nunique()
    everywhere = [method for method, n in counts.items() if n >= 160]
    found = {f"all {name}": table_of(random, everywhere, "naive logistic", name) for name in MEASURES}
    found["bagging"] = table_of(random, everywhere, "pu-bagging trees")
    found["all predicted"] = predicted(random, everywhere)
    found["classics predicted"] = predicted(random, [method for method in everywhere if method not in NETWORKS])
    found["target group"] = backgrounds(random, target)
    return found


def backgrounds(random: pd.DataFrame, target: pd.DataFrame) -> str:
    """Mean AUC by region with both backgrounds, over the species that have both; each is the mean of its seeds."""
    lines = []
    one, other = (
        frame.groupby(["method", "region", "species"], as_index=False).auc.mean() for frame in (target, random)
    )
    pairs = one.merge(other, on=["method", "region", "species"], suffixes=("_target", "_random"))
    for method, both in pairs.groupby("method"):
        p = stats.wilcoxon(both.auc_target, both.auc_random).pvalue
        better = f"{int((both.auc_target > both.auc_random).sum())} of {len(both)}; p {p:.2g}"
        for name, column in (("random sites", "auc_random"), ("target group", "auc_target")):
            means = [both[both.region == region][column].mean() for region in REGIONS]
            numbers = [f"{mean:.3f}".lstrip("0") for mean in (*means, both[column].mean())]
            lines.append((f"`{method}`", name, *numbers, better if column == "auc_target" else ""))
    head = ("method", "background", *(region.upper() for region in REGIONS), "all", "target group better (Wilcoxon)")
    return markdown_table(head, lines)
