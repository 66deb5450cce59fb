"""``pubench run``: its table, its JSON object, its record, and what a second call does."""

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
from safetensors import safe_open

Run = Callable[..., "subprocess.CompletedProcess[str]"]

RUN = ("run", "--threads", 1, "--no-tracking")
NNPU = (*RUN, "--method", "nnpu", "--data", "digits", "--set", "epochs=2", "--set", "lr=1e-2")
CANCER = (*RUN, "--method", "nnpu", "--data", "breast-cancer", "--set", "epochs=1")
CRITERIA = {"pa": False, "pauc": False, "f1": True, "macro-f1": True, "oa": True, "last": False}
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
    """The first run of a spec, in a fresh process."""
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
    """The one JSON object on stdout."""
    assert done.returncode == 0, done.stderr
    found, end = json.JSONDecoder().raw_decode(done.stdout)
    assert done.stdout[end:] == "\n"
    assert isinstance(found, dict)
    return found


def trace_of(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "trace.csv").read_text().splitlines()))


class TestTable:
    def rows(self, first: subprocess.CompletedProcess[str]) -> dict[str, tuple[str, list[str]]]:
        """criterion -> (mark, cells after the name) of the printed table."""
        found = {}
        for line in first.stdout.splitlines()[2:8]:
            match = re.fullmatch(r"([> ]) (\S+)((?: \(oracle\))?) +(.*)", line.rstrip())
            assert match
            found[match[2]] = (match[1] + match[3], match[4].split())
        return found

    def test_it_has_a_row_per_criterion_with_the_chosen_and_the_oracle_ones_marked(
        self, first: subprocess.CompletedProcess[str]
    ) -> None:
        marks = {name: mark for name, (mark, _) in self.rows(first).items()}
        assert marks == {
            name: (">" if name == "pa" else " ") + (" (oracle)" if oracle else "") for name, oracle in CRITERIA.items()
        }

    def test_its_columns_are_the_measures(self, first: subprocess.CompletedProcess[str]) -> None:
        header = first.stdout.splitlines()[1].split()
        assert header[:5] == ["selected", "by", "epoch", "value", "accuracy"]
        assert header[4:10] == ["accuracy", "precision", "recall", "F1", "macro-F1", "AUC"]

    def test_its_numbers_are_the_record_s_in_per_cent(
        self, first: subprocess.CompletedProcess[str], record: dict[str, Any]
    ) -> None:
        for name, (_, cells) in self.rows(first).items():
            entry = record["criteria"][name]
            expected = [str(entry["epoch"])] + ([f"{entry['value']:.4f}"] if name != "last" else [])
            expected += [f"{100 * entry['test'][key]:.2f}" for key in HEADLINE]
            assert cells[: len(expected)] == expected

    def test_it_says_what_was_run_and_at_what_cost(
        self, first: subprocess.CompletedProcess[str], folder: Path, record: dict[str, Any]
    ) -> None:
        lines = first.stdout.splitlines()
        assert lines[0].startswith("nnpu on digits: case-control, scar, c = 0.1, seed 2; 57 labeled, 1149 unlabeled")
        below = " ".join(lines[8:])
        assert "percent" in below
        assert "2 epochs" in below
        assert f"{record['seconds']['total']:.1f} s" in below
        assert "s per epoch" in below
        assert f"{record['peak_memory']['bytes'] / 2**20:.0f} MiB {record['peak_memory']['what']}" in below
        assert folder.is_dir()

    def test_progress_is_one_line_per_epoch_on_stderr(self, first: subprocess.CompletedProcess[str]) -> None:
        begin, *epochs = first.stderr.splitlines()
        assert begin.startswith("run ")
        assert [line.split("  ")[0] for line in epochs] == ["train 1/2", "train 2/2"]
        assert all(re.search(r"  pa \d\.\d{4}  .* s/epoch  \d+:\d\d left", line) for line in epochs)


class TestRecord:
    def test_it_has_the_documented_files_and_no_other(self, folder: Path) -> None:
        assert {path.name for path in folder.iterdir()} == DOCUMENTED

    def test_the_folder_is_named_by_the_run(self, folder: Path, record: dict[str, Any]) -> None:
        assert folder.name == record["run_id"]
        assert record["status"] == "finished"

    def test_every_criterion_has_its_epoch_and_its_measures(self, record: dict[str, Any]) -> None:
        assert {name: entry["oracle"] for name, entry in record["criteria"].items()} == CRITERIA
        for entry in record["criteria"].values():
            assert entry["epoch"] in (1, 2)
            assert set(HEADLINE) <= set(entry["test"])
        assert record["selected"] == "pa"
        assert record["test"] == record["criteria"]["pa"]["test"]
        assert record["criteria"]["last"]["epoch"] == record["epochs"] == 2

    def test_a_pu_method_is_no_oracle(self, record: dict[str, Any], first: subprocess.CompletedProcess[str]) -> None:
        assert record["oracle"] is False
        assert "granted" not in first.stdout

    def test_in_case_control_the_labeled_positives_stay_unlabeled_too(self, record: dict[str, Any]) -> None:
        train = record["data"]["train"]
        assert train["labeled"] == train["positive"] // 10
        assert (train["unlabeled_positive"], train["unlabeled_negative"]) == (train["positive"], train["negative"])

    def test_the_spec_is_complete_and_is_the_result_s(self, folder: Path, record: dict[str, Any]) -> None:
        spec = yaml.safe_load((folder / "spec.yaml").read_text())
        assert spec == record["spec"]
        assert spec["method"]["config"]["batch_size"] == 256
        assert spec["execution"]["threads"] == 1

    def test_the_code_behind_every_part_is_named(self, record: dict[str, Any]) -> None:
        parts = " ".join(record["code"]["parts"])
        for package in ("pubench_nnpu", "datasets_embedded", "pubench_mechanisms", "metrics_oracle", "metrics_pu"):
            assert package in parts

    def test_the_trace_has_a_line_per_epoch(self, folder: Path) -> None:
        rows = trace_of(folder)
        assert [row["epoch"] for row in rows] == ["1", "2"]
        assert all(float(row["risk"]) and float(row["seconds"]) > 0 for row in rows)
        assert {"criterion-pa", "criterion-pauc", "criterion-macro-f1"} <= set(rows[0])

    def test_scores_reproduce_the_accuracy(self, folder: Path, record: dict[str, Any]) -> None:
        with np.load(folder / "scores.npz") as stored:
            arrays = dict(stored)
        for name, entry in record["criteria"].items():
            decisions = arrays[f"test_scores_{name}"] > 0
            assert (decisions == arrays["test_labels"]).mean() == pytest.approx(entry["test"]["accuracy"])
        assert len(arrays["validation_scores_pa"]) == len(arrays["validation_rows"])
        assert arrays["validation_labeled"].sum() == record["data"]["validation"]["labeled"]
        assert not set(arrays["test_rows"]) & set(arrays["validation_rows"])

    def test_the_environment_names_versions_and_processor(self, folder: Path) -> None:
        around = json.loads((folder / "environment.json").read_text())
        assert around["packages"]["pubench-nnpu"] == "0.1.0"
        assert {"torch", "numpy", "scikit-learn"} <= set(around["packages"])
        assert (around["threads"], around["device"]) == (1, "cpu")
        assert around["cpu"]


@pytest.fixture(scope="module")
def second(first: subprocess.CompletedProcess[str], here: Run) -> subprocess.CompletedProcess[str]:
    return here(*NNPU)


class TestSecondCall:
    def test_it_prints_the_stored_result(
        self, first: subprocess.CompletedProcess[str], second: subprocess.CompletedProcess[str]
    ) -> None:
        assert second.returncode == 0
        assert second.stdout == first.stdout

    def test_it_trains_nothing_and_says_so(self, second: subprocess.CompletedProcess[str]) -> None:
        (line,) = second.stderr.splitlines()
        assert "stored result" in line
        assert "--force" in line

    def test_as_json_it_is_one_object_and_nothing_else(
        self, second: subprocess.CompletedProcess[str], here: Run, record: dict[str, Any], folder: Path
    ) -> None:
        told = json_of(here(*NNPU, "--format", "json"))
        assert told.pop("reused") is True
        assert Path(told.pop("record")).name == folder.name
        assert told == record

    def test_where_it_is_carried_out_does_not_make_another_run(
        self, second: subprocess.CompletedProcess[str], here: Run
    ) -> None:
        told = json_of(here(*NNPU, "--device", "cpu", "--threads", 2, "--format", "json"))
        assert told["reused"] is True


class TestForce:
    def test_it_runs_again_and_keeps_the_older_record(self, here: Run, home: Path) -> None:
        before = json_of(here(*CANCER, "--results", "forced", "--format", "json"))
        again = here(*CANCER, "--results", "forced", "--force", "--format", "json")
        told = json_of(again)
        assert told["reused"] is False
        assert "train 1/1" in again.stderr
        assert told["test"] == before["test"]
        kept = home / "forced" / "superseded" / f"{told['run_id']}-1"
        assert {path.name for path in kept.iterdir()} == DOCUMENTED
        older = json.loads((kept / "result.json").read_text())
        assert older["seconds"] == before["seconds"]
        newer = json.loads((home / "forced" / told["run_id"] / "result.json").read_text())
        assert newer["seconds"] == told["seconds"]
        assert list((home / "forced" / ".incoming").iterdir()) == []


class TestArtifacts:
    def test_none_leaves_the_result_and_what_explains_it(self, here: Run, home: Path) -> None:
        told = json_of(here(*CANCER, "--results", "bare", "--artifacts", "none", "--format", "json"))
        written = {path.name for path in (home / told["record"]).iterdir()}
        assert written == {"spec.yaml", "result.json", "environment.json"}

    def test_a_saved_model_holds_the_network_and_its_spec(self, here: Run, home: Path) -> None:
        told = json_of(here(*CANCER, "--results", "model", "--save-model", "--artifacts", "trace", "--format", "json"))
        folder = home / told["record"]
        assert {p.name for p in folder.iterdir()} == (DOCUMENTED - {"scores.npz"}) | {"model.safetensors"}
        with safe_open(folder / "model.safetensors", "np") as saved:
            facts = json.loads(saved.metadata()["pubench"])
            assert saved.get_tensor("net.head.weight").shape == (1, 64)
        assert facts["run_id"] == told["run_id"]
        assert facts["spec"]["data"]["key"] == "breast-cancer"
        assert facts["shape"] == [30]

    def test_a_model_that_the_stored_record_lacks_is_not_silently_left_out(self, here: Run, home: Path) -> None:
        asked = (*CANCER, "--results", "later", "--format", "json")
        folder = home / json_of(here(*asked))["record"]
        done = here(*asked, "--save-model")
        assert (folder / "model.safetensors").exists() or "model.safetensors" in done.stderr


class TestDryRun:
    def test_it_prints_a_complete_spec_and_runs_nothing(self, pubench: Run, tmp_path: Path) -> None:
        done = pubench(*NNPU, "--prior", "scaled:1.2", "--dry-run")
        assert (done.returncode, done.stderr) == (0, "")
        assert list(tmp_path.iterdir()) == []
        spec = yaml.safe_load(done.stdout)
        sections = "data mechanism prior validation method backbone selection evaluation seed execution"
        assert list(spec) == sections.split()
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

    def test_the_spec_of_a_record_is_accepted_too(
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

    def test_a_file_beats_the_preset(self, pubench: Run, file: Path) -> None:
        spec = self.resolved(pubench, "--config", file)
        assert (spec["seed"], spec["method"]["preset"]) == (3, "quick")
        config = spec["method"]["config"]
        assert (config["epochs"], config["gamma"], config["patience"]) == (7, 0.5, None)

    def test_flags_beat_the_file_and_leave_the_rest_of_it(self, pubench: Run, file: Path) -> None:
        spec = self.resolved(pubench, "--config", file, "--seed", 4, "--set", "epochs=9")
        assert (spec["seed"], spec["method"]["config"]["epochs"], spec["method"]["config"]["gamma"]) == (4, 9, 0.5)

    def test_a_dotted_name_sets_any_field(self, pubench: Run) -> None:
        spec = self.resolved(
            pubench,
            *("--method", "nnpu"),
            *("--set", "validation.fraction=0.01"),
            *("--set", "data.positive=[0, 1]"),
            *("--set", "data.negative=[8]"),
            *("--set", "method.calibrate=off"),
        )
        assert spec["validation"]["fraction"] == 0.01
        assert (spec["data"]["positive"], spec["data"]["negative"]) == ([0, 1], [8])
        assert spec["method"]["calibrate"] == "off"

    def test_aliases_name_the_same_run_as_keys(self, pubench: Run) -> None:
        plain = self.resolved(pubench, "--method", "nnpu", "--mech", "scar")
        assert self.resolved(pubench, "--method", "nnpu", "--mech", "s1") == plain


@pytest.fixture(scope="module")
def supervised(here: Run) -> subprocess.CompletedProcess[str]:
    done = here(*RUN, "--method", "pn", "--data", "breast-cancer", "--set", "epochs=3")
    assert done.returncode == 0
    return done


class TestOracle:
    def test_it_is_marked_in_the_table(self, supervised: subprocess.CompletedProcess[str]) -> None:
        assert supervised.stdout.startswith("pn (oracle) on breast-cancer")
        assert "oracle: this method was granted the true labels" in supervised.stdout

    def test_it_is_marked_in_the_record(self, supervised: subprocess.CompletedProcess[str], home: Path) -> None:
        folder = home / supervised.stdout.splitlines()[-1].removeprefix("record: ")
        assert json.loads((folder / "result.json").read_text())["oracle"] is True

    def test_with_true_labels_tumours_are_told_apart(self, supervised: subprocess.CompletedProcess[str]) -> None:
        chosen = next(line for line in supervised.stdout.splitlines() if line.startswith("> pa"))
        assert float(chosen.split()[4]) > 85


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
        assert one_sample["selected"] == "f1"
        assert one_sample["test"] == one_sample["criteria"]["f1"]["test"]


class TestPrior:
    def test_a_scaled_prior_is_recorded_beside_the_true_one(self, here: Run) -> None:
        prior = json_of(here(*CANCER, "--prior", "scaled:1.2", "--format", "json"))["data"]["prior"]
        assert prior["told"] == pytest.approx(1.2 * prior["true"])
        assert prior["true"] == pytest.approx(212 / 569, abs=0.005)

    def test_a_number_is_recorded_beside_the_true_one_and_shown(self, here: Run) -> None:
        done = here(*CANCER, "--prior", "0.4", "--format", "json")
        prior = json_of(done)["data"]["prior"]
        assert (prior["told"], round(prior["true"], 2)) == (0.4, 0.37)
        assert f"prior 0.400 (true {prior['true']:.3f})" in here(*CANCER, "--prior", "0.4").stdout


def test_without_a_validation_part_the_last_epoch_can_be_the_result(here: Run) -> None:
    told = json_of(here(*CANCER, "--set", "validation.fraction=0", "--select", "last", "--format", "json"))
    assert told["data"]["validation"] == {"positive": 0, "negative": 0, "labeled": 0, "rows": 0}
    assert told["criteria"]["last"]["test"] == told["test"]
    for name in set(CRITERIA) - {"last"}:
        assert told["criteria"][name]["undefined"] == "there is no validation part"
        assert "test" not in told["criteria"][name]


def test_the_test_part_can_be_traced_every_epoch(here: Run, home: Path) -> None:
    told = json_of(here(*CANCER, "--set", "evaluation.trace=[train, test]", "--set", "epochs=2", "--format", "json"))
    rows = trace_of(home / told["record"])
    assert [float(row["test-accuracy"]) for row in rows][-1] == told["criteria"]["last"]["test"]["accuracy"]
    assert all(0 <= float(row["train-auc"]) <= 1 for row in rows)


def test_with_json_stdout_is_the_object_alone_while_progress_goes_to_stderr(here: Run) -> None:
    done = here(*CANCER, "--seed", 7, "--set", "epochs=3", "--format", "json")
    assert json_of(done)["reused"] is False
    assert len(done.stderr.splitlines()) == 1 + 3
