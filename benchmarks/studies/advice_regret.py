"""Is the advice any good? Regret of ways to choose a method on tables whose truth is known and not used.

    PUBENCH_DATA=... OMP_NUM_THREADS=1 nice -n 10 python -m benchmarks.studies.advice_regret fit --kept /tmp/advice
    python -m benchmarks.studies.advice_regret wider --kept /tmp/advice
    python -m benchmarks.studies.advice_regret table

``fit``: ten tables of real data, at most 3,000 rows each (``own_tables.py``), labels SCAR or biased, c .05, .1 and .3.
The classics of the portfolio that need no prior are fitted as ``pubench advise`` fits them, in five folds. A row per
cell and method in ``results/advice-fits.csv``; a row per cell and draw of 60 checked rows in
``results/advice-checked.csv``, for each method how sure the checked rows are that it is better than bagged trees.

``wider``: on the sources of ``JUDGED`` with c = .1, PUET and nnPU besides the classics, each given the true prior and
one and a half of it; proxy accuracy by half, the whole and one and a half of the prior; and plasmode replicas: who is
positive and labeled is drawn from models fitted to the table, and a method's value is its mean AUC there. A row per
cell and method in ``results/advice-wider.csv``. Nothing is fixed on these rows.

``table``: points of AUC on the unlabeled rows lost against the best method of the cell. Whatever has a threshold or is
a constant choice is fixed on the sources of ``TUNED`` and judged on those of ``JUDGED``. Every table is a source of its
own. Intervals: 95 %, from drawing sources with replacement.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pubench_advise.evidence import Checked, checked_difference, found_at, pauc_difference
from pubench_advise.fits import FitRows, kept_folds, out_of_fold, run_of
from pubench_advise.portfolio import DEFAULT, PORTFOLIO, Candidate
from pubench_metrics_pu import pubench_metrics
from pubench_metrics_pu.proxy import pa
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pubench
from benchmarks import raw_rows
from benchmarks.studies import hidden_positives, own_tables
from pubench_core.metric import Scored, measure
from pubench_core.records.files import read_scores
from pubench_core.records.scores import scores_name

TUNED = ("spambase", "pendigits", "page-blocks", "pima", "shuttle")
JUDGED = ("letter", "landsat", "wine", "bank", "mushroom")
#: How many of the positives are labeled, and checked rows of one sheet and how often one is drawn.
LABELED, CHECKED, DRAWS = (0.05, 0.1, 0.3), 60, 20
#: Fewer labeled rows are refused by the command.
FEWEST = 12
METHODS = tuple(one for one in PORTFOLIO if one.classic and not one.prior)
#: Of the wider comparison: methods, label frequency, what is given of the true prior, rows of a replica.
WIDER = (*METHODS, *(one for one in PORTFOLIO if one.name in ("PUET", "nnPU")))
PA = next(info for info in pubench_metrics() if info.key == "pa")
WIDER_C, TOLD, REPLICA = 0.1, (0.5, 1.0, 1.5), 1000
FITS, SHEETS, MORE = (raw_rows.RESULTS / f"advice-{name}.csv" for name in ("fits", "checked", "wider"))
CELL = ("table", "mechanism", "c")
MARGINS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05)
LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99)


def fit(given: argparse.Namespace) -> None:
    """Adds the cells that are missing."""
    fits, sheets = (given.out / path.name if given.out else path for path in (FITS, SHEETS))
    done = raw_rows.keys(sheets, [*CELL, "draw"])
    for c, mechanism, name in product(LABELED, ("scar", "biased"), given.tables):
        if (name, mechanism, str(c), str(DRAWS - 1)) in done:
            continue
        x, truth = own_tables.sample(name)
        labeled = own_tables.labels(x, truth, mechanism, 2, c)
        if labeled.sum() < FEWEST:
            continue
        rows = rows_of(x, labeled, name)
        found = {one.name: out_of_fold(one, rows, given.kept / name, threads=1) for one in METHODS}
        scores = {method: one.scores for method, one in found.items() if one is not None}
        reference = scores[DEFAULT.name]
        cell = {"table": name, "mechanism": mechanism, "c": c}
        command = f"python -m benchmarks.studies.advice_regret fit --tables {name}"
        for method, values in scores.items():
            held_out = pauc_difference(values, reference, labeled)
            quality = hidden_positives.quality(values[~labeled], truth[~labeled])
            row = {
                "true_prior": round(float(truth.mean()), 4),
                "labeled": int(labeled.sum()),
                "method": method,
                "auc": quality["auc"],
                "top_200": quality["top_200"],
                "pauc": round(held_out.value, 5),
                "pauc_low": round(held_out.interval[0], 5),
                "pauc_high": round(held_out.interval[1], 5),
                "found_200": round(found_at(values, labeled, 200 if (~labeled).sum() > 200 else 50), 5),
                "seconds": round(found[method].seconds, 2),
            }
            raw_rows.append(fits, {**cell, **row, "command": command})
        for draw in range(DRAWS):
            better = checked(scores, reference, labeled, truth, draw)
            raw_rows.append(
                sheets, {**cell, "draw": draw, "rows": CHECKED, "better": json.dumps(better), "command": command}
            )


def checked(scores: Mapping[str, Any], reference: Any, labeled: Any, truth: Any, draw: int) -> dict[str, float]:
    """method -> how sure a sheet of checked rows is that it ranks better than bagged trees."""
    budget = max(1, round(float(truth[~labeled].mean()) * (~labeled).sum()))
    sample = pubench.audit_sample(reference, labeled, n=CHECKED, budget=budget, seed=draw)
    answers = {int(row): int(truth[row]) for row in sample.to_check}
    rows = Checked.of(sample, answers)
    found = {}
    for method, values in scores.items():
        one = checked_difference(values, reference, rows)
        if method != DEFAULT.name and one is not None:
            found[method] = round(one.better, 4)
    return found


# -------------------------------------------------------------------- other ways to choose


def decided(candidate: Candidate, rows: FitRows, kept: Path, prior: float) -> Any:
    """(n,) kept out-of-fold scores as the models gave them, positive above 0."""
    scores = np.zeros(len(rows.x))
    for fold in kept_folds(run_of(candidate, rows, kept, prior if candidate.prior else None, 1)):
        arrays = read_scores(fold.folder)  # type: ignore[union-attr]
        scores[arrays["validation_rows"]] = arrays[scores_name("validation", fold.result.chosen.snapshot)]  # type: ignore[union-attr]
    return scores


def replicas(x: Any, labeled: Any, prior: float) -> Any:
    """Features, truth and labels of tables that are like this one: two models of who is positive, labels SCAR or as
    likely as a fitted model says. As many rows are positive as the prior says, and as many labeled as here. A replica
    has 1,000 of the rows, or all of them if too few of the 1,000 are labeled.
    """
    for seed, (outcome, scar) in enumerate(product(("logistic", "forest"), (True, False))):
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(x))
        if labeled[rows[:REPLICA]].sum() > FEWEST:
            rows = rows[:REPLICA]
        z, known = x[rows], labeled[rows]
        logistic = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
        forest = RandomForestClassifier(200, min_samples_leaf=10, random_state=seed)
        odds = (logistic if outcome == "logistic" else forest).fit(z, known).predict_proba(z)[:, 1].clip(1e-4, 1 - 1e-4)
        odds = odds / (1 - odds)
        low, high = 1e-6, 1e9  # the factor by which the mean of p is the prior
        for _ in range(100):
            factor = np.sqrt(low * high)
            p = factor * odds / (1 + factor * odds)
            low, high = (factor, high) if p.mean() < prior else (low, factor)
        truth = rng.random(len(z)) < p
        weight = np.ones(len(z))
        if not scar:
            shown = LogisticRegression(C=0.1).fit(
                StandardScaler().fit_transform(z), known, sample_weight=np.where(known, 1, p)
            )
            weight = np.exp(shown.decision_function(StandardScaler().fit_transform(z)).clip(-5, 5))
        weight *= truth
        drawn = rng.choice(len(z), min(int(known.sum()), int(truth.sum()) - 1), replace=False, p=weight / weight.sum())
        yield f"{outcome}, {'scar' if scar else 'fitted'}", z, truth, np.isin(np.arange(len(z)), drawn)


def rows_of(x: Any, labeled: Any, name: str) -> FitRows:
    table = pubench.data(x, labeled, name=name, features=[f"x_{k}" for k in range(x.shape[1])])
    return FitRows(x.astype(np.float32), labeled, table)


def wider(given: argparse.Namespace) -> None:
    """Adds the cells that are missing: the true prior first, then replicas, then the wrong prior."""
    path = given.out / MORE.name if given.out else MORE
    done = raw_rows.keys(path, [*CELL, "what"])
    cells = list(product(("biased", "scar"), [name for name in given.tables if name in JUDGED]))
    for what, (mechanism, name) in product(("1", "replicas", "1.5"), cells):
        if (name, mechanism, str(WIDER_C), what) in done:
            continue
        x, truth = own_tables.sample(name)
        labeled = own_tables.labels(x, truth, mechanism, 2, WIDER_C)
        prior, found = float(truth.mean()), []
        if what == "replicas":
            for replica, z, positive, known in replicas(x, labeled, prior):
                rows = rows_of(z, known, name)
                for one in METHODS:
                    scored = out_of_fold(one, rows, given.kept / name, threads=1)
                    assert scored is not None
                    auc = hidden_positives.quality(scored.scores[~known], positive[~known])["auc"]
                    found.append({"method": one.name, "replica": replica, "auc": auc})
        else:
            told, rows = min(float(what) * prior, 0.95), rows_of(x, labeled, name)
            p, u = np.flatnonzero(labeled), np.flatnonzero(~labeled)
            for one in WIDER if what == "1" else [one for one in WIDER if one.prior]:
                scored = out_of_fold(one, rows, given.kept / name, prior=told, threads=1)
                assert scored is not None
                quality = hidden_positives.quality(scored.scores[~labeled], truth[~labeled])
                raw = decided(one, rows, given.kept / name, told)
                known = {"labeled": p, "unlabeled": u, "scheme": "one-sample"}
                proxy = {
                    f"pa_{share:g}": round(
                        measure(pa, PA, Scored.of(raw, prior=min(share * prior, 0.95), **known)).value, 5
                    )
                    for share in TOLD
                }
                held_out = pauc_difference(scored.scores, scored.scores, labeled).value
                found.append({"method": one.name, "auc": quality["auc"], "pauc": round(held_out, 5), **proxy})
        names = ("replica", "pauc", *(f"pa_{share:g}" for share in TOLD))
        for row in found:
            command = f"python -m benchmarks.studies.advice_regret wider --tables {name}"
            cell = {"table": name, "mechanism": mechanism, "c": WIDER_C, "what": what}
            raw_rows.append(path, {**cell, **dict.fromkeys(names, ""), **row, "command": command})


# -------------------------------------------------------------------- the table

#: A way to choose: rows of a cell by method, what each sheet of the cell says -> mean AUC of what it chooses.
Way = Callable[[pd.DataFrame, list[dict[str, float]]], float]


def constant(method: str, column: str = "auc") -> Way:
    return lambda cell, sheets: float(cell[column][method])


def highest(column: str, margin: float = 0.0) -> Way:
    """The method of the highest value, if it exceeds that of bagged trees by more than the margin."""

    def way(cell: pd.DataFrame, sheets: list[dict[str, float]]) -> float:
        best = cell[column].idxmax()
        return float(cell.auc[best if cell[column][best] > cell[column][DEFAULT.name] + margin else DEFAULT.name])

    return way


def by_checked_rows(sure: float) -> Way:
    """The rule of the command: bagged trees, unless checked rows are so sure of another method."""

    def way(cell: pd.DataFrame, sheets: list[dict[str, float]]) -> float:
        chosen = []
        for better in sheets:
            best = max(better, key=lambda name: better[name], default=DEFAULT.name)
            chosen.append(best if better.get(best, 0.0) >= sure else DEFAULT.name)
        return float(cell.auc[chosen].mean())

    return way


def at_random(cell: pd.DataFrame, sheets: list[dict[str, float]]) -> float:
    return float(cell.auc.mean())


def regrets(way: Way, cells: Mapping[Any, pd.DataFrame], sheets: Mapping[Any, list[dict[str, float]]]) -> pd.Series:
    """Points of AUC lost in each cell."""
    lost = {key: 100 * (float(cell.auc.max()) - way(cell, sheets[key])) for key, cell in cells.items()}
    found = pd.Series(lost)
    found.index.names = list(CELL)
    return found


def of_sources(lost: pd.Series, seed: int = 0) -> tuple[float, float, float]:
    """Mean over sources and its 95 % interval."""
    means = lost.groupby("table").mean().to_numpy()
    draws = np.random.default_rng(seed).choice(means, (10_000, len(means))).mean(1)
    return float(means.mean()), *map(float, np.percentile(draws, [2.5, 97.5]))


def ways(tuned: Callable[[Way], float]) -> dict[str, Way]:
    """The ways to choose. ``tuned``: regret on the sources on which thresholds are fixed."""
    margin = min(MARGINS, key=lambda one: (tuned(highest("pauc", one)), -one))
    sure = min(LEVELS, key=lambda one: (tuned(by_checked_rows(one)), -one))
    best = min((one.name for one in METHODS), key=lambda name: tuned(constant(name)))
    return {
        f"best constant choice of the tuned half ({best})": constant(best),
        "always bagged trees (the command without checked rows)": constant(DEFAULT.name),
        f"60 checked rows, sure {sure:g} (the command)": by_checked_rows(sure),
        "highest held-out PAUC": highest("pauc"),
        f"highest held-out PAUC, margin {margin:g}": highest("pauc", margin),
        "most held-out positives in the top 200 (spies)": highest("found_200"),
        **{f"always {one.name}": constant(one.name) for one in METHODS if one is not DEFAULT},
        "at random": at_random,
    }


def coverage(cells: Mapping[Any, pd.DataFrame], alike: float = 0.01) -> float:
    """How often the set without checked rows holds a method within one point of the best."""
    held = []
    for cell in cells.values():
        inside = cell.auc[(cell.pauc_high >= -alike) | (cell.index == DEFAULT.name)]
        held.append(inside.max() >= cell.auc.max() - 0.01)
    return float(np.mean(held))


def whole(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the label frequencies for which every table has both kinds of labels."""
    cells = rows.groupby("c").apply(
        lambda part: len(part[["table", "mechanism"]].drop_duplicates()), include_groups=False
    )
    return rows[rows["c"].isin(cells.index[cells == 2 * len((*TUNED, *JUDGED))])]


def table(given: argparse.Namespace) -> None:
    """Prints the validation table as Markdown."""
    fits, sheets = (given.out / path.name if given.out else path for path in (FITS, SHEETS))
    frame, draws = (whole(pd.read_csv(path)) for path in (fits, sheets))
    cells = {key: rows.set_index("method") for key, rows in frame.groupby(list(CELL))}
    said = {key: [json.loads(text) for text in rows.better] for key, rows in draws.groupby(list(CELL))}
    halves = {half: {key: cell for key, cell in cells.items() if key[0] in half} for half in (TUNED, JUDGED)}

    def tuned(way: Way) -> float:
        return of_sources(regrets(way, halves[TUNED], said))[0]

    print(f"{len(cells)} cells; fixed on {', '.join(TUNED)}; judged on {', '.join(JUDGED)}\n")
    print(
        "| choice | tuned half | judged half | 95 % | SCAR | biased | worst cell |\n|---|---:|---:|---:|---:|---:|---:|"
    )
    for name, way in ways(tuned).items():
        lost = regrets(way, halves[JUDGED], said)
        mean, low, high = of_sources(lost)
        by = [of_sources(lost.xs(kind, level="mechanism"))[0] for kind in ("scar", "biased")]
        numbers = " | ".join(f"{value:.2f}" for value in (*by, lost.max()))
        print(f"| {name} | {tuned(way):.2f} | {mean:.2f} | {low:.2f} to {high:.2f} | {numbers} |")
    print(
        f"\nset without checked rows holds a method within one point: {100 * coverage(halves[JUDGED]):.0f} % of cells"
    )
    wider_table(given.out / MORE.name if given.out else MORE)
    print(f"seconds per cell (six methods, five folds): median {frame.groupby(list(CELL)).seconds.sum().median():.0f}")


def wider_table(path: Path) -> None:
    """Prints the wider comparison as Markdown: of the cells that have all rows, per kind of labels."""
    frame = pd.read_csv(path, dtype={"what": str})
    of = dict(list(frame.groupby("what")))
    replicas = of["replicas"].groupby([*CELL, "method"]).auc.mean().rename("plasmode")
    too_high = of["1.5"].set_index([*CELL, "method"]).auc.rename("told_1.5")
    whole = of["1"].set_index([*CELL, "method"]).join([replicas, too_high])
    cells = {
        key: rows.droplevel(list(CELL))
        for key, rows in whole.groupby(list(CELL))
        if rows["plasmode"].notna().any() and rows["told_1.5"].notna().any()
    }
    ways: dict[str, Way] = {
        **{f"always {one}": constant(one) for one in ("bagged trees", "bagged forest", "nnPU", "PUET")},
        **{f"always {one}, told 1.5 of the prior": constant(one, "told_1.5") for one in ("nnPU", "PUET")},
        "highest held-out PAUC": highest("pauc"),
        **{f"highest PA, told {share:g} of the prior": highest(f"pa_{share:g}") for share in TOLD},
        "highest mean AUC on four plasmode replicas": highest("plasmode"),
        "at random": at_random,
    }
    print("\n| choice | " + " | ".join(f"{name}, {kind}" for name, kind, _ in cells) + " | biased, 95 % | SCAR, 95 % |")
    print("|---|" + "---:|" * (len(cells) + 2))
    for name, way in ways.items():
        lost = regrets(way, cells, {key: [] for key in cells})
        means = (of_sources(lost.xs(kind, level="mechanism")) for kind in ("biased", "scar"))
        numbers = " | ".join(f"{value:.1f}" for value in lost)
        print(f"| {name} | {numbers} | " + " | ".join("{:.2f} ({:.2f} to {:.2f})".format(*one) for one in means) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["fit", "wider", "table"])
    parser.add_argument("--out", type=Path, help="folder of the rows, by default benchmarks/results")
    parser.add_argument("--kept", type=Path, default=Path("/tmp/advice-fits"), help="folder of finished fits")
    parser.add_argument("--tables", nargs="+", default=[*TUNED, *JUDGED])
    given = parser.parse_args()
    {"fit": fit, "wider": wider, "table": table}[given.part](given)


if __name__ == "__main__":
    main()
