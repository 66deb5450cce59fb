"""Rows of one group are never parted: folds, the validation part, ``advise`` and the sheet of a run keep them whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pubench_evaluate.advice.fits import folds_for
from sklearn.metrics import roc_auc_score

import pubench
from pubench_core.records.files import read_scores

pytestmark = pytest.mark.filterwarnings("ignore::pubench.PubenchWarning")
PATIENTS = np.repeat(np.arange(40), 8)


def visits() -> tuple[pd.DataFrame, np.ndarray]:
    """40 patients with eight nearly equal rows each; 14 patients have labels on half of their rows, chosen by chance.

    Nothing but who the patient is says who is labeled.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 5))[PATIENTS] + rng.normal(size=(320, 5)) / 20
    labeled = np.isin(PATIENTS, rng.choice(40, 14, replace=False)) & (np.arange(320) % 2 == 0)
    return pd.DataFrame(x, columns=list("abcde")), labeled


def test_a_method_that_knows_patients_is_no_better_than_chance_on_others() -> None:
    x, labeled = visits()
    model = pubench.PUClassifier("pu-bagging", n_estimators=25, cv=5)
    parted = roc_auc_score(labeled, model.fit(x, labeled).out_of_fold_scores_)
    whole = roc_auc_score(labeled, model.fit(x, labeled, groups=PATIENTS).out_of_fold_scores_)
    assert parted > 0.7
    assert abs(whole - 0.5) < 0.15


@pytest.mark.parametrize("texts", [False, True])
def test_a_run_holds_out_whole_groups(tmp_path: Path, texts: bool) -> None:
    x, labeled = visits()
    groups = np.array([f"patient {k}" for k in PATIENTS]) if texts else PATIENTS
    made = pubench.run("naive", pubench.data(x, labeled, groups=groups), results=tmp_path, tracking=False)
    arrays = read_scores(made.folder)
    held_out = np.unique(PATIENTS[arrays["validation_rows"]])
    assert sorted(np.flatnonzero(np.isin(PATIENTS, held_out))) == sorted(arrays["validation_rows"])
    assert abs(len(held_out) - 8) <= 1
    assert 0 < arrays["validation_labeled"].sum() < labeled.sum() / 2


def test_advice_makes_at_most_a_fold_for_each_group_with_labels(tmp_path: Path) -> None:
    x, labeled = visits()
    assert folds_for(labeled, PATIENTS) == 5
    three = labeled & np.isin(PATIENTS, np.unique(PATIENTS[labeled])[:3])
    assert folds_for(three, PATIENTS) == 3
    one = np.arange(320) < 16
    table = pubench.data(x, one, groups=np.where(one, 0, PATIENTS))
    with pytest.raises(ValueError, match="labeled rows are of 1 group, and held-out scores need two"):
        pubench.advise(table, out=tmp_path / "out")
