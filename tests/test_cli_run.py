"""``pubench run``: its table, its JSON object, its record, and what later calls of the same run do."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pubench_metrics_evaluation import pubench_metrics
from safetensors import safe_open

from pubench_core.results import RECORD_VERSION, Environment, Result

Run = Callable[..., "subprocess.CompletedProcess[str]"]

RUN = ("run", "--threads", 1, "--no-tracking")
NNPU = (*RUN, "--method", "nnpu", "--data", "digits", "--set", "epochs=2", "--set", "lr=1e-2")
CANCER = (*RUN, "--method", "nnpu", "--data", "breast-cancer", "--set", "epochs=1")
#: Measured where rows are labeled and unlabeled, next to the criteria.
EVALUATION = {info.key for info in pubench_metrics()}
CRITERIA = {"pa": False, "pauc": False, "oa": True, "f1": True, "macro-f1": True, "last": False}
HEADLINE = ("accuracy", "precision", "recall", "f1", "macro-f1", "auc")
DOCUMENTED = {"spec.yaml", "result.json", "trace.csv", "environment.json", "scores.npz"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def here(home: Path, pubench_in: Callable[[Path], Run]) -> Run:
    return pubench_in(home)


@pytest.fixture(scope="module")
def first(here: Run) -> subprocess.CompletedProcess[str]:
    """The first run of its spec, in a fresh process."""
    done = here(*NNPU, cold=True)
    assert done.returncode == 0
    return done


@pytest.fixture(scope="module")
def folder(first: subprocess.CompletedProcess[str], home: Path) -> Path:
    return home / first.stdout.splitlines()[-1].removeprefix("record: ")


@pytest.fixture(scope="module")
def record(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / "result.json").read_text())
    assert isinstance(found, dict)
    return found


def json_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The one JSON object on stdout: a result, with ``record`` and ``reused`` next to its fields."""
    assert done.returncode == 0, done.stderr
    found, end = json.JSONDecoder().raw_decode(done.stdout)
    assert done.stdout[end:] == "\n"
    assert isinstance(found, dict)
    result = {name: value for name, value in found.items() if name not in ("record", "reused")}
    assert Result.model_validate(result).plain() == result
    assert {"record", "reused"} <= set(found)
    return found


def values_of(criterion: dict[str, Any], part: str = "test") -> dict[str, float | None]:
    """metric -> value of one part, under one criterion of a result; None where it is undefined."""
    return {name: measure.get("value") for name, measure in criterion["measures"][part].items()}


def trace_of(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "trace.csv").read_text().splitlines()))


class TestTable:
    def lines(self, first: subprocess.CompletedProcess[str]) -> list[str]:
        """The printed lines after the warning that two epochs decide every row alike."""
        alike, *rest = first.stdout.splitlines()
        assert re.match(r"warning: all \d+ test rows are decided (positive|negative) \(", alike)
        return rest

    def rows(self, first: subprocess.CompletedProcess[str]) -> dict[str, tuple[str, list[str]]]:
        """criterion -> (mark, cells after the name) of the printed table, by the decision at 0."""
        found = {}
        for line in self.lines(first)[2:14:2]:
            match = re.fullmatch(r"([> ]) (\S+)((?: \(oracle\))?) +(.*)", line.rstrip())
            assert match
            found[match[2]] = (match[1] + match[3], match[4].split())
        return found

    def test_the_table_has_a_row_per_criterion_with_the_chosen_one_marked(
        self, first: subprocess.CompletedProcess[str]
    ) -> None:
        marks = {name: mark for name, (mark, _) in self.rows(first).items()}
        assert marks == {
            name: (">" if name == "pa" else " ") + (" (oracle)" if oracle else "") for name, oracle in CRITERIA.items()
        }

    def test_its_columns_are_the_measures(self, first: subprocess.CompletedProcess[str]) -> None:
        header = self.lines(first)[1].split()
        assert header[:5] == ["selected", "by", "epoch", "value", "decided"]
        assert header[5:11] == ["accuracy", "precision", "recall", "F1", "macro-F1", "AUC"]

    def test_its_numbers_are_the_record_s_in_per_cent(
        self, first: subprocess.CompletedProcess[str], record: dict[str, Any]
    ) -> None:
        for name, (_, cells) in self.rows(first).items():
            entry = record["criteria"][name]
            expected = [str(entry["epoch"])] + ([f"{entry['value']:.4f}"] if name != "last" else [])
            expected += ["at", "0", *(f"{100 * values_of(entry)[key]:.2f}" for key in HEADLINE)]
            assert cells[: len(expected)] == expected

    def test_below_each_criterion_is_the_decision_at_the_prior(
        self, first: subprocess.CompletedProcess[str], record: dict[str, Any]
    ) -> None:
        for line, entry in zip(self.lines(first)[3:14:2], record["criteria"].values(), strict=True):
            measures = entry["at_prior"]["test"]
            assert line.split() == [
                *("at", "the", "prior"),
                *(f"{100 * measures[key]['value']:.2f}" for key in HEADLINE),
            ]

    def test_the_table_says_what_was_run_and_at_what_cost(
        self, first: subprocess.CompletedProcess[str], folder: Path, record: dict[str, Any]
    ) -> None:
        lines = self.lines(first)
        assert lines[0].startswith("nnpu on digits: case-control, scar, c = 0.1, seed 2; 57 labeled, 1149 unlabeled")
        below = " ".join(lines[14:])
        assert "percent" in below
        assert "2 epochs" in below
        assert f"{record['seconds']['total']:.1f} s" in below
        assert "s per epoch" in below
        assert f"{record['peak_memory']['bytes'] / 2**20:.0f} MiB {record['peak_memory']['what']}" in below
        assert folder.is_dir()

    def test_progress_is_a_line_at_the_first_epoch_on_stderr(self, first: subprocess.CompletedProcess[str]) -> None:
        start, epoch = [line for line in first.stderr.splitlines() if not line.startswith("warning: ")]
        assert start.startswith("run ")
        assert re.fullmatch(r"train 1/2  pa \d\.\d{4}  .* s/epoch  \d+:\d\d left", epoch)


class TestRecord:
    def test_a_record_has_the_documented_files_and_no_other(self, folder: Path) -> None:
        assert {path.name for path in folder.iterdir()} == DOCUMENTED

    def test_the_folder_is_named_by_the_run(self, folder: Path, record: dict[str, Any]) -> None:
        assert folder.name == record["run_id"]

    def test_a_record_says_which_format_it_has(self, record: dict[str, Any]) -> None:
        assert record["record_version"] == RECORD_VERSION == 4

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

    def test_a_criterion_s_value_is_its_measure_of_the_validation_part(self, record: dict[str, Any]) -> None:
        for name in set(CRITERIA) - {"last"}:
            entry = record["criteria"][name]
            assert entry["value"] == pytest.approx(values_of(entry, "validation")[name])

    def test_a_pu_method_is_no_oracle(self, record: dict[str, Any], first: subprocess.CompletedProcess[str]) -> None:
        assert record["oracle"] is False
        assert "granted" not in first.stdout

    def test_labeled_positives_stay_in_u_in_case_control(self, record: dict[str, Any]) -> None:
        train = record["data"]["train"]
        assert train["labeled"] == train["positive"] // 10
        assert (train["unlabeled_positive"], train["unlabeled_negative"]) == (train["positive"], train["negative"])

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

    def test_scores_reproduce_the_accuracy(self, folder: Path, record: dict[str, Any]) -> None:
        with np.load(folder / "scores.npz") as stored:
            arrays = dict(stored)
        for entry in record["criteria"].values():
            decisions = arrays[f"test_scores_{entry['snapshot']}"] > 0
            assert (decisions == arrays["test_labels"]).mean() == pytest.approx(values_of(entry)["accuracy"])
            assert len(arrays[f"validation_scores_{entry['snapshot']}"]) == len(arrays["validation_rows"])
        assert arrays["validation_labeled"].sum() == record["data"]["validation"]["labeled"]
        assert not set(arrays["test_rows"]) & set(arrays["validation_rows"])

    def test_scores_are_stored_once_per_distinct_state(self, folder: Path, record: dict[str, Any]) -> None:
        states = {entry["snapshot"] for entry in record["criteria"].values()}
        assert len(states) == 2
        known = {"test_rows", "test_labels", "validation_rows", "validation_labeled", "validation_labels"}
        with np.load(folder / "scores.npz") as stored:
            assert set(stored) == known | {f"{part}_scores_{s}" for part in ("test", "validation") for s in states}

    def test_the_environment_names_versions_and_processor(self, folder: Path) -> None:
        environment = Environment.model_validate_json((folder / "environment.json").read_text())
        assert environment.packages["pubench-nnpu"] == "1.0.0"
        assert {"torch", "numpy", "scikit-learn"} <= set(environment.packages)
        assert (environment.threads, environment.device) == (1, "cpu")
        assert environment.cpu


@pytest.fixture(scope="module")
def second(first: subprocess.CompletedProcess[str], here: Run) -> subprocess.CompletedProcess[str]:
    return here(*NNPU)


class TestSecondCall:
    def test_a_second_call_prints_the_stored_result(
        self, first: subprocess.CompletedProcess[str], second: subprocess.CompletedProcess[str]
    ) -> None:
        assert second.returncode == 0
        assert second.stdout == first.stdout

    def test_a_second_call_trains_nothing_and_says_so(self, second: subprocess.CompletedProcess[str]) -> None:
        (line,) = [line for line in second.stderr.splitlines() if not line.startswith("warning: ")]
        assert re.fullmatch(r"stored result of \S+Z: same run, same code \(--force runs it again\)", line)

    def test_a_second_call_as_json_is_one_object_and_nothing_else(
        self, second: subprocess.CompletedProcess[str], here: Run, record: dict[str, Any], folder: Path
    ) -> None:
        found = json_of(here(*NNPU, "--format", "json"))
        assert found.pop("reused") is True
        assert Path(found.pop("record")).name == folder.name
        assert found == record

    def test_where_it_is_carried_out_does_not_make_another_run(
        self, second: subprocess.CompletedProcess[str], here: Run
    ) -> None:
        assert json_of(here(*NNPU, "--device", "cpu", "--threads", 2, "--format", "json"))["reused"] is True


class TestForce:
    def test_force_runs_again_and_keeps_the_older_record(self, here: Run, home: Path) -> None:
        before = json_of(here(*CANCER, "--results", "forced", "--format", "json"))
        again = here(*CANCER, "--results", "forced", "--force", "--format", "json")
        found = json_of(again)
        assert found["reused"] is False
        assert "train 1/1" in again.stderr
        assert found["criteria"] == before["criteria"]
        kept = home / "forced" / "superseded" / f"{found['run_id']}-1"
        assert {path.name for path in kept.iterdir()} == DOCUMENTED
        older = json.loads((kept / "result.json").read_text())
        assert older["seconds"] == before["seconds"]
        newer = json.loads((home / "forced" / found["run_id"] / "result.json").read_text())
        assert newer["seconds"] == found["seconds"]
        assert [p.name for p in (home / "forced" / ".incoming").iterdir() if p.name != ".lock"] == []


class TestArtifacts:
    def test_none_leaves_the_result_and_what_explains_it(self, here: Run, home: Path) -> None:
        found = json_of(here(*CANCER, "--results", "bare", "--artifacts", "none", "--format", "json"))
        written = {path.name for path in (home / found["record"]).iterdir()}
        assert written == {"spec.yaml", "result.json", "environment.json"}

    def test_a_saved_model_holds_the_network_and_its_spec(self, here: Run, home: Path) -> None:
        found = json_of(here(*CANCER, "--results", "model", "--save-model", "--artifacts", "trace", "--format", "json"))
        folder = home / found["record"]
        assert found["model"] == {"snapshot": found["criteria"]["pa"]["snapshot"]}
        assert {p.name for p in folder.iterdir()} == (DOCUMENTED - {"scores.npz"}) | {"model.safetensors"}
        with safe_open(folder / "model.safetensors", "np") as saved:
            facts = json.loads(saved.metadata()["pubench"])
            assert saved.get_tensor("net.head.weight").shape == (1, 64)
        assert facts["run_id"] == found["run_id"]
        assert facts["spec"]["data"]["key"] == "breast-cancer"
        assert facts["shape"] == [30]


#: Three epochs of which PA and F1 choose the second, PAUC the first.
THREE = (*RUN, "--method", "nnpu", "--data", "breast-cancer", "--set", "epochs=3", "--set", "lr=1e-2", "--seed", 52)


class TestAnotherRequestForTheSameRun:
    """What is computed stays; what is missing is measured from stored scores, or the run is run again and says why."""

    @pytest.fixture
    def stored(self, pubench: Run) -> dict[str, Any]:
        found = json_of(pubench(*THREE, "--select", "pa", "--format", "json"))
        assert [found["criteria"][name]["epoch"] for name in ("pa", "f1", "pauc", "last")] == [2, 2, 1, 3]
        return found

    def test_another_criterion_shows_the_stored_result_and_marks_its_row(
        self, pubench: Run, tmp_path: Path, stored: dict[str, Any]
    ) -> None:
        done = pubench(*THREE, "--select", "f1", "--format", "json")
        found = json_of(done)
        assert (found["reused"], found["selected"]) == (True, "f1")
        assert {**found, "selected": "pa", "reused": False} == stored
        assert "train " not in done.stderr
        table = pubench(*THREE, "--select", "f1").stdout
        assert [line.split()[1] for line in table.splitlines() if line.startswith(">")] == ["f1"]
        assert json.loads((tmp_path / stored["record"] / "result.json").read_text())["selected"] == "f1"

    @pytest.mark.parametrize(
        ("more", "reason"),
        [
            (("--save-model",), "no model of this criterion's epoch"),
            (("--set", "evaluation.trace=[test]"), "no trace of the test part"),
        ],
        ids=["model", "trace"],
    )
    def test_what_it_lacks_is_said_and_the_run_is_run_again(
        self, pubench: Run, tmp_path: Path, stored: dict[str, Any], more: tuple[str, ...], reason: str
    ) -> None:
        done = pubench(*THREE, *more, "--format", "json")
        found = json_of(done)
        assert (found["reused"], found["run_id"]) == (False, stored["run_id"])
        assert done.stderr.splitlines()[0] == f"the stored record has {reason}; running again, the older record is kept"
        assert [path.name for path in (tmp_path / "results" / "superseded").iterdir()] == [f"{stored['run_id']}-1"]
        assert found["criteria"] == stored["criteria"]


class TestDryRun:
    def test_a_dry_run_prints_a_complete_spec_and_runs_nothing(self, pubench: Run, tmp_path: Path) -> None:
        done = pubench(*NNPU, "--prior", "scaled:1.2", "--dry-run")
        assert (done.returncode, done.stderr) == (0, "")
        assert list(tmp_path.iterdir()) == []
        spec = yaml.safe_load(done.stdout)
        sections = "data mechanism prior prior_scorer validation method backbone selection decision evaluation seed"
        assert list(spec) == [*sections.split(), "execution"]
        assert (spec["prior"], spec["seed"], spec["backbone"]["key"]) == ("scaled:1.2", 2, "mlp")
        assert spec["method"]["config"]["lr"] == 0.01
        assert spec["data"]["positive"] == [0, 2, 4, 6, 8]

    def test_config_accepts_it_and_describes_the_same_run(
        self, here: Run, first: subprocess.CompletedProcess[str], home: Path
    ) -> None:
        printed = here(*NNPU, "--dry-run").stdout
        (home / "run.yaml").write_text(printed)
        assert here("run", "--config", "run.yaml", "--dry-run").stdout == printed
        assert here("run", "--config", "run.yaml").stdout == first.stdout

    def test_the_spec_of_a_record_is_accepted(
        self, here: Run, first: subprocess.CompletedProcess[str], folder: Path
    ) -> None:
        assert here("run", "--config", folder / "spec.yaml").stdout == first.stdout


class TestPrecedence:
    def resolved(self, pubench: Run, *arguments: Any) -> dict[str, Any]:
        done = pubench("run", "--data", "digits", *arguments, "--dry-run")
        assert done.returncode == 0, done.stderr
        found = yaml.safe_load(done.stdout)
        assert isinstance(found, dict)
        return found

    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        path = tmp_path / "run.yaml"
        path.write_text("seed: 3\nmethod:\n  key: nnpu\n  preset: quick\n  config: {epochs: 7, gamma: 0.5}\n")
        return path

    def test_a_preset_beats_defaults_and_is_beaten_by_a_field(self, pubench: Run) -> None:
        spec = self.resolved(pubench, "--method", "nnpu", "--preset", "wang", "--set", "lr=0.5")
        config = spec["method"]["config"]
        assert (config["optimizer"], config["batch_size"], config["lr"], config["beta"]) == ("sgd", 128, 0.5, 0.0)

    def test_flags_beat_the_file_and_leave_the_rest_of_it(self, pubench: Run, file: Path) -> None:
        spec = self.resolved(pubench, "--config", file, "--seed", 4, "--set", "epochs=9")
        assert (spec["seed"], spec["method"]["config"]["epochs"], spec["method"]["config"]["gamma"]) == (4, 9, 0.5)


@pytest.fixture(scope="module")
def supervised(here: Run) -> subprocess.CompletedProcess[str]:
    done = here(*RUN, "--method", "pn", "--data", "breast-cancer", "--set", "epochs=3")
    assert done.returncode == 0
    return done


class TestOracle:
    def test_an_oracle_is_marked_in_the_table(self, supervised: subprocess.CompletedProcess[str]) -> None:
        assert supervised.stdout.startswith("pn (oracle) on breast-cancer")
        assert "oracle: this method was granted the true labels" in supervised.stdout

    def test_an_oracle_is_marked_in_the_record(self, supervised: subprocess.CompletedProcess[str], home: Path) -> None:
        folder = home / supervised.stdout.splitlines()[-1].removeprefix("record: ")
        assert json.loads((folder / "result.json").read_text())["oracle"] is True

    def test_with_true_labels_tumors_are_classified(self, supervised: subprocess.CompletedProcess[str]) -> None:
        chosen = next(line for line in supervised.stdout.splitlines() if line.startswith("> pa"))
        assert float(chosen.split()[6]) > 85


@pytest.fixture(scope="module")
def one_sample(here: Run) -> dict[str, Any]:
    arguments = ("--scheme", "single-training-set", "--c", "0.3", "--select", "f1", "--format", "json")
    return json_of(here(*CANCER, *arguments))


class TestSingleTrainingSet:
    def test_labeled_positives_are_taken_out_of_the_unlabeled(self, one_sample: dict[str, Any]) -> None:
        train = one_sample["data"]["train"]
        assert train["labeled"] == 3 * train["positive"] // 10
        assert train["unlabeled_positive"] == train["positive"] - train["labeled"]
        assert train["unlabeled_negative"] == train["negative"]

    def test_a_two_sample_method_is_calibrated(self, one_sample: dict[str, Any]) -> None:
        assert one_sample["data"]["calibrated"] is True

    def test_the_chosen_criterion_names_the_result(self, one_sample: dict[str, Any]) -> None:
        assert one_sample["selected"] == one_sample["spec"]["selection"]["criterion"] == "f1"


class TestPrior:
    def test_a_scaled_prior_is_recorded_beside_the_true_one(self, here: Run) -> None:
        prior = json_of(here(*CANCER, "--prior", "scaled:1.2", "--format", "json"))["data"]["prior"]
        assert prior["given"] == pytest.approx(1.2 * prior["true"])
        assert prior["true"] == pytest.approx(212 / 569, abs=0.005)

    def test_a_number_is_recorded_beside_the_true_one_and_shown(self, here: Run) -> None:
        done = here(*CANCER, "--prior", "0.4", "--format", "json")
        prior = json_of(done)["data"]["prior"]
        assert (prior["given"], round(prior["true"], 2)) == (0.4, 0.37)
        assert f"prior 0.400 (true {prior['true']:.3f})" in here(*CANCER, "--prior", "0.4").stdout


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


def test_with_json_stdout_is_the_object_and_progress_goes_to_stderr(here: Run) -> None:
    done = here(*CANCER, "--seed", 7, "--set", "epochs=3", "--format", "json")
    assert json_of(done)["reused"] is False
    assert len(done.stderr.splitlines()) == 2  # the run, and its first epoch
