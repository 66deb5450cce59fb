"""Accuracy and F1 on test rows of stored runs, decided at 0 and at the prior.

    python -m benchmarks.studies decisions folders=[DIR]

A row per record and criterion (``pa``, ``last``), in percent. ``from``: ``U`` if the record has the threshold; ``test``
if it is older, where the quantile is that of the test scores instead: test rows are a draw from the same population as
U, and no label is read. ``share``: of test rows decided positive at 0; ``positive``: of test rows that are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from pubench_report.rows.record import commit_of, machine_of

import pubench
from benchmarks.studies.case import Case
from pubench import RunResult
from pubench_core.records.files import ENVIRONMENT, read_scores
from pubench_core.records.scores import scores_of
from pubench_core.results import Environment


def rows(run: RunResult) -> Iterator[dict[str, Any]]:
    """The rows of a run; none without scores, true labels or a prior."""
    result, path = run.result, run.folder / "scores.npz"
    arrays = read_scores(run.folder) if path.exists() else {}
    prior = result.data.prior.given
    if "test_labels" not in arrays or prior is None:
        return
    truth = arrays["test_labels"] == 1
    environment = Environment.model_validate_json((run.folder / ENVIRONMENT).read_bytes())
    for criterion in ("pa", "last"):
        chosen = result.criteria.get(criterion)
        if chosen is None or not chosen.snapshot:
            continue
        scores = scores_of(arrays, chosen.snapshot)["test"]
        threshold = float(np.quantile(scores, 1 - prior)) if chosen.threshold is None else chosen.threshold
        yield {
            "run_id": run.run_id,
            "criterion": criterion,
            "method": result.spec.method.key,
            "data": result.spec.data.key,
            "scheme": result.spec.data.scheme,
            "c": result.spec.mechanism.c,
            "seed": result.spec.seed,
            "preset": result.spec.method.preset,
            "from": "test" if chosen.threshold is None else "U",
            "share": _percent((scores > 0).mean()),
            "positive": _percent(truth.mean()),
            "accuracy": _percent(((scores > 0) == truth).mean()),
            "accuracy_at_prior": _percent(((scores > threshold) == truth).mean()),
            "f1": _percent(_f1(scores > 0, truth)),
            "f1_at_prior": _percent(_f1(scores > threshold, truth)),
            "code": result.code.hash,
            "commit": commit_of(environment),
            "machine": machine_of(environment),
        }


def _f1(decided: np.ndarray, truth: np.ndarray) -> float:
    return float(2 * (decided & truth).sum() / (decided.sum() + truth.sum()))


def _percent(share: float) -> float:
    return round(100 * float(share), 4)


def cases(folders: Sequence[str]) -> Iterator[Case]:
    """A case per record."""
    for folder in folders:
        for run in pubench.load_results(folder):
            yield Case({"run_id": run.run_id}, partial(rows, run))
