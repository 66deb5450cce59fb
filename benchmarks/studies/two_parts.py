"""What it costs to score rows in two parts instead of five, if at least 5,000 are labeled: methods of `pubench advise`.

    PUBENCH_DATA=... nice -n 19 python -m benchmarks.studies two-parts data=[letter]

At most 14,000 rows, bags of 50; 5,200 positives are labeled, at random or with the fourth power of the rank along a
random direction (biased). ``auc``: of positives among unlabeled rows, by models that did not see them. ``low``,
``high``: positives among the 200 highest unlabeled rows, by the prior and scores of labeled rows; ``found``: their
number.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from pubench_evaluate.advice.choice import DEFAULT, OTHERS
from pubench_evaluate.advice.fits import fitted, run_of
from sklearn.metrics import roc_auc_score

import pubench
from benchmarks.studies.case import Case
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.build import build_problem
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry

ROWS, LABELED, BUDGET = 14_000, 5_200, 200
METHODS = (replace(DEFAULT, config={"n_estimators": 50}), OTHERS[0], OTHERS[3])


def rows(data: str, labels: str, seed: int) -> Iterator[dict[str, object]]:
    """A row per method and number of parts."""
    wanted = (f"data.key={data}", "mechanism.key=scar", "mechanism.c=0.5", f"seed={seed}", "validation.fraction=0")
    drawn = build_problem(resolve([assigned(*wanted, "method.key=naive")], registry()))
    rng = np.random.default_rng(seed)
    some = rng.permutation(len(drawn.split.train.rows))[:ROWS]
    x, truth = drawn.data.x[drawn.split.train.rows[some]], drawn.truth_train[some] == 1
    if x.ndim > 2:  # images: means of 4 x 4 pixels
        side = x.shape[-1] // 4
        x = x.reshape(len(x), side, 4, side, 4).mean((2, 4)).reshape(len(x), -1)
    positive = np.flatnonzero(truth)
    rank = (x[positive] @ rng.normal(size=x.shape[1])).argsort().argsort() + 1.0
    share = rank**4 if labels == "biased" else np.ones(len(rank))
    labeled = np.isin(np.arange(len(x)), rng.choice(positive, LABELED, replace=False, p=share / share.sum()))
    table = pubench.data(pd.DataFrame(x).add_prefix("x_").assign(labeled=labeled.astype(int)), "labeled")
    with tempfile.TemporaryDirectory() as folder:
        for method, parts in product(METHODS, (2, 5)):
            began = perf_counter()
            fit = fitted(method, run_of(method, table, parts, Path(folder), threads=1, seed=seed), labeled)
            seconds, u = perf_counter() - began, ~labeled
            card = pubench.evaluate(
                fit.scores, labeled, prior=float(truth.mean()), budget=BUDGET, resamples=0, thorough=False
            )
            low, high = card.decision.expected_interval or (0, BUDGET)
            top = np.argsort(-np.where(u, fit.scores, -1), kind="stable")[:BUDGET]
            yield {
                "data": data, "labels": labels, "seed": seed, "method": method.name, "parts": parts, "rows": len(x),
                "labeled": LABELED, "auc": round(100 * roc_auc_score(truth[u], fit.scores[u]), 2),
                "held_out_auc": round(100 * roc_auc_score(labeled, fit.scores), 2), "low": round(low, 1),
                "high": round(high, 1), "found": int(truth[top].sum()), "seconds": round(seconds, 1),
            }  # fmt: skip


def cases(
    data: Sequence[str] = ("letter", "connect-4", "mnist"),
    labels: Sequence[str] = ("scar",),
    seeds: Sequence[int] = (2,),
) -> Iterator[Case]:
    """A case per table and kind of labels."""
    for seed, key, kind in product(seeds, data, labels):
        yield Case(
            {"data": key, "labels": kind, "seed": seed}, lambda key=key, kind=kind, seed=seed: rows(key, kind, seed)
        )
