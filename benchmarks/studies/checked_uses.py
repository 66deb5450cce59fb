"""What k checked rows buy if nothing is trained on them: a choice of method, a prior, a threshold.

    python -m benchmarks.studies checked-uses folder=RESULTS

Reads records of the study checked-rows that checked no row. Their test rows stand for unlabeled ones: k of them are
drawn, and everything is measured on the others; a row has means over :data:`DRAWS` draws, in percent. ``auc``: of the
method of larger AUC on the k rows, minus that of bagged trees. ``prior_error``: of the share of positives among the k
rows, absolute. Accuracy of bagged trees: above the score that is best on the k rows (``accuracy``), and with that share
(``at_share``) or the true one (``at_prior``) of rows above.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from benchmarks.studies.case import Case
from pubench_core.records.files import read_scores
from pubench_core.records.record import read_result

DRAWS, SIZES = 20, (10, 30, 60, 100, 300)
BAGGING = "pu-bagging"


def best_cut(scores: Any, positive: Any) -> float:
    """The score above which most of (k,) rows are decided rightly: the middle one, if several are."""
    order = np.argsort(scores)
    right = positive.sum() + np.r_[0, np.cumsum(np.where(positive[order], -1, 1))]
    best = np.flatnonzero(right == right.max())
    low, high = np.r_[-np.inf, scores[order], np.inf][best[len(best) // 2] :][:2]
    return float(np.mean([end for end in (low, high) if np.isfinite(end)]))


def uses(scores: Mapping[str, Any], positive: Any, k: int, rng: np.random.Generator) -> dict[str, float]:
    """Measures of one draw of k rows. ``scores``: (n,) of each method on the test rows, ``positive``: their truth."""
    known = np.zeros(len(positive), bool)
    known[rng.choice(len(positive), k, replace=False)] = True
    share, chosen, bagging = positive[known].mean(), BAGGING, scores[BAGGING]
    if 0 < share < 1:  # bagged trees, unless another one is better
        chosen = max(sorted(scores, key=BAGGING.__ne__), key=lambda m: roc_auc_score(positive[known], scores[m][known]))
    auc, of_bagging = (roc_auc_score(positive[~known], scores[name][~known]) for name in (chosen, BAGGING))
    cuts = {"accuracy": best_cut(bagging[known], positive[known])}
    cuts |= {"at_share": np.quantile(bagging, 1 - share), "at_prior": np.quantile(bagging, 1 - positive.mean())}
    right = {name: ((bagging[~known] > cut) == positive[~known]).mean() for name, cut in cuts.items()}
    return {"auc": auc - of_bagging, "prior_error": abs(share - positive.mean()), **right}


def measured(scores: Mapping[str, Any], positive: Any, key: Mapping[str, Any]) -> dict[str, Any]:
    """A row: means over the draws."""
    rng = np.random.default_rng([key["seed"], key["k"]])
    drawn = [uses(scores, positive, key["k"], rng) for _ in range(DRAWS)]
    return {**key, **(100 * pd.DataFrame(drawn).mean()).round(3)}


def cases(folder: str) -> Iterator[Case]:
    """A case per mechanism, table, seed and number of rows, of which half of the test rows at most are checked."""
    runs: dict[tuple[Any, ...], dict[str, Any]] = defaultdict(dict)
    for path in sorted(Path(folder).glob("*/scores.npz")):
        spec = read_result(path.parent).result.spec
        if not spec.checked.rows:
            runs[spec.mechanism.key, spec.data.key, spec.seed][spec.method.key] = read_scores(path.parent)
    for names, of in sorted(runs.items()):
        positive = of[BAGGING]["test_labels"] == 1
        scores = {method: arrays["test_scores_last"] for method, arrays in of.items()}
        for k in (size for size in SIZES if 2 * size <= len(positive)):
            key = {**dict(zip(("mechanism", "data", "seed"), names, strict=True)), "k": k}
            yield Case(key, lambda of=scores, positive=positive, key=key: [measured(of, positive, key)])
