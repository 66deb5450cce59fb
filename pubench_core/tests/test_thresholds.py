"""The decision at the prior: its threshold is a quantile of the scores of U, and reads no truth."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pubench_study.measure_names import metric_and_rule, shown_first

from pubench_core.engine.execute import execute
from pubench_core.engine.plan import Plan
from pubench_core.records.files import PREDICTIONS, RESULT, TRAINING_SCORES, read_scores
from pubench_core.records.scores import arrays_of, scores_name, scores_of_u, share_of_u, threshold_in
from pubench_core.results import RunResult

pytestmark = pytest.mark.usefixtures("one_thread")

NNPU = ("data.key=digits", "method.key=nnpu", "epochs=3", "batch_size=64")
TRAINING = "execution.artifacts=[scores,trace,training-scores]"
Ask = Callable[..., Plan]


@pytest.fixture
def ask(ask: Ask) -> Ask:
    return partial(ask, of=NNPU)


@pytest.fixture
def table(tmp_path: Path) -> tuple[str, ...]:
    """A user's own table: 300 rows, a third of them positive, a third of those labeled."""
    rng = np.random.default_rng(0)
    positive = np.arange(300) % 3 == 0
    frame = pd.DataFrame({name: rng.normal(size=300) + positive for name in "ab"})
    frame["s"] = (positive & (rng.random(300) < 0.3)).astype(int)
    frame.to_csv(tmp_path / "my.csv", index=False)
    own = (f"data.own.path={tmp_path / 'my.csv'}", "data.own.label_col=s")
    return (*own, "method.key=nnpu", "prior=0.333", "epochs=3")


@pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
def test_the_threshold_is_the_quantile_of_u(ask: Ask, scheme: str) -> None:
    """Training and validation rows of U, the share of positives in U that the method was given; by hand."""
    done = execute(ask(TRAINING, f"data.scheme={scheme}", "prior=0.3"))
    chosen, arrays, data = done.result.chosen, arrays_of(done.folder), done.result.data
    scores = np.concatenate([arrays[scores_name(part, chosen.snapshot)] for part in ("training", "validation")])
    labeled = np.concatenate([arrays["training_labeled"], arrays["validation_labeled"]])
    n, n_labeled = data.train.rows, data.train.labeled or 0
    share = 0.3 if scheme == "case-control" else (0.3 * n - n_labeled) / (n - n_labeled)
    of_u = scores if scheme == "case-control" else scores[~labeled]
    assert chosen.threshold == np.quantile(of_u, 1 - share)
    assert (of_u > chosen.threshold).sum() == pytest.approx(share * len(of_u), abs=1)


def test_measures_by_both_decisions_are_recorded(ask: Ask) -> None:
    done = execute(ask())
    arrays = read_scores(done.folder)
    for criterion in done.result.criteria.values():
        assert criterion.threshold is not None
        scores, truth = arrays[scores_name("test", criterion.snapshot)], arrays["test_labels"] == 1
        measured = criterion.measured("test")
        assert measured["accuracy"].value == ((scores > 0) == truth).mean()
        assert measured["accuracy-at-prior"].value == ((scores > criterion.threshold) == truth).mean()
        assert "pa" in criterion.at_prior["validation"]
        assert "pauc" not in criterion.at_prior["validation"], "it reads no decision"
    assert done.result.test["f1-at-prior"] is not None


def test_no_prior_no_threshold(ask: Ask) -> None:
    done = execute(ask("prior=unknown", of=("data.key=digits", "method.key=no-network")))
    assert all(one.threshold is None and not one.at_prior for one in done.result.criteria.values())


def older(done: RunResult) -> None:
    """The record as it was before decisions at the prior."""
    plain = json.loads((done.folder / RESULT).read_text())
    del plain["spec"]["decision"]
    for criterion in plain["criteria"].values():
        del criterion["threshold"], criterion["at_prior"]
    (done.folder / RESULT).write_text(json.dumps(plain))


def test_an_older_record_has_no_decision_at_the_prior(ask: Ask) -> None:
    done = execute(ask())
    older(done)
    again = execute(ask())
    assert again.reused
    assert (again.result.chosen.threshold, again.result.spec.decision.rule) == (None, "zero")
    assert "accuracy-at-prior" not in again.result.test
    assert "threshold" not in again.result.model_dump(mode="json")["criteria"]["pa"]
    lines: list[str] = []
    wanted = execute(ask("decision.rule=prior"), say=lines.append)
    assert not wanted.reused
    assert "the stored record has no decision at the prior" in lines[0]
    assert wanted.result.criteria == done.result.criteria


def test_predictions_have_both_decisions(ask: Ask, table: tuple[str, ...]) -> None:
    done = execute(ask(of=table))
    found, threshold = pd.read_csv(done.folder / PREDICTIONS), done.result.chosen.threshold
    assert not (done.folder / TRAINING_SCORES).exists()
    assert (found["decision"] == (found["score"] > 0)).all()
    assert (found["decision_at_prior"] == (found["score"] > threshold)).all()
    share = share_of_u(done.result.data, done.result.spec)
    assert found["decision_at_prior"].sum() == pytest.approx((share or 0) * len(found), abs=1)


def test_rows_of_a_drawn_test_part_are_not_of_u(ask: Ask, table: tuple[str, ...], tmp_path: Path) -> None:
    frame = pd.read_csv(tmp_path / "my.csv")
    frame["truth"] = (np.arange(len(frame)) % 3 == 0).astype(int)
    frame.to_csv(tmp_path / "my.csv", index=False)
    done = execute(ask("data.own.truth_col=truth", of=table))
    arrays, spec, state = arrays_of(done.folder), done.result.spec, done.result.chosen.snapshot
    scores, test = scores_of_u(arrays, state, spec), arrays["test_rows"]
    assert scores is not None
    assert len(scores) == len(arrays["unlabeled_rows"]) - np.isin(arrays["unlabeled_rows"], test).sum()
    assert done.result.chosen.threshold == threshold_in(arrays, state, done.result.data, spec)


def test_a_share_outside_0_and_1_is_moved_there(ask: Ask) -> None:
    """A prior below the labels, told to a method that reads none: no row of U is positive."""
    of = ("data.key=digits", "method.key=no-network", "data.scheme=single-training-set")
    done = execute(ask("mechanism.c=0.9", "prior=0.1", TRAINING, of=of))
    assert share_of_u(done.result.data, done.result.spec) == 0
    scores = scores_of_u(arrays_of(done.folder), done.result.chosen.snapshot, done.result.spec)
    assert scores is not None
    assert done.result.chosen.threshold == scores.max()


def test_names_of_measures() -> None:
    assert [metric_and_rule(name) for name in ("f1", "f1-at-prior")] == [("f1", "zero"), ("f1", "prior")]
    assert shown_first("f1", ["f1", "f1-at-prior"], "prior") == "f1-at-prior"
    assert shown_first("auc", ["auc"], "prior") == "auc", "what reads no decision has one value"
