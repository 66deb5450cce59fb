"""What a class-prior estimator says reaches the record: its share, interval, diagnostics, and the seconds it took.

This module is also the plugin that offers the estimators.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pubench_priors_standard.held_out import ReadsScores

from pubench_core import PriorInfo, hookimpl
from pubench_core.errors import RequestError, RunFailed
from pubench_core.prior import PriorEstimate
from pubench_core.records.files import RESULT
from pubench_core.records.record import read_record
from pubench_core.results import Failure, RunResult

pytestmark = pytest.mark.usefixtures("one_thread")

PAUSE = 0.02
Array = npt.NDArray[Any]


class Talkative(ReadsScores):
    """Says everything that an estimator can say, in NumPy as well, and how it was called."""

    def estimate(self, positive: Array, unlabeled: Array, rng: np.random.Generator) -> PriorEstimate:
        time.sleep(PAUSE)
        diagnostics = {
            "positive": len(positive),
            "unlabeled": len(unlabeled),
            "dimensions": positive.ndim,
            "draw": float(rng.random()),
            "curve": np.array([0.5, np.nan]),
            "n": np.int64(3),
            "best": np.float32(0.5),
            "by step": {"first": None},
        }
        return PriorEstimate(np.float64(0.3), interval=(np.float64(0.2), np.float64(0.45)), diagnostics=diagnostics)


class Silent(ReadsScores):
    """A share and nothing else."""

    def estimate(self, positive: Array, unlabeled: Array, rng: np.random.Generator) -> PriorEstimate:
        return PriorEstimate(0.25)


class Certain(ReadsScores):
    """Everything is positive."""

    def estimate(self, positive: Array, unlabeled: Array, rng: np.random.Generator) -> PriorEstimate:
        return PriorEstimate(1.0)


class Broken(ReadsScores):
    def estimate(self, positive: Array, unlabeled: Array, rng: np.random.Generator) -> PriorEstimate:
        raise ZeroDivisionError("division by zero")


@hookimpl
def pubench_priors() -> list[PriorInfo]:
    def info(kind: type, key: str = "", inputs: Any = "scores") -> PriorInfo:
        key = key or kind.__name__.lower()
        return PriorInfo(key=key, name=key, summary="s", load=f"{__name__}:{kind.__name__}", inputs=inputs)

    return [
        info(Talkative),
        info(Talkative, "talkative-features", "features"),
        info(Silent),
        info(Certain),
        info(Broken),
    ]


Do = Callable[..., RunResult]


def test_share_interval_diagnostics_and_seconds_are_in_the_record(do: Do) -> None:
    outcome = do("prior=estimated:talkative")
    prior, facts = outcome.result.data.prior, outcome.result.data.train
    estimate = prior.estimate
    assert estimate is not None
    assert (estimate.estimator, estimate.share, estimate.interval) == ("talkative", 0.3, (0.2, 0.45))
    assert estimate.diagnostics["positive"] == facts.labeled
    assert estimate.diagnostics["unlabeled"] == facts.unlabeled
    plain = {"curve": [0.5, None], "n": 3, "best": 0.5, "by step": {"first": None}}
    assert estimate.diagnostics.items() >= plain.items()
    assert estimate.seconds >= PAUSE
    assert (prior.given, prior.given != prior.true) == (0.3, True)
    written = json.loads((outcome.folder / RESULT).read_text())["data"]["prior"]
    assert written["given"] == 0.3
    assert written["true"] == prior.true
    assert set(written["estimate"]) == {"estimator", "share", "interval", "true_share", "diagnostics", "seconds"}
    assert read_record(outcome.folder).result.data.prior == prior


def test_an_estimator_reads_scores_or_features_as_it_says(do: Do) -> None:
    """Held-out scores are one number per row; features are rows."""
    for key, dimensions in (("talkative", 1), ("talkative-features", 2)):
        estimate = do(f"prior=estimated:{key}").result.data.prior.estimate
        assert estimate is not None
        assert estimate.diagnostics["dimensions"] == dimensions


def test_what_an_estimator_does_not_say_is_not_in_the_record(do: Do) -> None:
    outcome = do("prior=estimated:silent")
    estimate = outcome.result.data.prior.estimate
    assert estimate is not None
    assert (estimate.interval, estimate.diagnostics) == (None, {})
    written = json.loads((outcome.folder / RESULT).read_text())["data"]["prior"]["estimate"]
    assert set(written) == {"estimator", "share", "true_share", "seconds"}


@pytest.mark.parametrize("prior", ["true", "0.4", "scaled:1.1"])
def test_a_prior_that_is_not_estimated_has_no_estimate(do: Do, prior: str) -> None:
    found = do(f"prior={prior}").result.data.prior
    assert found.estimate is None
    assert found.true is not None
    expected = {"true": found.true, "0.4": 0.4, "scaled:1.1": 1.1 * found.true}[prior]
    assert found.given == pytest.approx(expected, rel=1e-15)


def test_in_a_single_training_set_the_share_is_of_u_the_prior_of_the_pool(do: Do) -> None:
    result = do("prior=estimated:silent", "data.scheme=single-training-set").result
    estimate, facts = result.data.prior.estimate, result.data.train
    assert estimate is not None
    assert facts.labeled is not None
    assert facts.unlabeled is not None
    assert estimate.share == 0.25
    assert facts.unlabeled_positive is not None
    assert estimate.true_share == facts.unlabeled_positive / facts.unlabeled
    expected = (facts.labeled + 0.25 * facts.unlabeled) / (facts.labeled + facts.unlabeled)
    assert result.data.prior.given == pytest.approx(expected)


# ---------------------------------------------------------------- what cannot be used


def test_an_estimate_outside_of_0_and_1_is_refused_with_a_record(do: Do, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as refused:
        do("prior=estimated:certain")
    assert "prior estimated:certain gives 1 (estimated by certain), outside (0, 1)" in str(refused.value)
    assert (refused.value.field, refused.value.value) == ("prior", "estimated:certain")
    (path,) = (tmp_path / "results" / "failed").glob("*/failure.json")
    assert Failure.model_validate_json(path.read_text()).cause == "refused"


def test_an_estimator_that_fails_is_the_failure_of_the_run(do: Do, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="ZeroDivisionError: division by zero") as failed:
        do("prior=estimated:broken")
    assert failed.value.cause == "error"
    (path,) = (tmp_path / "results" / "failed").glob("*/failure.json")
    assert "estimate" in Failure.model_validate_json(path.read_text()).traceback


def test_an_estimate_is_made_once_for_all_runs_on_the_same_samples(
    do: Do, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUBENCH_CACHE", str(tmp_path / "cache"))
    first = do("prior=estimated:talkative", "seed=41").result.data.prior.estimate
    again = do("prior=estimated:talkative", "seed=41", "method.config.epochs=1").result.data.prior.estimate
    other = do("prior=estimated:talkative", "seed=42").result.data.prior.estimate
    assert first is not None
    assert again == first  # its seconds too, which no second estimate would repeat
    assert other != first

    damaged = 0
    for path in (tmp_path / "cache" / "estimates").glob("*.json"):
        path.write_text(path.read_text().replace("0.3", "0.4"))
        damaged += 1
    assert damaged >= 2
    made = do("prior=estimated:talkative", "seed=41", "method.config.epochs=7").result.data.prior.estimate
    assert made is not None
    assert made.share == 0.3  # the damaged file said 0.4
