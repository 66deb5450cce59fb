"""What 60 checked rows buy ``pubench advise``, by the design that draws them: ranking, decisions, prior and precision.

    PUBENCH_DATA=... nice -n 19 python -m benchmarks.studies advice-sheet seeds=[2,25]

Tables and labels are those of ``checked-rows.yaml``, at most 2,000 rows of each, and a quarter to test. Bagged trees
train on the answers. Rows are decided at score 0 without any, else by the middle of the prior's range.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from pubench_evaluate.advice.choice import DEFAULT
from pubench_evaluate.advice.fits import fitted, run_of, with_answers
from pubench_evaluate.audit import AuditSample, audit_answers, audit_sample
from pubench_evaluate.audit.statistics import Side, clopper_pearson
from pubench_evaluate.scored_rows import BoolArray, FloatArray, IntArray
from sklearn.metrics import roc_auc_score

import pubench
from benchmarks.studies.case import Case
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.build import build_problem
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry

MOST_ROWS, CHECKED = 2_000, 60
BAG = replace(DEFAULT, config={"n_estimators": 50})
STUDY = Path(__file__).with_name("checked-rows.yaml")
#: ``weighted``: the rows of the sheet, trained on with the weights of its design; ``near``: a third of the rows are
#: those nearest the threshold of the sheet.
DESIGNS = ("sheet", "weighted", "random", "near")


def parts(data: str, mechanism: str, c: float, seed: int) -> Iterator[tuple[pd.DataFrame, BoolArray]]:
    """Features, with the column ``labeled``, and truth of the rows to train on; features and truth of those to test."""
    wanted = (f"data.key={data}", f"mechanism.key={mechanism}", f"mechanism.c={c}", f"seed={seed}")
    wanted = (*wanted, "method.key=pu-bagging", "data.scheme=single-training-set", "data.test_fraction=0.25")
    drawn = build_problem(resolve([assigned(*wanted, "validation.fraction=0")], registry()))
    train, some = drawn.split.train, np.random.default_rng(seed).permutation(len(drawn.split.train.rows))[:MOST_ROWS]
    frame = pd.DataFrame(drawn.data.x[train.rows[some]]).add_prefix("x_")
    yield frame.assign(labeled=train.labeled[some].astype(int)), drawn.truth_train[some] == 1
    yield pd.DataFrame(drawn.data.x[drawn.split.test_rows]).add_prefix("x_"), drawn.truth_test == 1


def ends(sheet: AuditSample, rows: IntArray, positive: BoolArray, design: str) -> tuple[float, ...]:
    """Ends of the ranges of the prior and of the precision above the threshold of the sheet."""
    if design != "random":
        found = audit_answers(sheet, positive[: len(sheet.drawn)])
        return *(found.prior.interval or (0, 1)), *(found.precision.interval or (0, 1))
    above, n_u = sheet.scored.scores > sheet.threshold, int((~sheet.scored.labeled).sum())
    low, high = clopper_pearson(Side(n_u, len(rows), positive.sum()))
    n_p, inside = len(above) - n_u, above[rows]
    top = Side(int((above & ~sheet.scored.labeled).sum()), inside.sum(), positive[inside].sum())
    prior = ((n_p + end * n_u) / len(above) for end in (low, high))
    return *prior, *(clopper_pearson(top) if inside.any() else (0, 1))


def rows(data: str, mechanism: str, c: float, seed: int) -> Iterator[dict[str, object]]:
    """A row per design."""
    (frame, truth), (tested, truth_tested) = parts(data, mechanism, c, seed)
    own, labels = pubench.data(frame, "labeled"), frame["labeled"].to_numpy() == 1
    read, unlabeled = own._read(), np.flatnonzero(~labels)
    with tempfile.TemporaryDirectory() as folder:

        def bagged(table: pubench.PUTable, labeled: BoolArray) -> tuple[FloatArray, FloatArray]:
            plan = run_of(BAG, table, 5, Path(folder), threads=1, seed=seed)
            fit = fitted(BAG, plan, labeled, out_of_bag=True, quick=True)
            return np.nan_to_num(fit.scores), pubench.load_model(fit.folder).decision_function(tested)

        before, of_tested = bagged(own, labels)
        budget, cut = min(200, len(unlabeled) // 2), 0.0
        top = unlabeled[np.argsort(-before[unlabeled], kind="stable")[:budget]]
        about = {
            "data": data,
            "mechanism": mechanism,
            "c": c,
            "seed": seed,
            "rows": len(truth),
            "labeled": labels.sum(),
        }
        about |= {"prior": round(float(truth.mean()), 4), "top": round(float(truth[top].mean()), 4)}
        found = dict.fromkeys(("positives", "low", "high", "top_low", "top_high"), "")
        for design in ("none", *DESIGNS):
            if design != "none":
                n, weights = CHECKED * 2 // 3 if design == "near" else CHECKED, np.ones(len(truth))
                sheet = audit_sample(before, labels, n=n, budget=budget, seed=seed)
                checked = sheet.to_check
                if design == "random":
                    checked = np.random.default_rng(seed).choice(unlabeled, n, replace=False)
                elif design == "near":
                    left = np.setdiff1d(unlabeled, checked)
                    close = np.argsort(np.abs(before[left] - sheet.threshold), kind="stable")[: CHECKED - n]
                    checked = np.append(checked, left[close])
                elif design == "weighted":
                    stands_for = np.array([size / n for _, _, size, n in sheet.bands])[sheet.band]
                    weights[checked] = stands_for / stands_for.mean()
                positive = truth[checked]
                ranges = ends(sheet, checked, positive, design)
                found = dict(zip(found, (str(positive.sum()), *(f"{end:.4f}" for end in ranges)), strict=True))
                known = replace(read, weights=weights) if design == "weighted" else read
                labeled = labels | (truth & np.isin(np.arange(len(truth)), checked))
                _, of_tested = bagged(with_answers(own, known, checked, positive), labeled)
                cut = float(np.quantile(of_tested, 1 - sum(ranges[:2]) / 2))
            auc, accuracy = roc_auc_score(truth_tested, of_tested), ((of_tested > cut) == truth_tested).mean()
            measured = {"auc": round(100 * auc, 2), "accuracy": round(100 * accuracy, 2)}
            yield {**about, "design": design, **found, **measured}


def cases(
    data: Sequence[str] = tuple(yaml.safe_load(STUDY.read_text())["data"]),
    mechanisms: Sequence[str] = ("scar", "sar-lbe-b"),
    seeds: Sequence[int] = (2,),
    c: float = 0.1,
) -> Iterator[Case]:
    """A case per table and draw of labels."""
    for seed, key, mechanism in product(seeds, data, mechanisms):
        found = {"data": key, "mechanism": mechanism, "c": c, "seed": seed}
        yield Case(found, lambda found=found: rows(**found))
