"""``pubench run``: its table, its JSON object, its record, and what later calls of the same run do."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from printed import Done, Run, folder_of, one_json, result_of
from pubench_metrics import pubench_metrics

RUN = ("run", "--threads", 1, "--no-tracking")
NNPU = (*RUN, "--method", "nnpu", "--data", "digits", "--set", "epochs=2", "--set", "lr=1e-2")
CANCER = (*RUN, "--method", "nnpu", "--data", "breast-cancer", "--set", "epochs=1")
#: Measured where rows are labeled and unlabeled, next to the criteria.
EVALUATION = {info.key for info in pubench_metrics() if info.family not in ("oracle", "proxy")}
CRITERIA = {"pa": False, "pauc": False, "oa": True, "f1": True, "macro-f1": True, "last": False}
HEADLINE = ("accuracy", "precision", "recall", "f1", "macro-f1", "auc", "average-precision")


@pytest.fixture(scope="module")
def first(here: Run) -> Done:
    """The first run of its spec, in a fresh process."""
    return here(*NNPU)


@pytest.fixture(scope="module")
def folder(first: Done, home: Path) -> Path:
    return folder_of(first, home)


@pytest.fixture(scope="module")
def record(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / "result.json").read_text())
    assert isinstance(found, dict)
    return found


def json_of(done: Done) -> dict[str, Any]:
    """The one JSON object on stdout: a result, with ``record`` and ``reused`` next to its fields."""
    found = one_json(done)
    assert isinstance(found, dict)
    assert result_of(done).model_dump(mode="json") == {
        name: value for name, value in found.items() if name not in ("record", "reused")
    }
    return found


def values_of(criterion: dict[str, Any], part: str = "test") -> dict[str, float | None]:
    """metric -> value of one part, under one criterion of a result; None where it is undefined."""
    return {name: measure.get("value") for name, measure in criterion["measures"][part].items()}


def trace_of(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "trace.csv").read_text().splitlines()))


def test_the_table_has_the_numbers_of_the_record_by_both_decisions(here: Run, record: dict[str, Any]) -> None:
    """Two lines for each criterion, after a warning that two epochs decide every row alike, title and header."""
    alike, _, _, *lines = here(*NNPU, "--full").stdout.splitlines()
    assert re.match(r"warning: all \d+ test rows are decided (positive|negative) \(", alike)
    for (name, entry), at_0, at_prior in zip(record["criteria"].items(), lines[:12:2], lines[1:12:2], strict=True):
        cells = [
            *([">"] if name == "pa" else []),
            name,
            *(["(oracle)"] if entry["oracle"] else []),
            str(entry["epoch"]),
        ]
        cells += [] if name == "last" else [f"{entry['value']:.4f}"]
        cells += ["at", "0", *(f"{100 * values_of(entry)[key]:.2f}" for key in HEADLINE)]
        assert at_0.split()[: len(cells)] == cells
        measures = entry["at_prior"]["test"]
        assert at_prior.split() == ["at", "the", "prior", *(f"{100 * measures[key]['value']:.2f}" for key in HEADLINE)]


class TestRecord:
    def test_every_criterion_has_its_epoch_and_its_measures(self, record: dict[str, Any]) -> None:
        assert {name: entry["oracle"] for name, entry in record["criteria"].items()} == CRITERIA
        for entry in record["criteria"].values():
            assert entry["epoch"] in (1, 2)
            assert set(HEADLINE) <= set(values_of(entry))
        assert record["selected"] == "pa"
        assert record["criteria"]["last"]["epoch"] == record["epochs"] == 2

    def test_what_is_known_of_a_part_decides_what_is_measured_on_it(self, record: dict[str, Any]) -> None:
        """Labels and the prior are known of the validation part, the truth of both."""
        for entry in record["criteria"].values():
            on_test, on_validation = (set(values_of(entry, part)) for part in ("test", "validation"))
            assert on_validation - on_test == {"pa", "pa-published", "pauc", "oa"} | EVALUATION
            assert on_validation == set(record["metrics"]) == set(record["spec"]["evaluation"]["metrics"])

    def test_the_spec_is_complete_and_is_the_result_s(self, folder: Path, record: dict[str, Any]) -> None:
        spec = yaml.safe_load((folder / "spec.yaml").read_text())
        assert spec == record["spec"]
        assert spec["method"]["config"]["batch_size"] == 256
        assert spec["execution"]["threads"] == 1

    def test_the_code_behind_every_part_is_named(self, record: dict[str, Any]) -> None:
        assert set(record["code"]["parts"]) == {
            "engine",
            "method nnpu",
            "mechanism scar",
            "backbone mlp",
            "data digits",
        }
        assert set(record["code"]["versions"]) == {"pubench-nnpu", "pubench-backbones", "pubench-mechanisms"}
        assert all(record["metrics"].values())
        assert {name for name, entry in record["criteria"].items() if "code" in entry} == set(CRITERIA) - {"last"}

    def test_the_trace_has_a_line_per_epoch(self, folder: Path) -> None:
        rows = trace_of(folder)
        assert [row["epoch"] for row in rows] == ["1", "2"]
        assert all(float(row["risk"]) and float(row["seconds"]) > 0 for row in rows)
        assert {"criterion-pa", "criterion-pauc", "criterion-macro-f1"} <= set(rows[0])

    def test_scores_are_stored_once_per_distinct_state(self, folder: Path, record: dict[str, Any]) -> None:
        states = {entry["snapshot"] for entry in record["criteria"].values()}
        assert len(states) == 2
        known = {"test_rows", "test_labels", "validation_rows", "validation_labeled", "validation_labels"}
        with np.load(folder / "scores.npz") as stored:
            assert set(stored) == known | {f"{part}_scores_{s}" for part in ("test", "validation") for s in states}


class TestSecondCall:
    def test_a_second_call_prints_the_stored_result_and_says_so(self, first: Done, here: Run) -> None:
        second = here(*NNPU)
        assert (second.returncode, second.stdout) == (0, first.stdout)
        (line,) = [line for line in second.stderr.splitlines() if not line.startswith("warning: ")]
        assert re.fullmatch(r"stored result of \S+Z: same run, same code \(--force runs it again\)", line)

    def test_a_second_call_as_json_is_one_object(self, here: Run, record: dict[str, Any], folder: Path) -> None:
        found = json_of(here(*NNPU, "--format", "json"))
        assert found.pop("reused") is True
        assert Path(found.pop("record")).name == folder.name
        assert found == record


def test_no_artifacts_leave_the_result_and_what_explains_it(here: Run, home: Path) -> None:
    found = json_of(here(*CANCER, "--results", "bare", "--artifacts", "none", "--format", "json"))
    written = {path.name for path in (home / found["record"]).iterdir()}
    assert written == {"spec.yaml", "result.json", "environment.json"}


class TestDryRun:
    def test_a_dry_run_prints_a_complete_spec_and_runs_nothing(self, pubench: Run, tmp_path: Path) -> None:
        done = pubench(*NNPU, "--prior", "scaled:1.2", "--dry-run")
        assert (done.returncode, done.stderr) == (0, "")
        assert list(tmp_path.iterdir()) == []
        spec = yaml.safe_load(done.stdout)
        sections = "data mechanism checked prior prior_scorer validation method backbone precision selection decision"
        assert list(spec) == [*sections.split(), "evaluation", "seed", "execution"]
        assert (spec["prior"], spec["seed"], spec["backbone"]["key"]) == ("scaled:1.2", 2, "mlp")
        assert spec["method"]["config"]["lr"] == 0.01
        assert spec["data"]["positive"] == [0, 2, 4, 6, 8]

    def test_the_spec_of_a_record_is_accepted(self, here: Run, first: Done, folder: Path) -> None:
        assert here("run", "--config", folder / "spec.yaml").stdout == first.stdout


def test_without_a_validation_part_the_last_epoch_can_be_the_result(here: Run) -> None:
    found = json_of(here(*CANCER, "--set", "validation.fraction=0", "--select", "last", "--format", "json"))
    assert found["data"]["validation"] == {"positive": 0, "negative": 0, "labeled": 0, "rows": 0}
    assert set(found["criteria"]["last"]["measures"]) == {"test"}
    for name in set(CRITERIA) - {"last"}:
        assert found["criteria"][name]["undefined"] == "there is no validation part"
        assert "measures" not in found["criteria"][name]


def test_the_test_part_can_be_traced_every_epoch(here: Run, home: Path) -> None:
    found = json_of(here(*CANCER, "--set", "evaluation.trace=[train, test]", "--set", "epochs=2", "--format", "json"))
    rows = trace_of(home / found["record"])
    assert [float(row["test-accuracy"]) for row in rows][-1] == values_of(found["criteria"]["last"])["accuracy"]
    assert all(0 <= float(row["train-auc"]) <= 1 for row in rows)
