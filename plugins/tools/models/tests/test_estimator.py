"""PUClassifier as users of scikit-learn use it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from pubench_evaluate.scored_rows import scored_rows
from pubench_models.estimator import EXPECTED_FAILED_CHECKS
from scipy.sparse import csr_array, hstack, random_array
from scipy.special import logit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import pubench
from pubench_core.engine.resolve_method import method_class
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import read_scores
from pubench_core.records.scores import on_scale_of

PRIOR = 0.37
#: Enough to rank tumors.
EPOCHS = 8
#: What a model that was trained for a moment decides is far from its prior, which is not what is tested here.
pytestmark = [pytest.mark.filterwarnings("ignore::pubench.PubenchWarning"), pytest.mark.usefixtures("one_thread")]


def tumors():
    """(frame, who is labeled, who is positive): malignant tumors, half of them labeled."""
    x, y = load_breast_cancer(return_X_y=True, as_frame=True)
    positive = (y == 0).to_numpy()
    return x, positive & (np.random.default_rng(0).random(len(y)) < 0.5), positive


X, LABELED, POSITIVE = tumors()


@pytest.fixture(scope="module")
def fitted():
    return pubench.PUClassifier("nnpu", prior=PRIOR, epochs=EPOCHS).fit(X, LABELED)


def messy(x: pd.DataFrame) -> pd.DataFrame:
    """Text, missing values, a date and an id next to a few numbers."""
    rng = np.random.default_rng(1)
    frame = x.iloc[:, :4].mask(rng.random((len(x), 4)) < 0.1)
    frame["size"] = np.where(x["mean area"] > 700, "large", "small")
    frame.loc[::17, "size"] = None
    frame["seen"] = pd.Timestamp("2026-01-01")
    frame["patient_id"] = np.arange(len(x)) + 1000
    return frame


@pytest.fixture(scope="module")
def rows():
    """(x, truth, labels 1, 0 and -1): labels are not at random, and 40 negatives are known."""
    rng = np.random.default_rng(0)
    truth = rng.random(900) < 0.4
    x = rng.normal(size=(900, 4)) + np.where(truth, 1.0, -1.0)[:, None] * [1.0, 0, 0, 0]
    x[:, 1] += 2 * truth
    labeled = truth & (x[:, 1] > 2) & (rng.random(900) < 0.5)
    negative = ~truth & (np.cumsum(~truth) <= 40)
    return x, truth, np.where(labeled, 1, np.where(negative, -1, 0))


class TestKnownNegatives:
    @pytest.mark.parametrize("method", ["nnpu", "pu-boost"])
    def test_they_help_a_method_that_learns_from_them(self, rows, method):
        x, truth, y = rows
        given = {"prior": 0.4, "criterion": "last", "random_state": 1}
        given |= {"epochs": 20, "preset": "table"} if method == "nnpu" else {}
        found = [pubench.PUClassifier(method, **given).fit(x, some) for some in (y, np.maximum(y, 0))]
        assert found[0].result_.data.negatives == 40
        known, unknown = (roc_auc_score(truth[y == 0], one.decision_function(x[y == 0])) for one in found)
        assert known > unknown

    def test_every_form_of_the_labels_gives_the_same_model(self, rows):
        x, _, y = rows
        texts = pd.Series(y).map({1: "yes", -1: "no"})  # 0 becomes missing
        named = pubench.PUClassifier("naive", pos_label="yes", neg_label="no").fit(x, texts)
        sparse = pubench.PUClassifier("naive").fit(csr_array(x), y)
        assert named.result_.data.negatives == sparse.result_.data.negatives == 40
        plain = pubench.PUClassifier("naive").fit(x, y)
        assert plain.classes_.tolist() == [0, 1]
        assert np.array_equal(plain.decision_function(x), named.decision_function(x))
        with pytest.raises(ValueError, match="neg_label='nein' is no value of y"):
            clone(named).set_params(neg_label="nein").fit(x, texts)

    def test_a_method_that_does_not_says_how_many_are_left_out(self, rows):
        x, _, y = rows
        with pytest.warns(pubench.PubenchWarning, match="upu learns from no known negatives: 40 are left out"):
            model = pubench.PUClassifier("upu", prior=0.4, epochs=1).fit(x, y)
        assert model.score(x, y) == pubench.PUClassifier.score(model, x[y >= 0], y[y >= 0])


class TestScores:
    def test_other_labels_need_pos_label(self):
        words = np.where(LABELED, "known", "open")
        with pytest.raises(ValueError, match=r"y has the values known, open; .* pos_label"):
            pubench.PUClassifier("nnpu", prior=PRIOR, epochs=1).fit(X, words)
        model = pubench.PUClassifier("nnpu", prior=PRIOR, epochs=1, pos_label="known").fit(X, words)
        assert model.classes_.tolist() == ["open", "known"]

    @pytest.mark.parametrize(
        ("given", "classes"),
        [
            (lambda y: np.where(y, 1, 0), [0, 1]),
            (lambda y: np.where(y, 1, -1), [-1, 1]),
            (lambda y: np.where(y, 1.0, 0.0), [0.0, 1.0]),
            (lambda y: np.where(y, 1.0, np.nan), [0.0, 1.0]),
            (lambda y: [1 if v else None for v in y], [0, 1]),
            (lambda y: pd.Series(y, dtype="boolean").mask(~y), [False, True]),
            (lambda y: pd.Series(y, dtype="boolean"), [False, True]),
            (lambda y: pd.Series(np.where(y, 1, -1), dtype="Int64").mask(~y & (np.arange(len(y)) % 2 > 0)), [-1, 1]),
            (lambda y: pd.Series(np.where(y, "known", None), dtype="category"), [None, "known"]),
        ],
    )
    def test_labels_come_back_as_given_and_missing_ones_are_unlabeled_at_every_door(self, given, classes):
        y = given(LABELED)
        word = {"pos_label": "known"} if classes[1] == "known" else {}
        model = pubench.PUClassifier("naive", base="logistic", **word).fit(X, y)
        assert model.classes_.tolist() == classes
        assert [type(value) for value in model.classes_.tolist()] == [type(value) for value in classes]
        scores = model.decision_function(X)
        assert model.predict(X).tolist() == [classes[int(score > 0)] for score in scores]
        np.testing.assert_array_equal(
            scores, clone(model).set_params(pos_label=None).fit(X, LABELED).decision_function(X)
        )
        assert scored_rows(scores, y, **word).n_labeled == LABELED.sum()
        assert model.score(X, y) == roc_auc_score(LABELED, scores)
        assert f"{LABELED.sum()} labeled positives" in pubench.data(X, y).notes[0]

    def test_the_same_seed_gives_the_same_scores_and_another_seed_others(self, fitted):
        other = clone(fitted).set_params(random_state=3).fit(X, LABELED)
        np.testing.assert_array_equal(clone(fitted).fit(X, LABELED).decision_function(X), fitted.decision_function(X))
        assert (other.decision_function(X) != fitted.decision_function(X)).any()

    def test_the_scores_are_those_of_a_run_on_the_same_table(self, fitted, tmp_path):
        run = pubench.run(
            "nnpu",
            pubench.data(X, LABELED),
            prior=PRIOR,
            config={"epochs": EPOCHS},
            results=tmp_path,
            tracking=False,
        )
        found = pubench.predictions(run).set_index("row")["score"]
        expected = fitted.decision_function(X)[found.index]
        seen = ~np.isin(found.index, read_scores(run.folder)["validation_rows"])
        assert 0 < seen.sum() < len(seen)
        # the list has rows that were trained on on the scale of those that were held out
        expected[seen] = on_scale_of(expected[~seen], expected[seen])
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)

    def test_a_method_that_needs_no_prior_asks_for_none(self):
        model = pubench.PUClassifier("vpu", epochs=10).fit(X, LABELED)
        assert model.result_.selected == "pauc"
        assert model.result_.data.prior.given is None
        assert model.score(X, POSITIVE) > 0.9


class TestFrames:
    def test_text_gaps_dates_and_ids(self):
        frame = messy(X)
        model = pubench.PUClassifier("nnpu", prior=PRIOR, epochs=EPOCHS).fit(frame, LABELED)
        notes = " ".join(model.notes_)
        assert "'seen' (constant)" in notes
        assert "'patient_id' (probably an id" in notes
        assert "'size' (3)" in notes
        assert "missing values: 'mean radius'" in notes
        assert model.n_features_in_ == 7
        assert model.score(frame, POSITIVE) > 0.9

    def test_an_unseen_text_and_a_gap_are_scored_and_said(self):
        frame = messy(X)
        model = pubench.PUClassifier("nnpu", prior=PRIOR, epochs=2).fit(frame, LABELED)
        new = frame.head(3).assign(size=["huge", None, "small"])
        with pytest.warns(pubench.PubenchWarning, match=r"'size' has values that training did not have \(huge\)"):
            assert np.isfinite(model.decision_function(new)).all()

    def test_polars_and_pyarrow_give_the_scores_of_pandas(self, fitted):
        pa = pytest.importorskip("pyarrow")
        expected = fitted.decision_function(X)
        np.testing.assert_array_equal(
            clone(fitted).fit(pa.Table.from_pandas(X), LABELED).decision_function(X), expected
        )
        polars = pytest.importorskip("polars")
        frame = polars.from_pandas(X)
        np.testing.assert_array_equal(clone(fitted).fit(frame, LABELED).decision_function(frame), expected)

    def test_all_columns_of_an_array_are_features_even_one_that_counts_rows(self):
        array = np.c_[np.arange(len(X)), X.to_numpy()]
        model = pubench.PUClassifier("nnpu", prior=PRIOR, epochs=1).fit(array, LABELED)
        assert "31 features" in " ".join(model.notes_)

    def test_importances_are_per_column_of_x(self):
        frame = messy(X).assign(noise=np.random.default_rng(2).random(len(X)))
        model = pubench.PUClassifier("puet", prior=PRIOR, n_estimators=50).fit(frame, LABELED)
        found = dict(zip(frame.columns, model.feature_importances_, strict=True))
        assert found["seen"] == found["patient_id"] == 0
        assert found["mean radius"] > found["noise"] > 0
        assert not hasattr(pubench.PUClassifier("upu", prior=PRIOR, epochs=1).fit(X, LABELED), "feature_importances_")
        bag = pubench.PUClassifier("pu-bagging", n_estimators=50).fit(frame, LABELED)
        found = dict(zip(frame.columns, bag.feature_importances_, strict=True))
        assert found["seen"] == found["patient_id"] == 0
        assert found["mean radius"] > found["noise"] > 0
        assert not hasattr(bag, "coef_")

    def test_coefficients_are_in_the_units_of_x(self):
        model = pubench.PUClassifier("naive", base="logistic").fit(X, LABELED)
        assert model.coef_.shape == (1, 30)
        log_odds = logit(model.decision_function(X) + 0.5)
        np.testing.assert_allclose(np.diff(log_odds), np.diff(X @ model.coef_[0]), rtol=1e-3, atol=1e-4)
        assert not hasattr(pubench.PUClassifier("naive", base="logistic").fit(messy(X), LABELED), "coef_")


class TestWeights:
    @pytest.mark.parametrize("sparse", [False, True])
    def test_a_row_of_weight_0_is_absent(self, sparse):
        x, labeled = X, LABELED
        x = csr_array(x.to_numpy()) if sparse else x
        there = np.arange(x.shape[0]) % 3 > 0
        model = pubench.PUClassifier("naive", base="logistic", prior=PRIOR)
        weighted = clone(model).fit(x, labeled, sample_weight=2.0 * there)
        np.testing.assert_array_equal(
            weighted.decision_function(x), model.fit(x[there], labeled[there]).decision_function(x)
        )
        folds = clone(model).set_params(cv=3).fit(x, labeled, sample_weight=there)
        np.testing.assert_array_equal(np.isnan(folds.out_of_fold_scores_), ~there)

    @pytest.mark.parametrize("method", ["naive", "pu-bagging"])
    @pytest.mark.parametrize("sparse", [False, True])
    def test_heavy_rows_count_more(self, method, sparse):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(600, 2))
        labeled = np.arange(600) < 200
        x[:100, 0] += 3  # half of the labeled rows differ in one feature, half in the other
        x[100:200, 1] += 3
        weight = np.where(np.arange(600) < 100, 10.0, 1.0)
        given = csr_array(x) if sparse else x
        model = pubench.PUClassifier(method, base="logistic", **({"n_estimators": 5} if method != "naive" else {}))
        even, odd = (clone(model).fit(given, labeled, sample_weight=w).coef_[0] for w in (None, weight))
        assert abs(even[0] / even[1] - 1) < 0.3
        assert odd[0] > 1.5 * odd[1]

    @pytest.mark.parametrize(
        ("method", "weight", "message"),
        [
            ("vpu", np.arange(569) + 1, "vpu takes no weights of rows, except 0"),
            ("naive", -np.ones(569), "sample_weight must be finite numbers of at least 0, got -1.0 in row 0"),
            ("naive", np.ones(3), r"sample_weight must have shape \(569,\), got \(3,\)"),
        ],
    )
    def test_wrong_weights(self, method, weight, message):
        with pytest.raises(ValueError, match=message):
            pubench.PUClassifier(method).fit(X, LABELED, sample_weight=weight)


class TestBase:
    def test_an_estimator_is_a_base(self):
        base = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
        model = pubench.PUClassifier("pu-bagging", base=base, n_estimators=5).fit(X, LABELED)
        assert model.score(X, POSITIVE) > 0.95
        assert model.result_.spec.method.config["base"] == "sklearn.pipeline:Pipeline"
        alone = clone(model).set_params(base=LogisticRegression(), base__C=0.2).fit(X, LABELED)
        assert alone.get_params()["base__C"] == 0.2
        assert alone.result_.spec.method.config["base_config"] == {"C": 0.2}
        assert alone.coef_.shape == (1, 30)

    def test_what_cannot_be_written_down_is_refused(self):
        model = pubench.PUClassifier("naive", base=LogisticRegression(class_weight={0: 1.0, 1: 2.0}))
        with pytest.raises(ValueError, match="is no number, text or estimator; take base='package"):
            model.fit(X, LABELED)


#: Two topics that share words; a post of topic 1 is of the first with a chance of .4.
WORDS = [f"word{k}" for k in range(60)]


def posts(n=600, seed=0):
    """(texts, who is labeled, who is positive)."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    start = np.where(positive, 0, 25)
    texts = [" ".join(WORDS[first + k] for k in rng.integers(35, size=8)) for first in start]
    return np.array(texts), positive & (rng.random(n) < 0.5), positive


class TestSparse:
    @pytest.mark.parametrize(
        ("method", "config"),
        [
            ("naive", {"base": "logistic"}),
            ("naive", {"base_config": {"n_estimators": 20, "min_samples_leaf": 2}}),
            ("pu-bagging", {"n_estimators": 20}),
            ("pu-bagging", {"n_estimators": 5, "base": "sklearn.naive_bayes:MultinomialNB"}),
            ("elkan-noto", {"base": "logistic"}),
            ("two-step", {"base": "logistic"}),
            ("puet", {"prior": 0.4, "n_estimators": 20}),
            ("nnpu", {"prior": 0.4, "epochs": 5}),
        ],
    )
    def test_a_pipeline_on_texts(self, method, config):
        texts, labeled, _ = posts()
        model = make_pipeline(TfidfVectorizer(), pubench.PUClassifier(method, **config)).fit(texts, labeled)
        new, _, truth = posts(seed=1)
        assert roc_auc_score(truth, model.decision_function(new)) > 0.85
        kept = "sparse" if method not in ("puet", "nnpu") else "dense, a batch at a time"
        assert f"{method} is given sparse rows {kept}" in model[-1].notes_
        x = model[0].transform(new)
        for same in (x.tocoo(), x.toarray()):
            np.testing.assert_array_equal(model[-1].decision_function(same), model.decision_function(new))
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(new), model.predict(new))

    def test_a_classic_makes_no_dense_table_and_a_method_that_needs_one_names_what_to_put_between(self):
        rng, n = np.random.default_rng(0), 3_000
        positive = np.arange(n) < 1_000
        wide = random_array((n, 200_000), density=1e-5, rng=rng, format="csr")  # 2.4 GB if it was dense
        x = hstack([csr_array(np.where(positive, rng.random(n), 0)[:, None]), wide]).tocsr()
        labeled = positive & (rng.random(n) < 0.5)
        with pytest.raises(ValueError, match=r"2\.\d+ GB as the dense table that this needs; put .* TruncatedSVD"):
            pubench.PUClassifier("puet", prior=0.4).fit(x, labeled)
        model = pubench.PUClassifier("naive", base="logistic").fit(x, labeled)
        assert roc_auc_score(positive, model.decision_function(x)) > 0.9

    def test_folds_keep_equal_rows_together(self):
        texts, labeled, _ = posts(300)
        x = TfidfVectorizer().fit_transform(np.r_[texts, texts[labeled]])
        y = np.r_[labeled, np.zeros(labeled.sum(), bool)]
        model = pubench.PUClassifier("naive", base="logistic", cv=3).fit(x, y)
        scores = model.out_of_fold_scores_
        np.testing.assert_allclose(scores[: len(texts)][labeled], scores[len(texts) :])

    def test_a_column_that_says_who_is_labeled_is_refused(self):
        texts, labeled, _ = posts(100)
        x = hstack([TfidfVectorizer().fit_transform(texts), csr_array(labeled[:, None].astype(float))])
        with pytest.raises(ValueError, match="is there exactly where rows are labeled"):
            pubench.PUClassifier("naive", base="logistic").fit(x, labeled)


class TestScikitLearn:
    def test_clone_and_parameters(self):
        model = pubench.PUClassifier("vpu", epochs=3)
        assert clone(model).get_params() == model.get_params()
        assert model.set_params(lr=0.1, prior=0.2).get_params()["lr"] == 0.1
        assert "PUClassifier(epochs=3, lr=0.1, method='vpu', prior=0.2)" in repr(model)

    def test_no_method_has_a_hyper_parameter_of_the_estimators_own(self):
        own = set(pubench.PUClassifier().get_params())
        for info in registry().infos(MethodInfo):
            assert not own & set(method_class(info).Config.model_fields), info.key

    def test_grid_search_with_pa_and_pauc_on_a_frame_with_text_and_gaps(self):
        frame = messy(X)
        search = GridSearchCV(
            pubench.PUClassifier("nnpu", prior=PRIOR, epochs=5),
            {"lr": [1e-6, 1e-2]},
            scoring={"pa": pubench.pa_scorer(PRIOR), "pauc": pubench.pauc_scorer()},
            refit="pa",
            cv=pubench.PUKFold(2),
            error_score="raise",
        )
        search.fit(frame, LABELED)
        assert search.best_params_ == {"lr": 1e-2}
        assert search.score(frame, LABELED) > 1
        assert (search.predict(frame) == POSITIVE).mean() > 0.8

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
    def test_every_check_of_scikit_learn_passes_or_is_declared(self):
        model = pubench.PUClassifier("naive", base="logistic", validation=0.0)
        found = check_estimator(model, expected_failed_checks=dict(EXPECTED_FAILED_CHECKS), on_fail=None, on_skip=None)
        assert [check["check_name"] for check in found if check["status"] == "failed"] == []
        assert {check["check_name"] for check in found if check["status"] == "xfail"} == set(EXPECTED_FAILED_CHECKS)

    def test_an_estimator_writes_nothing(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        pubench.PUClassifier("upu", prior=PRIOR, epochs=1).fit(X, LABELED)
        assert list(tmp_path.iterdir()) == []


class TestFolds:
    def test_shares_of_labeled_rows_are_kept(self):
        for train, test in pubench.PUKFold(4).split(X, LABELED):
            assert LABELED[test].mean() == pytest.approx(LABELED.mean(), abs=0.01)
            assert len(np.intersect1d(train, test)) == 0
            assert len(train) + len(test) == len(X)

    def test_too_few_labels(self):
        with pytest.raises(
            ValueError, match="n_splits must be at most 2, the different instances of the smaller part, got 5"
        ):
            next(pubench.PUKFold(5).split(X, np.arange(len(X)) < 2))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"method": "nnpuu"},
            "unknown method 'nnpuu'; did you mean 'nnpu'\\? \\(pubench.list_methods\\(\\) lists them\\)",
        ),
        ({"method": "nnpu", "prior": 1.3}, "prior=1.3: 1.3 is outside \\(0, 1\\)"),
        ({"method": "nnpu", "prior": 0.1}, "prior 0.1 contradicts the labels"),
        ({"method": "nnpu", "prior": 0.3, "lr": -1}, "lr=-1: given -1; lr must be a number above 0"),
        ({"method": "vpu", "criterion": "pa"}, "criterion 'pa' needs the class prior and none is known; prior=0.3"),
        ({"method": "nnpu", "prior": 0.3, "features": "z*"}, "unknown column of X \\(features\\) 'z\\*'"),
        ({"method": "nnpu", "prior": 0.3, "validation": 2}, "validation=2: given 2; fraction must be"),
    ],
)
def test_a_wrong_parameter_is_a_value_error_in_the_callers_words(parameters, message):
    with pytest.raises(ValueError, match=message):
        pubench.PUClassifier(**parameters).fit(X, LABELED)
