"""Every base as arrays: it scores as the library that grew it, and comes back from its state with the same bits."""

from __future__ import annotations

import copy
import importlib.util
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from pubench_bases import trees
from pubench_bases.bases import BASES, Base, base_of
from pubench_bases.fitting import balanced, folds_of
from pubench_bases.models import Categories, Mean, Model, NormalScores
from pubench_testkit.testing import pu_table
from scipy import stats
from scipy.sparse import csr_matrix
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pubench_core.errors import PluginError, RequestError

Array = np.ndarray
HERE = [name for name, base in BASES.items() if not base.needs or importlib.util.find_spec(base.needs)]


def table(n: int = 400, gaps: bool = False, seed: int = 0) -> tuple[Array, Array]:
    """(n, 6) rows of which the first two features decide the class; the last three are one-hot."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6)).astype(np.float32)
    code = rng.integers(3, size=n)
    x[:, 3:] = np.eye(3)[code]
    y = (x[:, 0] + x[:, 1] + (code == 1) + rng.normal(size=n) / 2 > 0.3).astype(np.int64)
    if gaps:
        x[:, :3][rng.random((n, 3)) < 0.2] = np.nan
    return x, y


def fitted(base: Base, gaps: bool = False, categories: tuple[tuple[int, int], ...] = (), seed: int = 3) -> Model:
    x, y = table(gaps=gaps)
    return base.fit(x, y, balanced(y), seed, categories)


def of_sklearn(name: str, x: Array, y: Array, weight: Array) -> Any:
    made = {
        "trees": ExtraTreesClassifier(min_samples_leaf=20, random_state=3),
        "forest": RandomForestClassifier(min_samples_leaf=20, random_state=3),
        "boosting": HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=3),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000)),
    }[name]
    if name == "logistic":
        return made.fit(x.astype(np.float64), y, logisticregression__sample_weight=weight)
    return made.fit(x, y, weight)


@pytest.mark.parametrize("name", ["trees", "forest", "boosting", "logistic"])
@pytest.mark.parametrize("gaps", [False, True])
def test_arrays_score_as_scikit_learn_does(name: str, gaps: bool) -> None:
    if gaps and not BASES[name].takes_gaps:
        pytest.skip("the engine fills gaps for this base")
    x, y = table(gaps=gaps)
    other, _ = table(300, gaps=gaps, seed=1)
    theirs = of_sklearn(name, x, y, balanced(y)).predict_proba(other)[:, 1]
    ours = fitted(base_of(name, {}), gaps).probability(other)
    np.testing.assert_allclose(ours, theirs, atol=2e-6)


@pytest.mark.parametrize("name", ["trees", "forest"])
def test_importances_are_those_of_scikit_learn(name: str) -> None:
    x, y = table()
    model = fitted(base_of(name, {}))
    np.testing.assert_allclose(model.importances(), of_sklearn(name, x, y, balanced(y)).feature_importances_, atol=1e-5)
    state = {key: value for key, value in model.state_dict().items() if key != "gain"}
    older = type(model).empty()
    older.load_state_dict(state)  # a model of before importances were kept
    assert not older.importances().any()
    np.testing.assert_array_equal(older.probability(x), model.probability(x))


def test_a_category_has_the_importance_of_all_its_values() -> None:
    model = fitted(base_of("boosting", {}), categories=((3, 6),))
    found = model.importances()
    assert found.sum() == pytest.approx(1)
    assert found[3] > 0.05
    assert not found[4:].any()
    assert (found[:2] > found[2]).all()


def test_boosting_splits_categories_as_scikit_learn_does() -> None:
    x, y = table(gaps=True)
    other, _ = table(300, gaps=True, seed=1)
    coded = np.column_stack([x[:, 3:].argmax(axis=1), x[:, :3]])
    theirs = HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=8, early_stopping=False, categorical_features=[0], random_state=3
    )
    theirs.fit(coded, y, balanced(y))
    model = fitted(base_of("boosting", {}), gaps=True, categories=((3, 6),))
    expected = theirs.predict_proba(np.column_stack([other[:, 3:].argmax(axis=1), other[:, :3]]))[:, 1]
    np.testing.assert_allclose(model.probability(other), expected, atol=2e-6)
    assert (model.state_dict()["subset"] >= 0).any()


@pytest.mark.parametrize("name", [name for name, base in BASES.items() if base.takes_sparse])
@pytest.mark.parametrize("gathered", [1 << 22, 50])
def test_sparse_rows_score_as_the_dense_rows_do(name: str, gathered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "_GATHERED", gathered)
    x, y = table()
    x[np.random.default_rng(2).random(x.shape) < 0.7] = 0
    model = base_of(name, {"min_samples_leaf": 5} if name != "logistic" else {}).fit(csr_matrix(x), y, balanced(y), 3)
    np.testing.assert_allclose(model.probability(csr_matrix(x)), model.probability(x), rtol=1e-12)
    assert roc_auc_score(y, model.probability(x)) > 0.7


def test_the_penalty_of_sparse_rows_does_not_depend_on_their_unit() -> None:
    x, y = table()
    one, thousand = (base_of("logistic", {}).fit(csr_matrix(k * x), y, balanced(y), 3) for k in (1, 1000))
    np.testing.assert_allclose(one.probability(x), thousand.probability(1000 * x), atol=1e-4)


COLUMNS = {
    "continuous": lambda rng: rng.normal(size=150),
    "constant": lambda rng: np.ones(150),
    "binary": lambda rng: rng.random(150) < 0.2,
    "tied": lambda rng: rng.poisson(1.5, 150),
}


@pytest.mark.parametrize("kinds", [*([kind] for kind in COLUMNS), [*COLUMNS]], ids="-".join)
def test_the_kernel_is_a_logistic_regression_of_cosines_of_normal_scores(kinds: list[str]) -> None:
    x = np.column_stack([COLUMNS[kind](np.random.default_rng(k)) for k, kind in enumerate(kinds)]).astype(np.float32)
    y = (np.arange(150) % 3 == 0).astype(int)
    weight = np.where(y, 1, 0.5)
    q = stats.norm.ppf((stats.rankdata(x, axis=0) - 0.5) / 150)
    q = (q - q.mean(axis=0)) / np.where(np.ptp(x, axis=0) > 0, q.std(axis=0), 1)
    rng = np.random.default_rng(3)
    some = q[rng.permutation(150)]
    width = np.median(np.linalg.norm(some[:, None] - some, axis=2)[np.triu_indices(150, 1)]) or 1
    w, b = rng.normal(size=(len(kinds), 400)) / width, rng.uniform(0, 2 * np.pi, 400)
    phi = np.sqrt(2) * np.cos(q @ w + b)
    expected = LogisticRegression(C=0.003, max_iter=1000).fit(phi, y, weight).predict_proba(phi)[:, 1]
    model = base_of("kernel", {}).fit(x, y, 7 * weight, 3)
    np.testing.assert_allclose(model.probability(x), expected, atol=1e-6)
    alone = np.concatenate([model.probability(row[None]) for row in x])
    np.testing.assert_allclose(alone, model.probability(x), rtol=1e-12)


def test_the_kernel_keeps_few_values_of_a_column_and_new_ones_lie_between() -> None:
    x = np.random.default_rng(0).normal(size=(5_000, 2)).astype(np.float32)
    scores = NormalScores(x)
    assert len(scores.values) == 2 * NormalScores.KNOTS
    expected = stats.norm.ppf((stats.rankdata(x, axis=0) - 0.5) / 5_000)
    assert np.abs(scores.of(x) - expected).mean() < 0.005
    low, high = scores.of(np.array([[-99, -99], [99, 99]]))
    np.testing.assert_array_equal([low, high], [scores.of(x).min(axis=0), scores.of(x).max(axis=0)])


def test_a_category_that_training_did_not_have_is_missing() -> None:
    x, _ = table()
    x[:, 4] = 0
    coded = Categories(((3, 6),), x)
    new = np.zeros((3, 6), np.float32)
    new[0, 4] = new[1, 5] = 1
    np.testing.assert_array_equal(coded.of(new)[:, 0], [np.nan, 1, np.nan])
    standardized = (np.eye(6)[[3, 5]] - 0.3).astype(np.float32)
    np.testing.assert_array_equal(coded.of(standardized)[:, 0], [0, 1])


@pytest.mark.parametrize("name", HERE)
def test_a_base_comes_back_from_its_state_with_the_same_bits(name: str) -> None:
    base = base_of(name, {})
    model = Mean(base.model, [fitted(base.member, categories=((3, 6),), seed=k) for k in range(3)])
    other, _ = table(300, seed=1)
    state = copy.deepcopy(model.state_dict())
    again = Mean(base.model)
    again.load_state_dict(state)
    np.testing.assert_array_equal(again.probability(other), model.probability(other))
    with pytest.raises(ValueError, match="numbered"):
        again.load_state_dict({f"5.{key}": value for key, value in state.items()})


@pytest.mark.parametrize("name", HERE)
def test_the_same_seed_gives_the_same_bits(name: str) -> None:
    other, _ = table(300, seed=1)
    one, same = (fitted(base_of(name, {})).probability(other) for _ in range(2))
    np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"right": lambda v: v * 0}, "child"),
        ({"feature": lambda v: np.where(v >= 0, 100, v).astype(v.dtype)}, "beyond"),
        ({"offsets": lambda v: v[:-1]}, "offsets"),
        ({"value": lambda v: v.astype(np.float64)}, "value"),
        ({"subset": lambda v: np.full(v.shape, np.iinfo(v.dtype).max, v.dtype)}, "categories"),
    ],
)
def test_arrays_that_are_no_trees_are_refused(change: dict[str, Any], match: str) -> None:
    model = fitted(base_of("boosting", {}), categories=((3, 6),))
    state = {**model.state_dict(), **{name: edit(model.state_dict()[name]) for name, edit in change.items()}}
    with pytest.raises(ValueError, match=match):
        model.load_state_dict(state)


def test_a_scikit_learn_classifier_of_ones_own_is_a_base() -> None:
    base = base_of("sklearn.naive_bayes:GaussianNB", {"var_smoothing": 1e-3})
    base.check()
    model = fitted(base)
    again = type(model).empty()
    again.load_state_dict(copy.deepcopy(model.state_dict()))
    other, _ = table(300, seed=1)
    np.testing.assert_array_equal(again.probability(other), model.probability(other))
    assert model.probability(other).std() > 0.1


def test_a_pipeline_is_a_base_and_passes_weights_to_its_last_step() -> None:
    logistic = {"class": "sklearn.linear_model:LogisticRegression", "C": 0.5}
    steps = [["scale", {"class": "sklearn.preprocessing:StandardScaler"}], ["logistic", logistic]]
    x, y = table()
    weight = balanced(y)
    model = base_of("sklearn.pipeline:Pipeline", {"steps": steps}).fit(x, y, weight, 0)
    by_hand = make_pipeline(StandardScaler(), LogisticRegression(C=0.5)).fit(
        x, y, logisticregression__sample_weight=weight
    )
    np.testing.assert_array_equal(model.probability(x), by_hand.predict_proba(x)[:, 1])
    with pytest.raises(RequestError, match="LinearSVC has no predict_proba"):
        base_of("sklearn.svm:LinearSVC", {}).fit(x, y, weight, 0)


def test_weights_keep_both_classes_alike() -> None:
    y, weight = np.array([1, 0, 0, 0]), np.array([2.0, 1, 1, 4])
    found = balanced(y, weight)
    assert found[y == 1].sum() == found[y == 0].sum() == 4
    assert found[3] == 4 * found[1]


def test_skops_loads_no_code_of_strangers() -> None:
    base = base_of("sklearn.naive_bayes:GaussianNB", {})
    again = base.model.empty()
    with pytest.raises(PluginError, match="cannot be loaded"):
        again.load_state_dict({"content": np.frombuffer(b"something else", np.uint8)})


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("sklearn.naive_bayes:Nothing", "cannot be imported"),
        ("no_such_package.inside:thing", "cannot be imported"),
    ],
)
def test_a_base_that_is_not_there_is_refused(name: str, match: str) -> None:
    with pytest.raises(RequestError, match=match):
        base_of(name, {}).check()


def test_a_base_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RequestError, match=r"pip install 'pubench-bases\[lightgbm\]'"):
        base_of("lightgbm", {}).check()


def test_bases_use_one_thread_and_give_the_same_model_in_another_process(capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        "import numpy as np; from pubench_bases.bases import base_of; rng = np.random.default_rng(0);"
        "x = rng.normal(size=(300, 5)).astype('f4'); y = (x[:, 0] > 0).astype(int);"
        "print([base_of(n, {}).fit(x, y, np.ones(300), 1).probability(x).tobytes().hex()[:4000] "
        "for n in ('trees', 'boosting')])"
    )
    exec(code, {})
    threads = "4" if os.environ.get("OMP_NUM_THREADS") == "1" else "1"
    other = subprocess.run(
        [sys.executable, "-c", code], env={"OMP_NUM_THREADS": threads}, capture_output=True, text=True, check=True
    )
    assert other.stdout == capsys.readouterr().out


def test_trees_look_at_few_of_many_features_and_say_so() -> None:
    assert list(base_of("trees", {"max_features": "all"}).notes(2_000)) == []
    (line,) = base_of("trees", {"max_features": "all"}).notes(2_001)
    assert "2,001 features" in line


def test_folds_hold_whole_groups_and_deal_those_with_labels_evenly() -> None:
    data = pu_table(np.zeros((120, 1)), 40)
    data.group = torch.arange(120) // 3 % 20
    fold, group = folds_of(data, 4, np.random.default_rng(0)), data.group.numpy()
    assert all(len(set(fold[group == code])) == 1 for code in range(20))
    labeled = np.unique(group[:40])
    assert sorted(np.bincount([fold[group == code][0] for code in labeled])) == [3, 3, 4, 4]


def test_labels_of_one_group_have_no_folds() -> None:
    data = pu_table(np.zeros((60, 1)), 20)
    data.group = torch.arange(60) // 20
    with pytest.raises(RequestError, match="are of one group, and folds need two") as caught:
        folds_of(data, 4, np.random.default_rng(0))
    assert caught.value.field == "data.own.groups"


@pytest.mark.parametrize(
    ("base", "categories", "same", "config"),
    [
        ("trees", (), "trees", {"max_features": "sqrt"}),
        ("trees", ((3, 6),), "forest", {"max_features": "third"}),
        ("forest", ((3, 6),), "forest", {"max_features": "sqrt"}),
    ],
)
def test_members_are_ordinary_trees_of_thirds_with_nominal_columns(
    base: str, categories: tuple[tuple[int, int], ...], same: str, config: dict[str, Any]
) -> None:
    x, _ = table()
    member, other = base_of(base, {}).member, base_of(same, config).member
    found, expected = (fitted(one, categories=categories).probability(x) for one in (member, other))
    assert np.array_equal(found, expected)
    assert len(list(member.notes(6, categories))) == (base != same)


def test_trees_alone_do_not_change_with_nominal_columns() -> None:
    x, _ = table()
    found, expected = (fitted(base_of("trees", {}), categories=of).probability(x) for of in (((3, 6),), ()))
    assert np.array_equal(found, expected)


def test_a_third_of_the_features_is_looked_at_per_split() -> None:
    x, y = table()
    tree = DecisionTreeClassifier(max_features=round(x.shape[1] / 3), min_samples_leaf=1, random_state=3)
    expected = tree.fit(x, y, balanced(y)).predict_proba(x)[:, 1]
    found = fitted(base_of("forest", {"max_features": "third"}).member).probability(x)
    assert np.allclose(found, expected)
