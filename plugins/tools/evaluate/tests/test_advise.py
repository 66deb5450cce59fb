"""The command from a table to an answer: what is in the folder, what checked rows change, what is kept."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pubench_crossfit.plans import folds_of
from pubench_evaluate.advice import advise as steps
from pubench_evaluate.advice import fits, labeling
from pubench_evaluate.advice.facts import Promise
from pubench_evaluate.advice.labeling import Scar
from pubench_evaluate.advice.page import Advice
from pubench_evaluate.advice.portfolio import DEFAULT, PORTFOLIO, Candidate
from pubench_evaluate.advice.prior import Estimated, Prior

import pubench
from pubench_core.engine.plan import Plan
from pubench_core.errors import RequestError, RunFailed

#: Bagged trees, of which there are few, and two cheap methods.
TREES = replace(DEFAULT, config={"n_estimators": 20})
CHEAP = (TREES, *PORTFOLIO[1:3])


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


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "DEFAULT", TREES)
    monkeypatch.setattr(steps, "suited", lambda n, prior: list(CHEAP))
    monkeypatch.setattr(steps, "estimates", lambda *a, **k: Estimated(None, "nobody was asked", ()))
    monkeypatch.setattr(labeling, "SHEETS", 2)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Advice, Path, np.ndarray]:
    """An answer, its table, and the truth."""
    folder = tmp_path_factory.mktemp("advice")
    frame, truth = two_clouds()
    frame.to_csv(folder / "my.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "DEFAULT", TREES)
        patch.setattr(steps, "suited", lambda n, prior: list(CHEAP))
        found = pubench.advise(folder / "my.csv", "labeled", prior=(0.3, 0.5), goal="review:60", out=folder / "out")
    return found, folder / "my.csv", truth


def filled(advice: Advice, truth: np.ndarray, path: Path) -> Path:
    sheet = pd.read_csv(str(advice.sheet))
    sheet["answer"] = truth[sheet["row"]].astype(int)
    sheet.to_csv(path, index=False)
    return path


class TestAnAnswer:
    def test_bagged_trees_without_checked_rows(self, answered: Any) -> None:
        advice = answered[0]
        assert (advice.answer, advice.choice.by) == (DEFAULT.name, "default")
        assert advice.headline.startswith("Use bagged trees")

    def test_all_unlabeled_rows_are_ranked_and_named(self, answered: Any) -> None:
        advice, file, truth = answered
        ranked, frame = advice.ranked(), pd.read_csv(file)
        assert sorted(ranked["row"]) == np.flatnonzero(frame["labeled"] == 0).tolist()
        assert (ranked["customer"] == frame["customer"][ranked["row"]].to_numpy()).all()
        assert truth[ranked["row"][:60]].mean() > 0.8

    def test_the_promises_with_and_without_scar_hold_the_truth(self, answered: Any) -> None:
        advice, _, truth = answered
        found = int(truth[advice.ranked()["row"][:60]].sum())
        assert advice.promise.low <= found <= advice.promise.high
        assert advice.promise.if_scar is None or advice.promise.if_scar[0] - 2 <= found <= advice.promise.if_scar[1] + 2
        assert f"{advice.promise.low} to {advice.promise.high} are positive if the prior is 0.3 to 0.5 (given); " in (
            advice.headline
        )
        assert "which is not tested" in advice.headline or "nothing narrower" in advice.headline

    def test_decisions_at_both_ends_of_the_prior(self, answered: Any) -> None:
        advice = answered[0]
        ranked, look = advice.ranked(), advice.look
        for column, prior in (("decision_low", 0.3), ("decision", 0.4), ("decision_high", 0.5)):
            assert ranked[column].sum() == round(prior * look.rows - look.labeled)

    def test_the_page_is_one_file_that_asks_for_no_other(self, answered: Any) -> None:
        page = (answered[0].folder / "advice.html").read_text("utf-8")
        assert answered[0].headline.split(".")[0] in page
        assert re.findall(r'(?:src|href)="(?!data:)', page) == []
        assert "https://" not in page

    def test_json_says_what_python_says(self, answered: Any) -> None:
        stored = json.loads((answered[0].folder / "answer.json").read_text("utf-8"))
        assert stored == json.loads(json.dumps(answered[0].to_dict()))
        assert stored["version"] == 1
        assert {one["name"] for one in stored["methods"]} == {one.name for one in CHEAP}

    def test_the_sheet_has_names_and_features_and_neither_scores_nor_labels(self, answered: Any) -> None:
        sheet = pd.read_csv(answered[0].sheet)
        assert list(sheet.columns) == ["audit", "row", "customer", "a", "b", "c", "d", "answer"]
        assert len(sheet) == 60

    def test_predict_takes_the_model(self, answered: Any, tmp_path: Path) -> None:
        from pubench_predict.predict import predict

        advice, file, truth = answered
        with pytest.raises(RequestError, match=r"is no record; did you mean .*model\?"):
            predict(str(advice.folder), file, tmp_path / "new.csv", Path("results"), None)
        predict(str(advice.model), file, tmp_path / "new.csv", Path("results"), None)
        found = pd.read_csv(tmp_path / "new.csv")
        order = found.sort_values("row")["score"].to_numpy()
        assert order[truth].mean() > order[~truth].mean()

    def test_evaluate_and_audit_take_it_with_scores_of_all_rows_out_of_fold(self, answered: Any) -> None:
        from pubench_evaluate.cli.score_table import all_unlabeled_of_run, subject_of_run

        advice, _, _ = answered
        for read in (subject_of_run, all_unlabeled_of_run):
            subject = read(Path(str(advice.model)))
            assert subject.name.endswith("scores out of fold")
            assert (subject.labeled.sum(), (~subject.labeled).sum()) == (advice.look.labeled, advice.look.unlabeled)
            assert sorted(subject.rows[~subject.labeled]) == sorted(advice.ranked()["row"])


class TestAFirstAnswer:
    def test_a_first_answer_is_in_the_folder_before_anything_is_compared(
        self, tmp_path: Path, monkeypatch: Any
    ) -> None:
        two_clouds()[0].to_csv(tmp_path / "my.csv", index=False)
        seen: list[tuple[Advice, dict[str, Any], int]] = []

        def first(advice: Advice) -> None:
            stored = json.loads((advice.folder / "answer.json").read_text("utf-8"))
            seen.append((advice, stored, len(advice.ranked())))

        def asked(**more: Any) -> Advice:
            return pubench.advise(
                tmp_path / "my.csv", "labeled", prior=0.4, goal="review:60", out=tmp_path / "out", first=first, **more
            )

        last = asked()
        ((answer, stored, ranked),) = seen
        assert not answer.complete
        assert answer.headline.startswith("First answer: use bagged trees; nothing was compared with it yet. Of the 60")
        assert [one.name for one in answer.compared] == [DEFAULT.name]
        assert (stored["complete"], stored["model"], ranked) == (False, None, answer.look.unlabeled)
        assert Path(str(answer.sheet)).is_file()
        assert (answer.promise, answer.scar, answer.sheet) == (last.promise, last.scar, last.sheet)
        assert last.complete
        assert last.model is not None
        asked()
        assert len(seen) == 1  # a complete answer is not replaced by a first one

    @pytest.mark.parametrize(
        ("interval", "sentence"),
        [
            (None, "How many of the 60 highest of 400 unlabeled rows are positive cannot be said: the share of"),
            ((0.1, 0.2), "if the prior is 0.1 to 0.2 (estimated as if labeled rows were a random draw); 7 to 30 if"),
        ],
    )
    def test_the_headline_says_what_its_range_assumes(
        self, answered: Any, interval: tuple[float, float] | None, sentence: str
    ) -> None:
        advice = replace(
            answered[0],
            look=replace(answered[0].look, rows=answered[0].look.labeled + 400),
            prior=Prior(interval, "estimated", True),
            promise=Promise(60, 2, 60, "the prior", (7, 30)),
            scar=Scar("untested", None, "no row was checked", (), 60),
        )
        assert sentence in advice.headline

    def test_without_others_to_compare_there_is_one_answer(self, tmp_path: Path, monkeypatch: Any) -> None:
        monkeypatch.setattr(steps, "suited", lambda n, prior: [TREES])
        two_clouds()[0].to_csv(tmp_path / "my.csv", index=False)
        seen: list[Advice] = []
        last = pubench.advise(tmp_path / "my.csv", "labeled", prior=0.4, out=tmp_path / "out", first=seen.append)
        assert seen == []
        assert last.complete


class TestCheckedRows:
    def test_checked_rows_replace_prior_and_promise_and_stay_on_the_ranking(
        self, answered: Any, tmp_path: Path
    ) -> None:
        advice, file, truth = answered
        sheet = filled(advice, truth, tmp_path / "filled.csv")
        after = pubench.advise(file, "labeled", prior=(0.3, 0.5), goal="review:60", out=advice.folder, audited=sheet)
        assert after.promise.by == "checked rows"
        assert after.prior.source == "given, narrowed by checked rows"
        assert after.prior.interval[0] <= truth.mean() <= after.prior.interval[1]
        assert after.scar.status == "not rejected"  # labels are SCAR
        assert after.scar.p_value is not None
        assert after.before is not None
        assert after.before["promise"]["high"] == advice.promise.high
        checked = after.ranked().dropna(subset="checked")
        assert (truth[checked["row"]] == (checked["checked"] == 1)).all()
        assert len(checked) == 60
        found = int(truth[after.ranked()["row"][:60]].sum())
        assert after.promise.low <= found <= after.promise.high

    def test_checked_rows_outweigh_a_wrong_prior_and_say_so(self, answered: Any, tmp_path: Path) -> None:
        advice, file, truth = answered
        sheet = filled(advice, truth, tmp_path / "filled.csv")
        wrong = pubench.advise(file, "labeled", prior=(0.8, 0.9), goal="review:60", out=advice.folder, audited=sheet)
        assert wrong.prior.source == "checked rows"
        assert any("the checked rows count" in line for line in wrong.warnings)

    def test_a_sheet_of_another_audit_is_refused(self, answered: Any, tmp_path: Path) -> None:
        advice, file, truth = answered
        sheet = pd.read_csv(filled(advice, truth, tmp_path / "filled.csv")).assign(audit="0123456789abcdef")
        sheet.to_csv(tmp_path / "other.csv", index=False)
        with pytest.raises(pubench.InvalidRequest, match="no design of audit 0123456789abcdef"):
            pubench.advise(file, "labeled", out=advice.folder, audited=tmp_path / "other.csv")


class TestWhatIsKept:
    def test_finished_fits_are_not_made_again(self, answered: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        advice, file, _ = answered
        monkeypatch.setattr(fits, "trained", lambda plan: pytest.fail("a finished fit was made again"))
        again = pubench.advise(file, "labeled", prior=(0.3, 0.5), goal="review:60", out=advice.folder)
        assert [one.pauc for one in again.compared] == [one.pauc for one in advice.compared]

    def test_an_interrupted_command_goes_on_at_the_same_scores(
        self, answered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        advice, file, _ = answered
        made, trained = [], fits.trained

        def killed(plan: Any) -> Any:
            if len(made) == 3:
                raise KeyboardInterrupt
            made.append(plan.run_id)
            return trained(plan)

        arguments: dict[str, Any] = {"prior": (0.3, 0.5), "goal": "review:60", "out": tmp_path / "out"}
        monkeypatch.setattr(fits, "trained", killed)
        with pytest.raises(KeyboardInterrupt):
            pubench.advise(file, "labeled", **arguments)
        assert sum(path.is_file() for path in (tmp_path / "out" / "fits").glob("*/scores.npz")) == 3
        made.clear()
        monkeypatch.setattr(fits, "trained", lambda plan: made.append(plan.run_id) or trained(plan))
        after = pubench.advise(file, "labeled", **arguments)
        assert len(made) == 5 * len(CHEAP) - 3
        assert [one.pauc for one in after.compared] == [one.pauc for one in advice.compared]

    def test_finished_fits_count_when_the_time_is_up(self, answered: Any) -> None:
        advice, file, _ = answered
        again = pubench.advise(file, "labeled", prior=(0.3, 0.5), goal="review:60", out=advice.folder, time=0.001)
        assert [one.name for one in again.compared] == [one.name for one in advice.compared]

    def test_half_a_file_of_a_fit_is_made_again(self, answered: Any, tmp_path: Path) -> None:
        _, file, _ = answered
        rows = fits.FitRows(*of_clouds(file), pubench.data(file, "labeled"))
        before = fits.out_of_fold(CHEAP[1], rows, tmp_path)
        half = next(tmp_path.glob("*/scores.npz"))
        half.write_bytes(half.read_bytes()[:400])
        assert sum(isinstance(one, Plan) for one in fits.kept_folds(fits.run_of(CHEAP[1], rows, tmp_path, None))) == 1
        after = fits.out_of_fold(CHEAP[1], rows, tmp_path)
        assert before is not None
        assert after is not None
        np.testing.assert_array_equal(after.scores, before.scores)

    def test_a_folder_of_another_table_is_refused(self, answered: Any, tmp_path: Path) -> None:
        advice, *_ = answered
        two_clouds(seed=1)[0].to_csv(tmp_path / "my.csv", index=False)
        with pytest.raises(pubench.InvalidRequest, match="another table"):
            pubench.advise(tmp_path / "my.csv", "labeled", out=advice.folder)

    def test_a_folder_with_other_files_is_refused(self, answered: Any, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("keep")
        with pytest.raises(pubench.InvalidRequest, match="other files"):
            pubench.advise(answered[1], "labeled", out=tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


class TestTheRuns:
    def test_every_candidate_is_a_run_of_its_own_with_its_settings(self, answered: Any, tmp_path: Path) -> None:
        rows = fits.FitRows(*of_clouds(answered[1]), pubench.data(answered[1], "labeled"))
        plans = {one.name: fits.run_of(one, rows, tmp_path, 0.4) for one in PORTFOLIO}
        assert len({fold.run_id for plan in plans.values() for fold in folds_of(plan)}) == 5 * len(PORTFOLIO)
        for one in PORTFOLIO:
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
        found = fits.out_of_fold(forest, fits.FitRows(x, labeled, table), tmp_path)
        assert found is not None
        copies, others = found.scores[60:120], found.scores[120:]
        assert abs(copies.mean() - others.mean()) < 0.1

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

        def fails(plan: Any) -> Any:
            if plan.spec.method.key == CHEAP[1].method:
                raise RunFailed("the loss is not finite")
            return trained(plan)

        monkeypatch.setattr(fits, "trained", fails)
        found = pubench.advise(answered[1], "labeled", prior=0.4, out=tmp_path / "out")
        assert [(one.candidate, one.reason) for one in found.not_fitted] == [
            (CHEAP[1], "failed: the loss is not finite")
        ]

    def test_what_does_not_fit_into_the_time_is_left_out_and_bagged_trees_are_not(
        self, answered: Any, tmp_path: Path
    ) -> None:
        lines: list[str] = []
        early: list[Advice] = []
        found = pubench.advise(
            answered[1], "labeled", out=tmp_path / "out", time="1s", progress=lines.append, first=early.append
        )
        assert early == []
        assert [one.name for one in found.compared] == [DEFAULT.name]
        assert len(found.not_fitted) == len(CHEAP) - 1
        assert lines[0].startswith("reading ")
        assert "all 3 methods in about" in lines[1]
        assert lines[1].endswith("and no other within 1 s")
