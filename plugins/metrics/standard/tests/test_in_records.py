"""What becomes of the measures in a run: they are in its record, and older records are measured without training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pubench_metrics import pubench_metrics

import pubench

KEYS = {info.key for info in pubench_metrics() if info.family not in ("oracle", "proxy")}
QUICK: dict[str, Any] = {"epochs": 2, "lr": 1e-2}


def run(results: Path, **settings: Any) -> Any:
    return pubench.run(
        "nnpu", "digits", seed=3, config=QUICK, results=results, tracking=False, threads=1, settings=settings
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def older(results: Path) -> Any:
    """As a record is that was made before these metrics were there."""
    return run(results, **{"evaluation.metrics": ["accuracy", "pa"]})


def test_a_record_without_them_is_measured_and_not_trained_again(
    older: Any, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not KEYS & set(older.result.metrics)
    fresh = run(tmp_path)
    import pubench_core.engine.execute as carried_out

    def nobody_trains(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("a stored record was to answer")

    monkeypatch.setattr(carried_out, "compute", nobody_trains)
    measured = run(results)
    assert measured.run_id == fresh.run_id == older.run_id
    assert set(measured.result.metrics) >= KEYS
    for name, criterion in fresh.result.criteria.items():
        again = measured.result.criteria[name].measures
        assert {part: dict(found) for part, found in again.items()} == criterion.measures


def test_metrics_of_labeled_and_unlabeled_rows_cost_a_record_little(results: Path) -> None:
    result = run(results).result
    assert not KEYS & set(result.chosen.measures["test"])
    found = result.chosen.measures["validation"]
    assert set(found) >= KEYS
    assert found["pu-auc"].value == pytest.approx(found["pauc"].value)
    ours = {key: found[key].model_dump(mode="json") for key in KEYS}
    assert len(json.dumps(ours)) < 4000
    assert not any("curve" in measure.get("details", ()) for measure in ours.values())


def test_no_criterion_and_no_run_id_knows_measures_of_evaluation(results: Path) -> None:
    result = run(results).result
    assert not KEYS & set(result.criteria)
    assert run(results, **{"evaluation.metrics": ["pulp"]}).run_id == result.run_id
