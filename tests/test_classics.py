"""The classics on a user's own table: text and gaps in a pipeline, what a model file holds, wrong requests."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas import DataFrame, Series
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import pubench
from pubench import PUClassifier
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import read_scores

pytestmark = pytest.mark.filterwarnings("ignore::pubench.field_names.PubenchWarning")
CLASSICS = ("elkan-noto", "naive", "pu-bagging", "pu-boost", "two-step")
QUICK = {"base_config": {"n_estimators": 10}}


def rows(n: int = 400, seed: int = 0) -> tuple[DataFrame, Series, Series]:
    """A table with a text column and gaps, who is labeled, and the truth."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=n) + 1.5 * y,
            "income": rng.normal(size=n) + 1.5 * y,
            "town": np.where(rng.random(n) < 0.3 + 0.4 * y, "Aa", rng.choice(["Bb", "Cc", "Dd"], n)),
        }
    )
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    return frame, pd.Series(y & (rng.random(n) < 0.4)), pd.Series(y)


@pytest.mark.parametrize("base", ["trees", "forest", "boosting", "logistic"])
def test_pu_bagging_in_a_pipeline_with_text_and_gaps(base: str) -> None:
    frame, labeled, truth = rows()
    model = PUClassifier("pu-bagging", prior=0.3, base=base, n_estimators=20)
    fitted = make_pipeline(FunctionTransformer(lambda x: x.assign(ratio=x.income / (1 + x.age**2))), model)
    decided = fitted.fit(frame, labeled).predict(frame)
    assert ((decided == 1) == truth).mean() > 0.75
    imputed = make_pipeline(SimpleImputer(strategy="most_frequent").set_output(transform="pandas"), model)
    assert len(imputed.fit(frame, labeled).predict(frame)) == len(frame)


@pytest.mark.parametrize("method", CLASSICS)
def test_a_classic_needs_no_prior_but_for_the_risk(method: str) -> None:
    frame, labeled, _ = rows()
    config = {"rounds": 5} if method == "pu-boost" else QUICK if method != "pu-bagging" else {"n_estimators": 10}
    if method == "pu-boost":
        with pytest.raises(ValueError, match="needs the class prior"):
            PUClassifier(method, **config).fit(frame, labeled)
        return
    model = PUClassifier(method, **config).fit(frame, labeled)
    with_prior = PUClassifier(method, prior=0.3, **config).fit(frame, labeled)
    share = (with_prior.predict(frame) == 1).mean()
    assert 0.15 < share < 0.45  # the prior places the threshold
    assert np.corrcoef(model.decision_function(frame), with_prior.decision_function(frame))[0, 1] > 0.99


def test_boosting_but_not_trees_gets_gaps_and_categories() -> None:
    frame, labeled, _ = rows()
    model = PUClassifier("naive", prior=0.3, base="boosting").fit(frame, labeled)
    state = model._saved()[0].method.model.state_dict()
    assert (state["subset"] >= 0).any()
    assert "but naive takes missing numbers as missing" in model.notes_
    filled = frame.assign(age=frame.age.fillna(frame.age.median()))
    gaps = frame.age.isna()
    assert (model.decision_function(frame)[gaps] != model.decision_function(filled)[gaps]).any()
    trees = PUClassifier("naive", prior=0.3, **QUICK).fit(frame, labeled)
    assert "but naive takes missing numbers as missing" not in trees.notes_


@pytest.mark.parametrize(("method", "base"), [("pu-bagging", "trees"), ("naive", "boosting")])
def test_a_saved_model_scores_with_the_same_bits_in_another_process(
    method: str, base: str, tmp_path: Path, pubench_in: Callable[..., Any]
) -> None:
    frame, labeled, _ = rows()
    frame.assign(labeled=labeled.astype(int)).to_csv(tmp_path / "t.csv", index=False)
    config = {"base": base, **({"n_estimators": 10} if method == "pu-bagging" else {})}
    made = pubench.run(
        method=method,
        data=pubench.data(tmp_path / "t.csv", "labeled"),
        prior=0.3,
        config=config,
        results=tmp_path / "results",
        save_model=True,
        artifacts=("scores", "training-scores"),
        tracking=False,
    )
    done = pubench_in(tmp_path)("predict", made.folder, "t.csv")
    assert done.returncode == 0, done.stderr
    there = pd.read_csv(io.StringIO(done.stdout), dtype={"score": str}).set_index("row").score
    trained = pd.read_csv(made.folder / "predictions.csv", dtype={"score": str}).set_index("row").score
    assert len(trained) == (~labeled).sum()
    held_out = trained.index.isin(read_scores(made.folder)["validation_rows"])  # others are scored as if they were
    assert 20 < held_out.sum() < len(trained)
    pd.testing.assert_series_equal(there[trained.index[held_out]], trained[held_out], check_exact=True)
    with np.load(made.folder / "training-scores.npz") as kept:
        (name,) = (name for name in kept if name.startswith("training_scores"))
        of_all = pd.Series(kept[name], kept["training_rows"])
    assert there[of_all.index].astype(float).tolist() == of_all.tolist()


def test_few_labels_no_base_or_a_prior_below_the_labels_are_refused() -> None:
    frame, labeled, _ = rows()
    few = labeled & (labeled.cumsum() <= 8)
    for config, match in (
        ({}, "6 labeled rows are left to train on, .*; label more rows$"),
        ({"base": "tree"}, "base must be trees, forest"),
        ({"base_config": {"depth": 3}}, "trees has no 'depth'; known: n_estimators, max_features"),
        ({"base": "no_such_package:thing"}, "cannot be imported"),
    ):
        with pytest.raises(ValueError, match=match):
            PUClassifier("pu-bagging", **config).fit(frame, few)
    with pytest.raises(ValueError, match="contradicts the labels"):
        PUClassifier("pu-bagging", prior=0.05).fit(frame, labeled)
    with pytest.raises(ValueError, match="bootstrap_positives=true"):
        PUClassifier("pu-bagging", prior=0.3, threshold="posterior").fit(frame, labeled)


def test_a_hyper_parameter_of_the_base_is_set_by_its_name(pubench: Callable[..., Any]) -> None:
    request = ("run", "--method", "pu-bagging", "--data", "digits", "--mech", "scar", "--c", "0.1", "--dry-run")
    done = pubench(*request, "--format", "json", "--set", "base_config.max_features=all")
    assert json.loads(done.stdout)["method"]["config"]["base_config"]["max_features"] == "all"
    wrong = pubench(*request, "--set", "base_config.features=all")
    assert wrong.returncode == 2
    assert "trees has no 'features'; known: n_estimators, max_features" in wrong.stderr


def test_naive_is_the_baseline_and_the_others_are_methods() -> None:
    infos = {info.key: info for info in registry().infos(MethodInfo)}
    assert [key for key, info in infos.items() if info.role == "baseline"] == ["naive"]
    assert set(CLASSICS) <= set(infos)
