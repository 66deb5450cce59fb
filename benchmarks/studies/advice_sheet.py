"""The effect of a filled sheet on bagged trees, the answer of ``pubench advise``: AUC and accuracy on the rest of U.

    PUBENCH_DATA=... nice -n 19 python -m benchmarks.studies advice-sheet seeds=[2,25]

Tables and labels are those of ``checked-rows.yaml``, at most 2,000 rows of each. The 60 rows of the sheet get their
true labels; ``before`` is without them, ``after`` trains on them. Decisions: the model's, then by the checked rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from pubench_evaluate.advice.choice import DEFAULT
from pubench_evaluate.advice.fits import fitted, run_of, with_answers
from pubench_evaluate.audit import audit_answers, audit_sample
from sklearn.metrics import roc_auc_score

import pubench
from benchmarks.studies.case import Case
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.build import build_problem
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry
from pubench_core.records.files import read_scores

MOST_ROWS = 2_000
STUDY = Path(__file__).with_name("checked-rows.yaml")


def table(data: str, mechanism: str, c: float, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with its column ``labeled``, and the truth."""
    wanted = (f"data.key={data}", f"mechanism.key={mechanism}", f"mechanism.c={c}", f"seed={seed}")
    wanted = (*wanted, "method.key=pu-bagging", "data.scheme=single-training-set", "data.test_fraction=0.05")
    drawn = build_problem(resolve([assigned(*wanted, "validation.fraction=0")], registry()))
    some = np.random.default_rng(seed).permutation(len(drawn.split.train.rows))[:MOST_ROWS]
    frame = pd.DataFrame(drawn.data.x[drawn.split.train.rows[some]]).add_prefix("x_")
    return frame.assign(labeled=drawn.split.train.labeled[some].astype(int)), drawn.truth_train[some] == 1


def rows(data: str, mechanism: str, c: float, seed: int) -> list[dict[str, object]]:
    """A table without the sheet and with it."""
    (frame, truth), found = table(data, mechanism, c, seed), list[tuple[float, float]]()
    own = pubench.data(frame, "labeled")
    read, labels = own._read(), frame["labeled"].to_numpy() == 1
    with tempfile.TemporaryDirectory() as folder:

        def bagged(table: pubench.PUTable, labeled: np.ndarray) -> tuple[np.ndarray, pd.Series]:
            plan = run_of(DEFAULT, table, 5, Path(folder), threads=1, seed=seed)
            fit = fitted(DEFAULT, plan, labeled, out_of_bag=True, quick=True)
            arrays = read_scores(fit.folder)
            return fit.scores, pd.Series(arrays["unlabeled_scores_last"] > 0, arrays["unlabeled_rows"])

        before, decided = bagged(own, labels)
        budget, n_p = min(200, int((~labels).sum()) // 2), int(labels.sum())
        sample = audit_sample(np.nan_to_num(before), labels, budget=budget, n_labeled=n_p, seed=seed)
        of_sheet = truth[sample.to_check]
        labeled = labels | np.isin(np.arange(len(truth)), sample.to_check[of_sheet])
        after, _ = bagged(with_answers(own, read, sample.to_check, of_sheet), labeled)
        rest = np.setdiff1d(np.flatnonzero(~labels), sample.to_check)
        low, high = audit_answers(sample, of_sheet).prior.interval or (0, 0)
        n = round((low + high) / 2 * len(truth)) - int(labeled.sum())
        above = np.isin(rest, rest[np.argsort(-after[rest], kind="stable")[: max(n, 0)]])
        for scores, decision in ((before, decided[rest].to_numpy()), (after, above)):
            found.append((roc_auc_score(truth[rest], scores[rest]), float((decision == truth[rest]).mean())))
    row = {"data": data, "mechanism": mechanism, "c": c, "seed": seed, "rows": len(frame), "labeled": n_p}
    row |= {"positives": int(of_sheet.sum()), "rest": len(rest), "low": round(low, 4), "high": round(high, 4)}
    row |= {"prior": round(float(truth.mean()), 4)}
    for k, name in enumerate(("auc", "accuracy")):
        row |= {f"{name}_before": round(100 * found[0][k], 2), f"{name}_after": round(100 * found[1][k], 2)}
    return [row]


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
