"""The page ``findings.md``: what was found here that the literature does not say, from committed rows."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import pandas as pd

from benchmarks.pages.costs import speed
from benchmarks.pages.label_ratio import aistats, code, interval, over_bagging
from benchmarks.pages.parts import render, table
from benchmarks.pages.queries import CLASSICS, CONVENTIONAL, DATA, SEEDS, at_prior, by_pa, rows, studies
from benchmarks.pages.summary import published

#: Data sets of PU-Bench whose methods were all run.
MAIN = ("spambase", "20news", "connect-4")
TREES = "pu-bagging"
#: Names in rows of the advice and of species.
NAMES = {
    "bagged trees": TREES, "pu-bagging trees": TREES, "bagged forest": "pu-bagging forest",
    "boosting, P against U": "naive boosting", "logistic regression, P against U": "naive logistic",
    "Elkan-Noto, logistic": "elkan-noto logistic", "two-step, logistic": "two-step logistic", "naive trees": "naive",
}  # fmt: skip
#: (mechanism, c) of a random draw, and of one that prefers likelier positives.
SMOOTH = (("scar", 0.1), ("sar-lbe-a", 0.05), ("sar-lbe-a", 0.5))
#: Which positives are labeled: by a mechanism of PU-Bench or of AISTATS 2025, or in rows of other tables.
BIASES = {
    "scar": "each alike (SCAR)", "S1": "each alike (SCAR)", "sar-lbe-a": "likely ones more often (S2)",
    "S2": "likely ones more often (S2)", "sar-lbe-b": "unlikely ones more often (S3)",
    "S3": "unlikely ones more often (S3)", "S4": "unlikely ones much more often (S4 of AISTATS 2025)",
    "sar-pusb": "the likeliest ones (S4 of PU-Bench)", "biased": "one side of a random line",
    "observers": "those that observers saw (species)",
}  # fmt: skip
FAMILIES = ("trees", "logistic", "networks")
#: Fewer tables make no interval over tables.
FEWEST = 4
#: Points of AUC within which a method shares the first place.
NEAR = 0.5
#: Seeds behind a figure that PU-Bench prints.
PUBLISHED_SEEDS = 10
PRIORS = (0.05, 0.1, 0.2, 0.5, 0.8)


def choosing_an_epoch(runs: pd.DataFrame) -> dict[str, Any]:
    """Points of accuracy lost against the epoch by F1, mean over the methods that have epochs to choose."""
    by = runs.pivot_table(index=["data", "method"], columns="criterion", values="accuracy")
    oracle = runs[(runs.criterion == "f1") & (runs.method != "pn")]
    counts = oracle.groupby(["data", "method"]).agg(seeds=("seed", "size"), least=("epochs", "min"))
    trained = counts[(counts.seeds >= len(SEEDS)) & (counts.least > 1)].index
    decided = oracle.merge(at_prior(), on=["data", "method", "seed"])
    decided["lost"] = decided.accuracy - decided.accuracy_at_prior
    apart = decided.groupby(["data", "method"]).lost.agg(["mean", "size"])
    apart = (
        apart[(apart["size"] >= len(SEEDS)) & apart.index.isin(trained)]["mean"].groupby("data").agg(["mean", "size"])
    )
    lost = by.loc[trained]
    lost = lost[["pa", "pauc", "last"]].rsub(lost["f1"], axis=0).groupby("data").mean().loc[[*MAIN]]
    lines = [
        (DATA[data], sum(trained.get_level_values("data") == data), f"{row['pa']:.1f}",
         f"{apart['mean'][data]:.1f} ({apart['size'][data]})" if data in apart.index else "-", f"{row['pauc']:.1f}",
         f"{row['last']:.1f}")
        for data, row in lost.iterrows()
    ]  # fmt: skip
    head = ("data", "methods", "by `pa`", "by `pa`, decided at the prior (methods)", "by `pauc`", "last epoch")
    return {
        "span": f"{lost['pa'].min():.0f} to {lost['pa'].max():.0f}",
        "most": f"{apart['mean'].reindex([*MAIN]).max():.0f}",
        "better": int((lost["pa"] < lost["last"]).sum()),
        "data_sets": len(MAIN),
        "epochs": table(head, lines),
    }


def by_auc(mechanism: str, c: float) -> dict[str, pd.Series]:
    """Data set -> mean AUC of three seeds by method; only data sets that have bagged trees and another method."""
    frame = by_pa(studies(scheme="case-control", mechanism=mechanism, c=c))
    frame = frame[frame.seed.isin(SEEDS) & frame.auc.notna() & ~frame.method.isin(["pn", "naive"])]
    means = frame.groupby(["data", "method"]).auc.agg(["mean", "size"])
    whole = means[means["size"] == len(SEEDS)]["mean"]
    found = {data: of.droplevel("data") for data, of in whole.groupby("data")}
    return {data: of for data, of in found.items() if TREES in of and len(of) > 1}


def everywhere() -> pd.DataFrame:
    """Rows with any kind of labels: bias, table, unit (what is paired), method with its preset or base, AUC."""
    bench = by_pa(studies(scheme="case-control")).query("method != 'pn'")
    bench = bench.assign(
        bias=bench.mechanism, table=bench.data, unit=bench.c.astype(str) + " " + bench.seed.astype(str)
    )
    line, species = rows("advice-fits").query("mechanism == 'biased'"), rows("species").query("source == 'disdat'")
    line = line.assign(bias="biased", unit=line.c.astype(str), auc=100 * line.auc).replace({"method": NAMES})
    species = species.assign(
        bias="observers", table=species.species, unit=species.seed.astype(str), auc=100 * species.auc
    ).replace({"method": NAMES})
    found = pd.concat([bench, aistats(), line, species]).replace({"bias": BIASES})
    return found.assign(method=found.method.str.removesuffix(" table"))


def by_bias() -> dict[str, Any]:
    """AUC minus bagged trees' by which positives are labeled: the best method of each family, over tables."""
    apart = over_bagging(everywhere())
    lines, above = [], []
    for bias in dict.fromkeys(BIASES.values()):
        here = apart.loc[bias].dropna(axis=1, thresh=FEWEST)
        best = here.mean().groupby(family_of).idxmax()
        ends = {method: interval(here[method].dropna()) for method in here}
        above += [f"{code(method)} ({bias})" for method, text in ends.items() if text.startswith("**+")]
        tables = sorted({len(here), *here[best].count()})
        cells = (f"{code(best[family])} {ends[best[family]]}" if family in best else "-" for family in FAMILIES)
        lines.append((bias, " to ".join(map(str, tables[:: len(tables) - 1 or 1])), len(here.columns), *cells))
    return {"families": table(("labeled positives", "tables", "methods", *FAMILIES), lines), "above": above}


def family_of(method: str) -> str:
    """Trees, logistic regression, or networks."""
    if "logistic" in method or "official" in method:
        return "logistic"
    return "trees" if method.split()[0] in (*CLASSICS, "naive", "puet", "ntc-tmi", "sar-em") else "networks"


def trees_first(runs: pd.DataFrame) -> dict[str, Any]:
    biases = [by_auc(*place) for place in SMOOTH]
    gaps: dict[str, list[float]] = defaultdict(list)
    for found in biases:
        for data, methods in found.items():
            gaps[data].append(methods[TREES] - methods.drop(TREES).max())
    judged = {data for data, of in gaps.items() if len(of) > 1}
    won = {data for data in judged if min(gaps[data]) >= -NEAR}
    chosen = runs[runs.criterion == "pa"].groupby(["data", "method"]).accuracy.agg(["mean", "size"])
    accuracies = []
    for data in MAIN:
        here = chosen.loc[data]["mean"]
        ranked = here[chosen.loc[data]["size"] >= len(SEEDS)].drop(["pn", "naive"], errors="ignore")
        papers = ranked.drop([*CLASSICS], errors="ignore")
        best = (f"`{of.idxmax()}` {of.max():.1f}" for of in (ranked, papers))
        accuracies.append((DATA[data], *best, *(f"{here[m]:.1f}" for m in (TREES, "naive", "nnpu")), len(papers)))
    head = ("data", "best of all", "best without classics", "`pu-bagging`", "`naive`", "`nnpu`", "PU methods")
    return {
        "won": sorted(map(DATA.get, won)),
        "lost": sorted(map(DATA.get, judged - won)),
        "near": NEAR,
        "scar": table(head, accuracies),
        "few": sorted({DATA[data] for found in biases for data, of in found.items() if len(of) < FEWEST}),
    }


def thresholds() -> str:
    """The six runs whose F1 gains most if as many rows are decided positive as there are."""
    found = rows("as-many-positive").query("criterion == 'f1'")
    found = found[found.data.isin(MAIN)].groupby(["method", "data"], sort=False)
    means = found[["share", "positive", "f1", "f1_as_many"]].mean().assign(seeds=found.size()).query("seeds >= 2")
    most = means.loc[(means.f1 - means.f1_as_many).sort_values(kind="stable").index[:6]]
    lines = [
        (f"`{method}` on {DATA[data]}", *(f"{value:.1f}" for value in row[:4]), int(row.seeds))
        for (method, data), row in most.iterrows()
    ]
    return table(("run", "decided positive, %", "positive, %", "F1 at 0", "F1 at the prior", "seeds"), lines)


def released() -> dict[str, Any]:
    """Cells that the released recipes miss by more than two standard errors."""
    paper, found = published(), rows("released").query("not standardized").replace({"method": {"lbe": "lbe-pu"}})
    apart, judged = [], 0
    for (method, data), f1 in (100 * found.set_index(["method", "data"]).f1).groupby(["method", "data"]):
        judged += len(f1) >= len(SEEDS)
        theirs, deviation = map(float, paper[method, data].split(" ± "))
        error = math.hypot(f1.std() / math.sqrt(len(f1)), deviation / math.sqrt(PUBLISHED_SEEDS))
        if len(f1) >= len(SEEDS) and abs(f1.mean() - theirs) > 2 * error:
            apart.append((f"`{method}` on {data}", f"{f1.mean():.1f}", paper[method, data], len(f1)))
    head = ("cell", "released recipe", "printed", "seeds")
    return {"apart": len(apart), "recipes": judged, "released": table(head, apart)}


def losses() -> str:
    """AUC by prior of nnPU with both losses and of bagged trees."""
    found = rows("own-priors")
    found = found[found.criterion.isin(["pa"]) | found.criterion.isna()]
    auc = found.pivot_table(index=["method", "config", "table"], columns="true_prior", values="auc", aggfunc="last")
    lines = [
        (f"{name}, {data}", *("" if pd.isna(auc[prior][key]) else f"{auc[prior][key]:.2f}" for prior in PRIORS))
        for key_of, name in (
            (("nnpu", "{}"), "nnPU, sigmoid loss"), (("nnpu", '{"surrogate": "logistic"}'), "nnPU, logistic loss"),
            (("bagged-trees", "{}"), "bagged trees"),
        )
        for data in ("bank", "pendigits")
        for key in [(*key_of, data)]
    ]  # fmt: skip
    return table(("", *(f"π = {prior}" for prior in PRIORS)), lines)


def page() -> str:
    runs = studies(**CONVENTIONAL)
    found = {**choosing_an_epoch(runs), **trees_first(runs), **by_bias(), **released()}
    return render("findings.md", **found, thresholds=thresholds(), losses=losses(), speed=speed("fashion-mnist"))
