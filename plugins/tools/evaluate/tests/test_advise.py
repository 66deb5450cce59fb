"""The command from a table to an answer: what is in the folder, what checked rows change, what is kept."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import WIDTHS, browser, faults, needs_browser
from pubench_evaluate.advice import advise as steps
from pubench_evaluate.advice import choice, fits
from pubench_evaluate.advice.choice import DEFAULT, OTHERS, Candidate, Fit, OverBagging
from pubench_evaluate.advice.page import Advice, Promise
from pubench_evaluate.audit import audit_answers
from pubench_evaluate.audit.sheet import read_sheet
from pubench_evaluate.audit.statistics import ScarTest
from pubench_study.folds import folds_of, parts_of

import pubench
from pubench_core.errors import PubenchError, RequestError, RunFailed
from pubench_core.isolation import staying

#: Bagged trees, of which there are few, and two cheap methods.
TREES = replace(DEFAULT, config={"n_estimators": 20})
CHEAP = (TREES, *OTHERS[:2])


def two_clouds(n: int = 600, prior: float = 0.4, c: float = 0.3, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with its column ``labeled``, and the truth: two normal clouds, two deviations apart in each of two
    features; labels are SCAR.
    """
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < prior
    x = rng.normal(size=(n, 4)) + 2 * truth[:, None] * np.array([1, 1, 0, 0])
    frame = pd.DataFrame(x, columns=list("abcd")).round(6)
    frame.insert(0, "customer", [f"c{k:04d}" for k in range(n)])
    return frame.assign(labeled=(truth & (rng.random(n) < c)).astype(int)), truth


def of_clouds(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features, and who is labeled."""
    frame = pd.read_csv(file)
    return frame[list("abcd")].to_numpy(np.float32), frame["labeled"].to_numpy() == 1


@pytest.fixture(scope="module", autouse=True)
def cheap() -> Iterator[None]:
    """Few trees, methods and folds, and no estimate of a prior."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "DEFAULT", TREES)
        patch.setattr(steps, "OTHERS", CHEAP[1:])
        patch.setattr(steps, "estimates", lambda *a: None)
        patch.setattr(fits, "FOLDS", 2)
        patch.setattr(choice, "PARTS", 2)
        yield


@pytest.fixture(scope="module")
def answered(cheap: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Advice, Path, np.ndarray]:
    """An answer, its table, and the truth."""
    folder = tmp_path_factory.mktemp("advice")
    frame, truth = two_clouds()
    frame.to_csv(folder / "my.csv", index=False)
    found = pubench.advise(folder / "my.csv", "labeled", prior=(0.3, 0.5), goal="review:60", out=folder / "out")
    return found, folder / "my.csv", truth


def copy_of(advice: Advice, folder: Path) -> Path:
    """A copy of the folder of an answer: its finished fits count there too."""
    return Path(shutil.copytree(advice.folder, folder / "out"))


@pytest.fixture(scope="module")
def checked(answered: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Advice, dict[str, Any]]:
    """An answer by checked rows, and the arguments of its call."""
    folder = tmp_path_factory.mktemp("checked")
    arguments: dict[str, Any] = {"prior": (0.3, 0.5), "goal": "review:60", "out": copy_of(answered[0], folder)}
    arguments["audited"] = sheet_of(answered, folder)
    return pubench.advise(answered[1], "labeled", **arguments), arguments


@needs_browser
def test_its_page_has_no_fault_in_a_browser(answered: tuple[Advice, Path, np.ndarray]) -> None:
    with browser() as page:
        assert [faults(page, answered[0].folder / "advice.html", width=width) for width in WIDTHS] == [[], []]


@needs_browser
def test_the_page_of_checked_rows_has_no_fault_on_a_phone(checked: Any) -> None:
    after = checked[0]
    assert after.audited is not None
    assert after.audited.result.more in (after.folder / "advice.html").read_text("utf-8")
    with browser() as page:
        assert faults(page, after.folder / "advice.html", width=390) == []


def filled(advice: Advice, truth: np.ndarray, path: Path) -> Path:
    sheet = pd.read_csv(str(advice.sheet))
    sheet["answer"] = truth[sheet["row"]].astype(int)
    sheet.to_csv(path, index=False)
    return path


def sheet_of(answered: tuple[Advice, Path, np.ndarray], folder: Path) -> Path:
    """A filled sheet of the answer, with its design next to it."""
    advice, _, truth = answered
    shutil.copy(advice.folder / "audit.design.npz", folder)
    return filled(advice, truth, folder / "filled.csv")


class TestAnAnswer:
    def test_bagged_trees_alone_without_checked_rows(self, answered: Any) -> None:
        advice = answered[0]
        assert (advice.answer, [fit.candidate for fit in advice.fits]) == (DEFAULT.name, [TREES])
        assert advice.headline.startswith("Use bagged trees")
        assert advice.headline.split(".")[0] in (advice.folder / "advice.html").read_text("utf-8")
        assert "30 of them measure the top 60; all measure the prior and train the answer." in str(advice.parts())

    def test_all_unlabeled_rows_are_ranked_and_named(self, answered: Any) -> None:
        advice, file, truth = answered
        ranked, frame = advice.ranked(), pd.read_csv(file)
        assert sorted(ranked["row"]) == np.flatnonzero(frame["labeled"] == 0).tolist()
        assert (ranked["customer"] == frame["customer"][ranked["row"]].to_numpy()).all()
        assert truth[ranked["row"][:60]].mean() > 0.8

    def test_the_promise_holds_the_truth(self, answered: Any) -> None:
        advice, _, truth = answered
        found = int(truth[advice.ranked()["row"][:60]].sum())
        assert advice.promise.low - 2 <= found <= advice.promise.high + 2

    def test_decisions_at_both_ends_of_the_prior(self, answered: Any) -> None:
        advice = answered[0]
        ranked, look = advice.ranked(), advice.look
        for column, prior in (("decision_low", 0.3), ("decision", 0.4), ("decision_high", 0.5)):
            assert ranked[column].sum() == round(prior * look.rows - look.labeled)

    def test_json_says_what_python_says(self, answered: Any) -> None:
        stored = json.loads((answered[0].folder / "answer.json").read_text("utf-8"))
        assert stored == json.loads(json.dumps(answered[0].to_dict()))
        assert stored["version"] == 5
        assert [one["name"] for one in stored["methods"]] == [DEFAULT.name]

    def test_the_sheet_has_names_and_features_and_neither_scores_nor_labels(self, answered: Any) -> None:
        sheet = pd.read_csv(answered[0].sheet)
        assert list(sheet.columns) == ["audit", "row", "customer", "a", "b", "c", "d", "answer"]
        assert len(sheet) == 60

    def test_predict_takes_the_model_and_load_model_gives_its_bits(self, answered: Any, tmp_path: Path) -> None:
        from pubench_models.predict import predict

        advice, file, truth = answered
        with pytest.raises(RequestError, match=r"is no record; did you mean .*model\?"):
            predict(str(advice.folder), file, tmp_path / "new.csv", Path("results"), None)
        predict(str(advice.model), file, tmp_path / "new.parquet", Path("results"), None)
        scores = pd.read_parquet(tmp_path / "new.parquet").sort_values("row")["score"].to_numpy()
        assert scores[truth].mean() > scores[~truth].mean()
        model = pubench.load_model(str(advice.model))
        for rows in (file, pd.read_csv(file)):
            np.testing.assert_array_equal(model.decision_function(rows), scores)
        np.testing.assert_array_equal(model.predict(file), scores > 0)
        with pytest.raises(pubench.InvalidRequest, match="x lacks 'a'"):
            model.decision_function(pd.read_csv(file).drop(columns="a"))
        with pytest.raises(pubench.InvalidRequest, match=r"is no record; did you mean .*model\?"):
            pubench.load_model(advice.folder)

    def test_evaluate_and_audit_take_it_with_scores_of_all_rows_out_of_fold(self, answered: Any) -> None:
        from pubench_evaluate.cli.score_table import subject_of_run

        advice, _, _ = answered
        for everything in (False, True):
            subject = subject_of_run(Path(str(advice.model)), everything=everything)
            assert subject.name.endswith("scores out of fold")
            assert (subject.labeled.sum(), (~subject.labeled).sum()) == (advice.look.labeled, advice.look.unlabeled)
            assert sorted(subject.rows[~subject.labeled]) == sorted(advice.ranked()["row"])


TAUGHT = Fit(
    replace(OTHERS[4], name=f"{OTHERS[4].name}, trained on the checked rows"),
    checked=OverBagging(0.9, 0.1, (0.0, 0.2), 0.91),
)
HEADLINES: dict[str, tuple[dict[str, Any], str]] = {
    "scar": ({}, "Of the top 60, 40 to 58 are positive, if labels are SCAR (untested); check the 60 rows of"),
    "contradicted": (
        {"scar": ScarTest(contradiction="more than chance explains")},
        "How many of the top 60 are positive cannot be said yet: check the 60 rows of audit.csv.",
    ),
    "everything is possible": (
        {"promise": Promise(60, 0, 60, "nothing is known of the prior")},
        "How many of the top 60 are positive cannot be said yet: check the 60 rows of audit.csv.",
    ),
    "checked rows": (
        {"promise": Promise(60, 35, 55, "checked rows"), "sheet": None},
        "Use bagged trees. Of the top 60, 35 to 55 are positive, by the checked rows.",
    ),
    "trained on checked rows": (
        {
            "promise": Promise(60, 35, 55, "checked rows"),
            "sheet": None,
            "answer": TAUGHT.candidate.name,
            "fits": (TAUGHT,),
        },
        "Use boosting, P against U, trained on the checked rows. Of the top 60, 35 to 55 are positive.",
    ),
}


@pytest.mark.parametrize("name", HEADLINES)
def test_the_headline_has_at_most_25_words_and_no_range_that_says_nothing(answered: Any, name: str) -> None:
    changed, sentence = HEADLINES[name]
    headline = replace(answered[0], **{"promise": Promise(60, 40, 58, "the prior"), **changed}).headline
    assert sentence in headline
    assert len(headline.split()) <= 25
    assert ("audit.csv" in headline) == ("sheet" not in changed)


class TestAComparison:
    def test_an_answer_that_trained_on_the_checked_rows_is_in_the_folder_before_anything_is_compared(
        self, answered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def stops(*given: Any, **more: Any) -> Any:
            raise KeyboardInterrupt

        _, file, _ = answered
        fitted, sheet = steps.fitted, sheet_of(answered, tmp_path)
        monkeypatch.setattr(steps, "fitted", lambda one, *a: (stops if one in CHEAP[1:] else fitted)(one, *a))
        with pytest.raises(KeyboardInterrupt):
            pubench.advise(file, "labeled", prior=0.4, out=tmp_path / "out", audited=sheet)
        stored = json.loads((tmp_path / "out" / "answer.json").read_text("utf-8"))
        assert stored["answer"] == "bagged trees, trained on the checked rows"
        assert Path(stored["model"]).is_dir()
        assert (tmp_path / "out" / "ranked.csv").is_file()

    def test_others_are_fitted_cheapest_first_and_compared_by_checked_rows(self, checked: Any) -> None:
        after = checked[0]
        assert tuple(fit.candidate for fit in after.fits[:-1]) == CHEAP
        assert [fit.checked is None for fit in after.fits] == [True, False, False, False]
        assert str(after.fits[1].checked) in (after.folder / "advice.html").read_text("utf-8")
        assert f"its AUC changes by {after.fits[-1].checked}." in after.choice


class TestAnEstimate:
    def test_an_estimate_that_the_scores_contradict_is_not_used_and_labels_are_not_blamed(
        self, answered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Labels are SCAR, 40 % are positive, and an estimator says .9: among the top rows are fewer."""
        _, file, _ = answered
        estimated = pubench.estimate_prior(*of_clouds(file), estimators=[])
        monkeypatch.setattr(steps, "estimates", lambda *a: replace(estimated, interval=(0.88, 0.95)))
        found = pubench.advise(file, "labeled", goal="review:60", out=tmp_path / "out")
        assert found.prior.interval is None
        assert found.prior.source == "the estimate 0.88 to 0.95 contradicts the scores"
        assert found.scar.verdict == "not tested"
        assert "cannot be said yet" in found.headline

    def test_evaluate_does_not_call_a_prior_given_that_nobody_gave(
        self, answered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from pubench_evaluate.cli.score_table import subject_of_run

        monkeypatch.setattr(steps, "OTHERS", ())
        advice, file, truth = answered
        assert subject_of_run(Path(str(advice.model))).prior == (0.3, 0.5)
        estimated = pubench.estimate_prior(*of_clouds(file), estimators=[])
        monkeypatch.setattr(steps, "estimates", lambda *a: replace(estimated, interval=(0.3, 0.5)))
        found = pubench.advise(file, "labeled", goal="review:60", out=tmp_path / "out")
        assert found.prior.source == "estimated"
        assert subject_of_run(Path(str(found.model))).prior is None
        sheet = filled(found, truth, tmp_path / "filled.csv")
        after = pubench.advise(file, "labeled", goal="review:60", out=tmp_path / "out", audited=sheet)
        subject = subject_of_run(Path(str(after.model)))
        assert (subject.prior, subject.sheet) == (None, sheet)


class TestCheckedRows:
    def test_checked_rows_replace_prior_and_promise_and_stay_on_the_ranking(self, answered: Any, checked: Any) -> None:
        after, truth = checked[0], answered[2]
        assert after.promise.by == "checked rows"
        assert after.prior.source == "given, narrowed by checked rows"
        assert after.prior.interval[0] <= truth.mean() <= after.prior.interval[1]
        assert after.scar.verdict == "not rejected"  # labels are SCAR
        assert after.scar.p_value is not None
        assert after.answer.endswith(", trained on the checked rows")
        rows = after.ranked().dropna(subset="checked")
        assert (truth[rows["row"]] == (rows["checked"] == 1)).all()
        assert len(rows) == 60
        found = int(truth[after.ranked()["row"][:60]].sum())
        assert after.promise.low <= found <= after.promise.high

    def test_checked_rows_outweigh_a_wrong_prior_and_say_so(
        self, answered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(steps, "OTHERS", ())
        sheet = sheet_of(answered, tmp_path)
        wrong = pubench.advise(answered[1], "labeled", prior=(0.8, 0.9), out=tmp_path / "out", audited=sheet)
        assert wrong.prior.source == "checked rows"
        assert any("the checked rows count" in line for line in wrong.warnings)

    def test_a_sheet_of_another_audit_is_refused(self, answered: Any, tmp_path: Path) -> None:
        advice, file, truth = answered
        sheet = pd.read_csv(filled(advice, truth, tmp_path / "filled.csv")).assign(audit="0123456789abcdef")
        sheet.to_csv(tmp_path / "other.csv", index=False)
        with pytest.raises(pubench.InvalidRequest, match="no design of audit 0123456789abcdef"):
            pubench.advise(file, "labeled", out=advice.folder, audited=tmp_path / "other.csv")


class TestWhatIsKept:
    def test_an_interrupted_command_goes_on_at_the_same_scores(
        self, answered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        advice, file, _ = answered
        made, trained = [], fits.trained

        def killed(plan: Any, *seconds: Any) -> Any:
            if len(made) == 3:
                raise KeyboardInterrupt
            made.append(plan.run_id)
            return trained(plan, *seconds)

        arguments: dict[str, Any] = {"prior": (0.3, 0.5), "goal": "review:60", "out": tmp_path / "out"}
        monkeypatch.setattr(fits, "trained", killed)
        with pytest.raises(KeyboardInterrupt):
            pubench.advise(file, "labeled", **arguments)
        assert sum(path.is_file() for path in (tmp_path / "out" / "fits").glob("*/scores.npz")) == 3
        made.clear()
        monkeypatch.setattr(fits, "trained", lambda plan, *more: made.append(plan.run_id) or trained(plan, *more))
        after = pubench.advise(file, "labeled", **arguments)
        assert len(made) == 4 - 3  # two parts, all rows, and the record that joins them
        np.testing.assert_array_equal(after.fits[0].scores, advice.fits[0].scores)

    def test_finished_fits_count_when_the_time_is_up(self, answered: Any, checked: Any) -> None:
        again = pubench.advise(answered[1], "labeled", **checked[1], time=0.001)
        assert [fit.reason for fit in again.fits] == [""] * (len(CHEAP) + 1)

    def test_half_a_file_of_a_fit_is_made_again(self, answered: Any, tmp_path: Path) -> None:
        _, file, _ = answered
        plan, labeled = fits.run_of(CHEAP[1], pubench.data(file, "labeled"), 2, tmp_path), of_clouds(file)[1]
        before = fits.fitted(CHEAP[1], plan, labeled)
        for stored in tmp_path.glob("*/scores.npz"):
            stored.write_bytes(stored.read_bytes()[:400])
        assert [fits.kept_record(one) for one in (plan, *parts_of(plan))] == [None] * 4
        after = fits.fitted(CHEAP[1], plan, labeled)
        assert (before.reason, after.reason) == ("", "")
        np.testing.assert_array_equal(after.scores, before.scores)

    def test_a_folder_of_another_table_is_refused(self, answered: Any, tmp_path: Path) -> None:
        advice, *_ = answered
        two_clouds(seed=1)[0].to_csv(tmp_path / "my.csv", index=False)
        with pytest.raises(pubench.InvalidRequest, match="another table"):
            pubench.advise(tmp_path / "my.csv", "labeled", out=advice.folder)

    @pytest.mark.parametrize(("name", "words"), [("mine.txt", "other files"), ("about.json", "about.json is damaged")])
    def test_a_folder_with_other_files_is_refused(self, answered: Any, tmp_path: Path, name: str, words: str) -> None:
        (tmp_path / name).write_text("keep")
        with pytest.raises(pubench.InvalidRequest, match=words):
            pubench.advise(answered[1], "labeled", out=tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [name]


class TestTheRuns:
    def test_every_candidate_is_a_run_of_its_own_with_its_settings(self, answered: Any, tmp_path: Path) -> None:
        table, every = pubench.data(answered[1], "labeled"), (DEFAULT, *OTHERS)
        plans = {one.name: fits.run_of(one, table, 5, tmp_path, 0.4) for one in every}
        assert len({fold.run_id for plan in plans.values() for fold in folds_of(plan)}) == 5 * len(every)
        for one in every:
            assert one.config.items() <= plans[one.name].spec.method.config.items()


class TestHonestScores:
    def test_no_row_is_scored_by_a_model_that_saw_it_or_its_copy(self, tmp_path: Path) -> None:
        """A forest scores an unlabeled row high if its labeled copy was trained on: noise then looks predictable."""
        rng = np.random.default_rng(0)
        x = rng.normal(size=(300, 4)).astype(np.float32)
        labeled = np.arange(300) < 60
        x[60:120] = x[:60]
        frame = pd.DataFrame(x, columns=list("abcd")).assign(labeled=labeled.astype(int))
        table = pubench.data(frame, "labeled")
        forest = Candidate("forest", "naive", {"base": "forest"})
        found = fits.fitted(forest, fits.run_of(forest, table, 5, tmp_path), labeled)
        copies, others = found.scores[60:120], found.scores[120:]
        assert abs(copies.mean() - others.mean()) < 0.1

    def test_unlabeled_rows_have_the_order_of_one_bag_of_all_rows(self, answered: Any, tmp_path: Path) -> None:
        plan = fits.run_of(TREES, pubench.data(answered[1], "labeled"), 2, tmp_path)
        found = fits.fitted(TREES, plan, of_clouds(answered[1])[1], out_of_bag=True)
        whole = fits.kept_record(parts_of(plan)[-1])
        assert whole is not None
        arrays = fits.read_scores(whole.folder)
        of_rows = fits.scores_of(arrays, whole.result.chosen.snapshot)["unlabeled"]
        assert (np.diff(of_rows[np.argsort(found.scores[arrays["unlabeled_rows"]])]) >= 0).all()

    def test_scores_of_parts_on_different_scales_become_comparable(self) -> None:
        rng = np.random.default_rng(0)
        fold, labeled, scores = rng.integers(5, size=600), rng.random(600) < 0.2, rng.normal(size=600)
        stretched = scores * (1 + fold) + 10 * fold
        np.testing.assert_allclose(fits.aligned(scores, fold, labeled, 0), fits.aligned(stretched, fold, labeled, 0))


class TestTime:
    def test_a_method_that_fails_is_left_out_with_its_reason(
        self, answered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trained = fits.trained

        def fails(plan: Any, *seconds: Any) -> Any:
            if plan.spec.method.key == CHEAP[1].method:
                raise RunFailed("the loss is not finite")
            return trained(plan, *seconds)

        monkeypatch.setattr(fits, "trained", fails)
        sheet = sheet_of(answered, tmp_path)
        out = copy_of(answered[0], tmp_path)
        found = pubench.advise(answered[1], "labeled", prior=0.4, out=out, audited=sheet)
        assert [(fit.candidate, fit.reason) for fit in found.fits if fit.reason] == [
            (CHEAP[1], "failed: the loss is not finite")
        ]

    def test_a_method_that_does_not_fit_into_the_time_is_left_out(self, answered: Any, tmp_path: Path) -> None:
        pubench.advise(answered[1], "labeled", out=tmp_path / "out")
        late = pubench.advise(answered[1], "labeled", out=tmp_path / "out", time=0.01)
        assert late.prior.source == "the time was up before an estimate"
        more: dict[str, Any] = {"out": tmp_path / "out", "audited": sheet_of(answered, tmp_path)}
        found = pubench.advise(answered[1], "labeled", **more, time=0.01)
        assert [fit.reason for fit in found.fits] == [
            "",
            *["the time was up after 0 of 3 fits; the same command with more time goes on"] * 2,
            "the time was up after 0 of 1 fits; the same command with more time goes on",
        ]

    def test_without_time_for_what_training_changed_the_answer_is_trained_all_the_same(
        self, answered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made, trained = [], fits.trained

        def once(plan: Any, *seconds: Any) -> Any:
            if made:
                raise RunFailed("", cause="timeout")
            made.append(plan.run_id)
            return trained(plan, *seconds)

        monkeypatch.setattr(fits, "trained", once)
        more: dict[str, Any] = {"prior": 0.4, "goal": "review:60", "audited": sheet_of(answered, tmp_path)}
        found = pubench.advise(answered[1], "labeled", out=copy_of(answered[0], tmp_path), **more)
        assert found.answer == "bagged trees, trained on the checked rows"
        assert "its AUC changes" not in found.choice
        assert found.promise.by == "checked rows"
        assert np.isfinite(found.ranked()["score"]).all()

    def test_no_fit_begins_that_would_take_longer_than_the_one_before(self, answered: Any, tmp_path: Path) -> None:
        plan, labeled = fits.run_of(CHEAP[1], pubench.data(answered[1], "labeled"), 5, tmp_path), of_clouds(answered[1])
        left = iter([60.0, 20.0, 39.0])  # the first fit takes 40 s
        found = fits.fitted(CHEAP[1], plan, labeled[1], left=lambda: next(left))
        assert found.reason == "the time was up after 1 of 6 fits; the same command with more time goes on"

    def test_a_page_and_a_sheet_are_there_before_labeled_rows_have_scores(
        self, answered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(RequestError, match="bagged trees: the time was up after 0 of 3 fits"):
            pubench.advise(answered[1], "labeled", out=tmp_path / "none", time=0.01)
        more: dict[str, Any] = {"prior": (0.3, 0.5), "goal": "review:60", "out": tmp_path / "out"}
        fitted = steps.fitted
        with monkeypatch.context() as late:
            late.setattr(steps, "fitted", lambda *a: fitted(*a[:4], lambda: 60.0 if a[-1] else -1.0, *a[5:]))
            found = pubench.advise(answered[1], "labeled", **more)
        assert "labeled rows are not scored" in found.warnings[-1]
        assert found.warnings[-1] in (tmp_path / "out" / "advice.html").read_text("utf-8").replace("&#39;", "'")
        assert "cannot be said yet: check the 60 rows of audit.csv" in found.headline
        assert len(found.ranked()) == found.look.unlabeled
        sheet = filled(found, answered[2], tmp_path / "filled.csv")
        assert "labeled rows have no score" in str(audit_answers(*read_sheet(sheet, folders=[found.folder])).scar)
        again = pubench.advise(answered[1], "labeled", **more)
        assert (again.sheet, again.promise) == (found.sheet, answered[0].promise)
        assert audit_answers(*read_sheet(sheet, folders=[found.folder])).scar.verdict == "not rejected"

    def test_a_fit_that_takes_longer_than_the_time_is_ended(
        self, answered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pubench_core.engine.execute.compute", staying()(lambda *a: time.sleep(60)))
        plan, labeled = fits.run_of(CHEAP[1], pubench.data(answered[1], "labeled"), 5, tmp_path), of_clouds(answered[1])
        began = time.perf_counter()
        found = fits.fitted(CHEAP[1], plan, labeled[1], left=lambda: 0.5)
        assert found.reason == "the time was up after 0 of 6 fits; the same command with more time goes on"
        assert time.perf_counter() - began < 30

    def test_a_silent_step_says_every_few_seconds_that_it_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fits, "BEAT", 0.05)
        lines: list[str] = []
        with fits.never_silent(lines.append) as say:
            say("reading my.csv")
            time.sleep(0.3)
            say("bagged trees: all rows")
            time.sleep(0.2)
        assert lines[:2] == ["reading my.csv", "reading my.csv: 0 s so far"]
        assert len(lines) > 4
        assert lines[-1] == "bagged trees: all rows: 0 s so far"
        said = len(lines)
        time.sleep(0.1)
        assert len(lines) == said


# -------------------------------------------------------------------- tables that cannot be answered, or only in part


def small(n: int = 300, labeled: int = 40, **columns: Any) -> pd.DataFrame:
    """Two features, of which the first rises with being positive; every second row is positive."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 2 == 0
    known = np.zeros(n, int)
    known[np.flatnonzero(truth)[:labeled]] = 1
    frame = pd.DataFrame({"a": rng.normal(truth * 2.0), "b": rng.normal(size=n), "labeled": known})
    order = rng.permutation(n)
    return frame.assign(**columns).iloc[order].reset_index(drop=True)


def changed(name: str, change: Callable[[pd.DataFrame], Any]) -> pd.DataFrame:
    frame = small()
    return frame.assign(**{name: change(frame)})


#: Table, arguments, and what the one line says; bad columns and priors: test_user_table.py, test_evaluation.py.
REFUSED: dict[str, tuple[Callable[[], pd.DataFrame], dict[str, Any], str]] = {
    "5 labeled": (lambda: small(labeled=5), {}, "5 labeled rows cannot train"),
    "1 labeled": (lambda: small(labeled=1), {}, "1 labeled row cannot train"),
    "20 unlabeled": (
        lambda: small(n=60, labeled=30).query("labeled == 1 or b > 0.4").head(45),
        {},
        "too few to rank",
    ),
    "prior of words": (small, {"prior": "many"}, "must be a number"),
    "prior below the labels": (small, {"prior": 0.05}, "prior=0.05: 40 of 300 rows are labeled positives"),
    "goal of words": (small, {"goal": "win"}, "must be rank, classify or review:200"),
    "a review of all rows": (small, {"goal": "review:260"}, "expected fewer rows than the"),
    "no time": (small, {"time": "soon"}, "must be a time such as"),
    "a sheet that is not there": (small, {"audited": "nowhere.csv"}, "nowhere.csv"),
}
#: Table, arguments, and a line that the answer has to have.
ANSWERED: dict[str, tuple[Callable[[], pd.DataFrame], dict[str, Any], str]] = {
    "12 labeled": (lambda: small(labeled=12), {}, "Use bagged trees"),
    "known negatives": (
        lambda: changed("labeled", lambda f: f["labeled"] - (np.arange(300) > 260) * (f["labeled"] == 0)),
        {},
        "known negatives for methods that learn from them",
    ),
    "a leak that is not exact": (
        lambda: changed("c", lambda f: f["labeled"] * 5 + np.arange(300) / 300),
        {},
        "'c' alone tells labeled rows",
    ),
    "a leak of gaps": (
        lambda: changed("c", lambda f: np.where((f["labeled"] == 1) | (f["b"] > 2), np.arange(300) / 300, np.nan)),
        {},
        "'c' alone tells labeled rows",
    ),
    "P again in U": (
        lambda: pd.concat([small(), small().query("labeled == 1").assign(labeled=0)], ignore_index=True),
        {},
        "in the table a second time",
    ),
    "no prior": (small, {}, "needs a prior"),
    "features of noise": (lambda: small().assign(a=np.random.default_rng(1).normal(size=300)), {"prior": 0.5}, "Use"),
    "labeled mostly": (lambda: small(labeled=149).query("labeled == 1 or b > -0.5"), {}, "right way round"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_table_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    make, arguments, said = REFUSED[name]
    make().to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(PubenchError) as error:
        pubench.advise(tmp_path / "bad.csv", "labeled", **{"out": tmp_path / "out", **arguments})
    assert error.value.exit_code == 2
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ANSWERED)
def test_a_doubtful_table_is_answered_with_a_warning(name: str, tmp_path: Path) -> None:
    make, arguments, said = ANSWERED[name]
    make().to_csv(tmp_path / "bad.csv", index=False)
    found = pubench.advise(tmp_path / "bad.csv", "labeled", **{"out": tmp_path / "out", **arguments})
    page = unescape((tmp_path / "out" / "advice.html").read_text("utf-8"))
    assert said in page
    assert len(found.ranked()) == found.look.unlabeled
    assert found.sheet is None or set(pd.read_csv(found.sheet)["row"]) <= set(found.ranked()["row"])
