"""Quality of runs on a user's table whose truth only this script knows: AUC on the unlabeled rows, positives among the
highest scores, share decided positive. Bagged trees of P against U are the reference.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import pubench
from pubench_core.records.files import read_scores
from pubench_core.records.scores import scores_of

#: As many rows as somebody would look at.
TOP = 200


def quality(scores: Any, positive: Any, top: int = TOP) -> dict[str, float]:
    """Measures of the (n,) scores of the unlabeled rows, of which ``positive``, (n,) bool, says who is positive."""
    highest = np.argsort(-scores, kind="stable")[:top]
    return {
        "auc": round(float(roc_auc_score(positive, scores)), 4),
        f"top_{top}": round(float(positive[highest].mean()), 4),
        "decided": round(float((scores > 0).mean()), 4),
    }


def of_run(
    method: str, table: pubench.PUTable, truth: Any, *, at_prior: bool = False, **arguments: Any
) -> Iterator[dict[str, Any]]:
    """One run; for each criterion that needs no true labels, its epoch, value and the quality of its state.

    ``truth``: (n,) bool, of all rows of the table. ``at_prior``: whether to add the share decided positive at the
    prior. ``arguments``: of :func:`pubench.run`.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", pubench.PubenchWarning)
        run = pubench.run(method, table, results=folder, tracking=False, threads=1, **arguments)
        arrays = read_scores(run.folder)
    positive, seconds = truth[arrays["unlabeled_rows"]], round(run.result.seconds.total, 1)
    for name, criterion in run.result.criteria.items():
        if criterion.snapshot is not None:
            chosen = {"criterion": name, "selected": name == run.result.selected, "epoch": criterion.epoch}
            scores = scores_of(arrays, criterion.snapshot)["unlabeled"]
            found = quality(scores, positive)
            if at_prior:
                threshold = criterion.threshold
                found["decided_at_prior"] = None if threshold is None else round(float((scores > threshold).mean()), 4)
            yield {**chosen, "value": criterion.value, **found, "seconds": seconds}


def bagged_trees(x: Any, labeled: Any, seed: int, trees: int = 100) -> Any:
    """(n,) shares of votes of the trees that did not see a row, each of P against as many rows of U.

    Mordelet, Vert, Pattern Recognition Letters 37, 2014. ``x``: (n, d) finite numbers; ``labeled``: (n,) bool.
    """
    rng = np.random.default_rng(seed)
    p, u = np.flatnonzero(labeled), np.flatnonzero(~labeled)
    votes, counts = np.zeros(len(x)), np.zeros(len(x))
    for _ in range(trees):
        drawn = np.concatenate([rng.choice(p, len(p)), rng.choice(u, len(p))])
        tree = DecisionTreeClassifier(random_state=int(rng.integers(2**31))).fit(x[drawn], labeled[drawn])
        unseen = np.setdiff1d(np.arange(len(x)), drawn)
        votes[unseen] += tree.predict_proba(x[unseen])[:, 1]
        counts[unseen] += 1
    return votes / np.maximum(counts, 1)


def of_trees(x: Any, labeled: Any, truth: Any, seed: int) -> dict[str, Any]:
    """The row of bagged trees, in the form of :func:`of_run`; they choose no epoch and decide nothing."""
    started = time.perf_counter()
    found = quality(bagged_trees(x, labeled, seed)[~labeled], truth[~labeled])
    seconds = round(time.perf_counter() - started, 1)
    return {"criterion": "", "selected": True, "epoch": "", "value": "", **found, "decided": "", "seconds": seconds}
