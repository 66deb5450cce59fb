"""Cross-fitting: every row of P and U is scored by a model that did not see it, and one record joins the folds."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pubench_models.saved_model import models_in
from pubench_study.folds import folds_of, refit_of
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer

import pubench
from pubench_cli.yaml_layers import assigned
from pubench_core.data.generator import Part, Split, cut
from pubench_core.engine import execute as execution
from pubench_core.engine.build import build_problem
from pubench_core.engine.execute import execute
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RequestError, RunFailed
from pubench_core.plugins import registry
from pubench_core.plugins.registry import GROUP, Registry
from pubench_core.records.files import MODEL, PREDICTIONS, RESULT, fold_model, read_scores, state_model
from pubench_core.records.record import Record
from pubench_core.records.scores import scores_name
from pubench_core.records.store import RecordStore

pytestmark = pytest.mark.usefixtures("one_thread", "forked_trainings")

NNPU = ("data.key=breast-cancer", "method.key=nnpu", "epochs=4", "batch_size=64", "execution.threads=1")
DOUBLES = ("data.key=breast-cancer", "execution.threads=1")
Ask = Callable[..., Plan]
Stored = Callable[[str], Record]
INSTALLED = Registry([*entry_points(group=GROUP)])


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    doubles = [EntryPoint(name, f"pubench_{name}", GROUP) for name in ("doubles", "memorizing")]
    plugins = Registry([*entry_points(group=GROUP), *doubles])

    def ask(*sets: str, of: tuple[str, ...] = NNPU, folds: int | None = 3) -> Plan:
        cut_into = () if folds is None else (f"validation.folds={folds}",)
        return resolve([assigned(*of, f"execution.results={tmp_path / 'results'}", *cut_into, *sets)], plugins)

    return ask


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    def record_of(run_id: str) -> Record:
        found = RecordStore(tmp_path / "results").find(run_id)
        assert found is not None
        return found

    return record_of


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """``failing(2)``: from now on, training of that fold fails."""
    compute = execution.compute

    def replace(fold: int) -> None:
        def fails(plan: Plan, *given: Any) -> Any:
            if plan.spec.validation.fold == fold:
                raise RunFailed("the loss is nan", cause="non-finite")
            return compute(plan, *given)

        monkeypatch.setattr(execution, "compute", fails)

    return replace


@pytest.fixture
def table(tmp_path: Path) -> tuple[str, ...]:
    """A user's own table of 240 rows, with true labels in a column of their own."""
    rng = np.random.default_rng(0)
    positive = np.arange(240) % 3 == 0
    frame = pd.DataFrame({name: rng.normal(size=240) + 2 * positive for name in "ab"})
    frame["s"] = (positive & (rng.random(240) < 0.4)).astype(int)
    frame["truth"] = positive.astype(int)
    frame.to_csv(tmp_path / "my.csv", index=False)
    own = (f"data.own.path={tmp_path / 'my.csv'}", "data.own.label_col=s", "data.own.drop=truth")
    return (*own, "method.key=nnpu", "prior=0.333", "epochs=3", "execution.threads=1")


# -------------------------------------------------------------------- the cut


@pytest.mark.parametrize("folds", [2, 3, 5])
def test_parts_are_disjoint_and_hold_every_row_once(folds: int) -> None:
    rows, labeled = np.arange(100, 203), np.arange(103) % 9 == 0
    whole = Split(Part(rows, labeled), Part(rows[:0], labeled[:0]), rows[:0])
    parts = [cut(whole, folds, number, seed=2) for number in range(1, folds + 1)]
    assert sorted(np.concatenate([part.validation.rows for part in parts])) == list(rows)
    for part in parts:
        assert not set(part.validation.rows) & set(part.train.rows)
        assert set(part.validation.rows) | set(part.train.rows) == set(rows)
        assert labeled[part.validation.rows - 100].tolist() == part.validation.labeled.tolist()
    for counts in ([p.validation.n_labeled for p in parts], [len(p.validation.rows) for p in parts]):
        assert max(counts) - min(counts) <= 2


def test_a_labeled_row_of_a_table_and_its_copy_are_held_out_together(ask: Ask, table: tuple[str, ...]) -> None:
    path = Path(table[0].split("=")[1])
    frame = pd.read_csv(path)
    again = frame[frame["s"] == 1].assign(s=0)
    pd.concat([frame, again], ignore_index=True).to_csv(path, index=False)
    done = execute(ask(of=table))
    arrays = read_scores(done.folder)
    fold = dict(zip(arrays["validation_rows"].tolist(), arrays["validation_fold"].tolist(), strict=True))
    assert all(fold[row] == fold[len(frame) + k] for k, row in enumerate(again.index))


def test_a_cut_needs_a_labeled_row_for_each_fold(ask: Ask) -> None:
    message = r"5 folds need at least 5 different labeled rows, got 1; lower validation.folds"
    with pytest.raises(RequestError, match=message):
        execute(ask("mechanism.c=0.01", folds=5))


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (("validation.folds=1",), "folds"),
        (("validation.folds=3", "validation.fold=4"), "validation.fold must be at most validation.folds, got 4 of 3"),
        (("validation.fold=1",), "validation.fold must be at most validation.folds, got 1 of None"),
        (("validation.folds=4", "validation.fraction=0.1"), "4 folds are a share of 0.25 each; leave out"),
    ],
)
def test_what_contradicts_itself_is_refused(ask: Ask, sets: tuple[str, ...], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        ask(*sets, folds=None)


# -------------------------------------------------------------------- honesty


@pytest.mark.parametrize("scheme", ["case-control", "single-training-set", "one-sample", "two-sample"])
def test_no_row_is_scored_by_a_model_that_saw_it(ask: Ask, scheme: str) -> None:
    """A method that memorizes its rows scores each of them 1. Out of fold, no row of P or U has that score."""
    of = (*DOUBLES, "method.key=memorizes", f"data.scheme={scheme}", "prior=0.4")
    done = execute(ask(of=of, folds=5))
    arrays, state = read_scores(done.folder), done.result.chosen.snapshot
    assert (arrays[scores_name("validation", state)] < 0).all()
    assert sorted(np.unique(arrays["validation_fold"])) == [1, 2, 3, 4, 5]
    one = execute(ask("execution.artifacts=[scores,trace,training-scores]", of=of, folds=None))
    training = read_scores(one.folder, "training-scores.npz")
    assert (training[scores_name("training", one.result.chosen.snapshot)] == 1).all()


def test_nothing_of_a_held_out_fold_reaches_its_model(ask: Ask) -> None:
    """The training rows and the validation rows of a fold are those of the cut, preprocessing included."""
    whole = build_problem(ask())
    folds = [build_problem(one) for one in folds_of(ask())]
    rows = whole.split.train.rows
    assert sorted(np.concatenate([one.split.validation.rows for one in folds])) == sorted(rows)
    for one in folds:
        assert len(one.split.train.rows) + len(one.split.validation.rows) == len(rows)
        assert np.array_equal(one.split.test_rows, whole.split.test_rows)
        mean = one.data.x[one.split.train.rows].mean(axis=0)
        assert np.allclose(one.preprocessing.arrays()["mean"], mean, rtol=1e-4)


# -------------------------------------------------------------------- the joint record


def test_a_criterion_is_the_mean_over_the_folds_epoch_by_epoch(ask: Ask, stored: Stored) -> None:
    done = execute(ask())
    traces = [pd.read_csv(stored(run_id).folder / "trace.csv") for run_id in done.result.folds]
    for name in ("pauc", "oa", "f1"):
        means = {epoch: statistics.fmean(t[f"criterion-{name}"][epoch - 1] for t in traces) for epoch in (1, 2, 3, 4)}
        chosen = done.result.criteria[name]
        assert chosen.value == pytest.approx(max(means.values()))
        assert means[chosen.epoch or 0] == chosen.value


def test_out_of_fold_scores_and_mean_test_scores_are_those_of_the_folds(ask: Ask, stored: Stored) -> None:
    done = execute(ask())
    arrays, chosen = read_scores(done.folder), done.result.criteria["pauc"]
    of_test, place = [], {row: k for k, row in enumerate(arrays["validation_rows"])}
    for number, run_id in enumerate(done.result.folds, start=1):
        mine, state = read_scores(stored(run_id).folder), f"epoch-{chosen.epoch}"
        at = [place[row] for row in mine["validation_rows"]]
        assert (arrays["validation_fold"][at] == number).all()
        assert np.array_equal(
            arrays[scores_name("validation", chosen.snapshot)][at], mine[scores_name("validation", state)]
        )
        of_test.append(mine[scores_name("test", state)])
    assert np.array_equal(arrays[scores_name("test", chosen.snapshot)], np.mean(of_test, axis=0))
    threshold = np.quantile(arrays[scores_name("validation", chosen.snapshot)], 1 - (done.result.data.prior.given or 0))
    assert chosen.threshold == threshold
    assert done.result.data.validation == done.result.data.validation.model_copy(
        update={"labeled": done.result.data.train.labeled, "rows": done.result.data.train.rows}
    )


def test_a_run_without_folds_is_the_run_that_it_was(ask: Ask) -> None:
    assert "fold" not in json.dumps(ask(folds=None).spec.identity())
    ids = [ask(folds=None).run_id, ask().run_id, *(one.run_id for one in folds_of(ask())), ask(folds=4).run_id]
    assert len(set(ids)) == 6


def test_every_fold_is_reused_and_the_joint_record_answers_at_once(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    first = execute(ask())
    trained: list[str] = []
    compute = execution.compute

    def counted(plan: Plan, *given: Any) -> Any:
        trained.append(plan.run_id)
        return compute(plan, *given)

    monkeypatch.setattr(execution, "compute", counted)
    again = execute(ask("selection.criterion=last"))
    assert (again.reused, trained) == (True, [])
    assert again.result.criteria == first.result.criteria
    (first.folder / RESULT).unlink()
    joined = execute(ask())
    assert trained == []
    assert joined.result.criteria == first.result.criteria


def test_a_fold_that_fails_fails_the_run_and_those_before_it_are_kept(
    ask: Ask, stored: Stored, failing: Callable[[int], None]
) -> None:
    failing(2)
    with pytest.raises(RunFailed, match=r"fold 2 of 3: .*the loss is nan"):
        execute(ask())
    first, *_ = folds_of(ask())
    assert stored(first.run_id).result.data.validation.rows > 0


def test_patience_ends_no_fold_before_the_others(ask: Ask) -> None:
    plan = ask("method.preset=wang", of=(*NNPU[:2], "execution.threads=1"))
    assert plan.spec.method.config["patience"] is None
    assert ask("method.config.patience=3").spec.method.config["patience"] == 3


# -------------------------------------------------------------------- a user's own table


def test_unlabeled_rows_of_a_table_have_scores_out_of_fold(ask: Ask, table: tuple[str, ...]) -> None:
    """In the order of their fold; every fold has its share of the highest, whatever the scale of its model."""
    done = execute(ask("execution.save_model=true", of=table))
    arrays, state = read_scores(done.folder), done.result.chosen.snapshot
    scores, unlabeled = arrays[scores_name("validation", state)], arrays[scores_name("unlabeled", state)]
    listed = dict(zip(arrays["unlabeled_rows"].tolist(), unlabeled.tolist(), strict=True))
    highest = np.partition(unlabeled, -60)[-60]
    for number in (1, 2, 3):
        held = (arrays["validation_fold"] == number) & ~arrays["validation_labeled"]
        of_list = np.array([listed[row] for row in arrays["validation_rows"][held].tolist()])
        assert spearmanr(of_list, scores[held]).statistic == pytest.approx(1, abs=1e-3)
        assert abs((of_list >= highest).sum() / 60 - held.sum() / len(unlabeled)) < 0.02
    predicted = pd.read_csv(done.folder / PREDICTIONS)
    assert np.allclose(predicted["score"], unlabeled)
    assert done.result.labeled == arrays["validation_labeled"].sum() == pd.read_csv(table[0].split("=")[1])["s"].sum()
    assert not (done.folder / MODEL).exists()
    assert all((done.folder / fold_model(number)).exists() for number in (1, 2, 3))


def test_the_mean_of_the_models_scores_new_rows(ask: Ask, table: tuple[str, ...]) -> None:
    """Each model gives the rows that it did not see the scores of the record."""
    plan = ask("execution.save_model=true", of=table)
    done = execute(plan)
    models = models_in(done.folder, INSTALLED)
    arrays, state = read_scores(done.folder), done.result.chosen.snapshot
    assert plan.data.table is not None
    for number, model in enumerate(models, start=1):
        held = arrays["validation_fold"] == number
        found = model.scores(plan.data.table.x[arrays["validation_rows"][held]])
        assert np.allclose(found, arrays[scores_name("validation", state)][held], atol=1e-4)


def test_a_drawn_test_part_is_scored_by_all_models(ask: Ask, table: tuple[str, ...]) -> None:
    of = tuple("data.own.truth_col=truth" if part == "data.own.drop=truth" else part for part in table)
    done = execute(ask(of=of))
    arrays, state = read_scores(done.folder), done.result.chosen.snapshot
    assert not set(arrays["test_rows"]) & set(arrays["validation_rows"])
    of_test = dict(zip(arrays["test_rows"].tolist(), arrays[scores_name("test", state)].tolist(), strict=True))
    found = dict(zip(arrays["unlabeled_rows"].tolist(), arrays[scores_name("unlabeled", state)].tolist(), strict=True))
    both = [(found[row], score) for row, score in of_test.items() if row in found]
    assert len(both) > 10
    assert spearmanr(both).statistic == pytest.approx(1, abs=1e-3)


# -------------------------------------------------------------------- one more model of all rows


def test_a_model_of_all_rows_scores_new_ones_in_the_epoch_of_the_folds(
    ask: Ask, table: tuple[str, ...], stored: Stored
) -> None:
    mean = execute(ask("execution.save_model=true", of=table))
    plan = ask("execution.save_model=true", "validation.refit=all", of=table)
    trained: list[str] = []
    done = execute(plan, say=trained.append)
    assert sum("run again" in line or "same run" in line for line in trained) >= 3  # the folds are those of the mean
    assert done.result.folds == mean.result.folds
    assert done.result.run_id != mean.result.run_id
    chosen = done.result.chosen
    assert chosen.epoch == mean.result.chosen.epoch
    assert (chosen.value, chosen.threshold) == (mean.result.chosen.value, mean.result.chosen.threshold)
    (model,) = models_in(done.folder, INSTALLED)
    refit = refit_of(plan)
    assert refit is not None
    record = stored(refit.run_id)
    assert record.result.data.train.rows == done.result.data.train.rows == 240
    assert record.result.data.validation.rows == 0
    kept = (record.folder / state_model(f"epoch-{chosen.epoch}")).read_bytes()
    assert (done.folder / MODEL).read_bytes() == kept
    assert plan.data.table is not None
    before = np.mean([one.scores(plan.data.table.x) for one in models_in(mean.folder, INSTALLED)], 0)
    assert not np.allclose(model.scores(plan.data.table.x), before)
    assert pubench.verify(done.folder.parent).ok


def test_test_scores_are_those_of_the_model_of_all_rows(ask: Ask, stored: Stored) -> None:
    plan = ask("validation.refit=all")
    done, refit = execute(plan), refit_of(plan)
    assert refit is not None
    assert done.result.refit == refit.run_id
    chosen = done.result.criteria["pauc"]
    mine, theirs = read_scores(done.folder), read_scores(stored(refit.run_id).folder)
    theirs_chosen = theirs[scores_name("test", f"epoch-{chosen.epoch}")]
    assert np.array_equal(mine[scores_name("test", chosen.snapshot)], theirs_chosen)
    assert execute(plan).reused


def test_it_is_refused_without_folds_and_named_if_it_fails(ask: Ask, failing: Callable[[int], None]) -> None:
    with pytest.raises(RequestError, match=r"validation.refit all needs validation.folds"):
        ask("validation.refit=all", folds=None)
    failing(0)
    with pytest.raises(RunFailed, match=r"model of all rows: .*the loss is nan"):
        execute(ask("validation.refit=all"))


# -------------------------------------------------------------------- from Python


def test_a_run_of_python_has_folds(tmp_path: Path) -> None:
    given: dict[str, Any] = {"c": 0.3, "config": {"epochs": 20}, "tracking": False, "results": tmp_path, "threads": 1}
    done = pubench.run("upu", "breast-cancer", folds=3, **given)
    assert len(done.result.folds) == 3
    assert [run.run_id for run in pubench.load_results(tmp_path)] == [done.run_id]


@pytest.fixture
def tumors() -> tuple[np.ndarray, np.ndarray]:
    """Rows, and which are labeled: every third malignant one."""
    x, y = load_breast_cancer(return_X_y=True)
    return x, (y == 0) & (np.arange(len(y)) % 3 == 0)


def test_an_estimator_has_folds(tumors: tuple[np.ndarray, np.ndarray]) -> None:
    x, labeled = tumors
    model = pubench.PUClassifier("upu", prior=0.37, cv=3, decision="prior", epochs=5, threads=1).fit(x, labeled)
    scores = model.out_of_fold_scores_
    assert scores is not None
    assert np.isfinite(scores).all()
    assert model.threshold_ == model.result_.chosen.threshold
    assert (scores[~labeled] > model.threshold_).mean() == pytest.approx(
        (0.37 - labeled.mean()) / (~labeled).mean(), 0.1
    )
    assert np.corrcoef(scores, model.decision_function(x))[0, 1] > 0.8


def test_an_estimator_scores_new_rows_with_one_model_of_all_rows(tumors: tuple[np.ndarray, np.ndarray]) -> None:
    x, labeled = tumors
    of = {"prior": 0.37, "cv": 3, "epochs": 4, "threads": 1}
    mean, one = (pubench.PUClassifier("upu", refit=refit, **of).fit(x, labeled) for refit in ("mean", "all"))
    assert (len(mean._saved()), len(one._saved())) == (3, 1)
    assert np.array_equal(mean.out_of_fold_scores_, one.out_of_fold_scores_)
    alone = pubench.PUClassifier(
        "upu", prior=0.37, validation=0.0, criterion="last", epochs=one.n_iter_, threads=1
    ).fit(x, labeled)
    assert np.allclose(one.decision_function(x), alone.decision_function(x), atol=1e-5)


def test_a_method_that_scores_out_of_bag_says_what_folds_add(ask: Ask) -> None:
    of = (*DOUBLES, "method.key=pu-bagging", "method.config.n_estimators=5")
    lines: list[str] = []
    execute(ask(of=of), say=lines.append)
    assert "pu-bagging scores U out of bag while it trains; folds add held-out scores of labeled rows" in lines


# -------------------------------------------------------------------- without this package


def test_without_it_the_request_is_refused_with_what_installs_it(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "tools", lambda: Registry([]))
    monkeypatch.setattr(registry, "version", lambda name: (_ for _ in ()).throw(PackageNotFoundError(name)))
    with pytest.raises(RequestError, match=r"validation.folds is not installed: pip install pubench-study"):
        ask()
    assert ask(folds=None).joined_by is None
