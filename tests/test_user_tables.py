"""A user's table as PU data, from the command line: what is read, refused, recorded, predicted, and never learned.

The table is scikit-learn's breast-cancer table with 100 labeled positives and no true labels.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from pubench_metrics_evaluation import pubench_metrics
from refusals import error_line
from sklearn.datasets import load_breast_cancer

from pubench_cli.recorded_run import folder_of_run
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.execute import Outcome, execute
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.engine.resolve_method import method_class
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.results import DataFacts, Failure, PartFacts, Result
from pubench_core.specs import RunSpec
from pubench_core.specs.run import run_id

Run = Callable[..., "subprocess.CompletedProcess[str]"]

N, N_LABELED = 569, 100
QUICK = ("--set", "epochs=2", "--set", "lr=1e-2", "--threads", 1)
PLAIN = ("run", "--label-col", "labeled", "--no-tracking")
NNPU = (*PLAIN, "--method", "nnpu", *QUICK)
SOUND = (*NNPU, "--data", "my.csv", "--prior", "0.5")
DOCUMENTED = {"spec.yaml", "result.json", "trace.csv", "environment.json", "scores.npz", "predictions.csv"}
#: Metrics for which no true label is needed.
PU_ONLY = {"pa", "pa-published", "pauc"} | {info.key for info in pubench_metrics()}

pytestmark = pytest.mark.usefixtures("one_thread")


def cancer() -> tuple[pd.DataFrame, np.ndarray]:
    """Features and ``labeled``; the true labels."""
    loaded = load_breast_cancer(as_frame=True)
    truth = loaded.target.to_numpy()
    labeled = np.zeros(len(truth), dtype=int)
    labeled[np.random.default_rng(0).choice(np.flatnonzero(truth == 1), N_LABELED, replace=False)] = 1
    return loaded.data.assign(labeled=labeled), truth


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the table in every format, once with true labels, and with a file to test on."""
    folder = tmp_path_factory.mktemp("home")
    table, truth = cancer()
    table.to_csv(folder / "my.csv", index=False)
    table.to_parquet(folder / "my.parquet")
    np.savez(folder / "my.npz", **{name: table[name].to_numpy() for name in table})
    table.assign(y=truth).to_csv(folder / "truth.csv", index=False)
    hidden = table.labeled.to_numpy() == 0
    permuted = truth.copy()
    permuted[hidden] = np.random.default_rng(1).permutation(truth[hidden])
    table.assign(y=permuted).to_csv(folder / "permuted.csv", index=False)
    table.assign(y=truth).sample(80, random_state=0).to_csv(folder / "test.csv", index=False)
    table[hidden].to_csv(folder / "unlabeled.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def here(home: Path, pubench_in: Callable[[Path], Run]) -> Run:
    return pubench_in(home)


@pytest.fixture(scope="module")
def first(here: Run) -> subprocess.CompletedProcess[str]:
    done = here(*SOUND, "--save-model")
    assert done.returncode == 0, done.stderr
    return done


def folder_of(done: subprocess.CompletedProcess[str], home: Path) -> Path:
    assert done.returncode == 0, done.stderr
    return home / done.stdout.splitlines()[-1].removeprefix("record: ")


@pytest.fixture(scope="module")
def folder(first: subprocess.CompletedProcess[str], home: Path) -> Path:
    return folder_of(first, home)


@pytest.fixture(scope="module")
def record(folder: Path) -> Result:
    return Result.model_validate_json((folder / "result.json").read_text())


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def keys_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted path, value) of every leaf."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from keys_of(inner, f"{path}.{name}" if path else name)
    else:
        yield path, value


class TestRun:
    def test_what_was_read_is_said(self, first: subprocess.CompletedProcess[str]) -> None:
        said = first.stderr.splitlines()
        assert said[0] == (
            "my.csv: 569 rows; 'labeled': 1 = labeled positive, 0 = unlabeled; 100 labeled positives, 469 unlabeled"
        )
        assert said[1] == "30 features: 30 numeric columns"

    def test_the_result_is_on_stdout_and_measures_nothing(self, first: subprocess.CompletedProcess[str]) -> None:
        title, header, *rows = first.stdout.splitlines()
        assert title == "nnpu on my.csv: one-sample, given, seed 2; 80 labeled, 375 unlabeled, prior 0.500"
        assert header.split() == ["selected", "by", "epoch", "value"]
        assert [row.split()[:2] for row in rows[:3]] == [[">", "pa"], ["pauc", rows[1].split()[1]], ["last", "2"]]
        assert "no true labels, so nothing is measured on them" in rows[3]
        assert "accuracy" not in first.stdout

    def test_what_held_out_rows_imply_of_the_truth_is_said(self, first: subprocess.CompletedProcess[str]) -> None:
        (line,) = [line for line in first.stdout.splitlines() if line.startswith("from 20 held-out labeled rows, if ")]
        assert re.search(r"the prior holds: recovered AUC [01]\.\d\d \([01]\.\d\d to [01]\.\d\d\), recovered ", line)

    def test_the_record_has_the_documented_files(self, folder: Path) -> None:
        assert {path.name for path in folder.iterdir()} == DOCUMENTED | {"model.safetensors"}

    def test_predictions_are_of_the_unlabeled_rows_of_the_file(self, folder: Path, home: Path) -> None:
        rows = rows_of((folder / "predictions.csv").read_text())
        labeled = pd.read_csv(home / "my.csv").labeled.to_numpy()
        assert list(rows[0]) == ["row", "score", "rank", "decision", "decision_at_prior"]
        assert [int(row["row"]) for row in rows] == np.flatnonzero(labeled == 0).tolist()

    def test_rank_and_decision_are_of_the_score(self, folder: Path) -> None:
        rows = rows_of((folder / "predictions.csv").read_text())
        scores = np.array([float(row["score"]) for row in rows])
        assert [int(row["decision"]) for row in rows] == (scores > 0).astype(int).tolist()
        assert [int(row["rank"]) for row in rows] == [1 + int((scores > score).sum()) for score in scores]

    def test_predictions_rank_hidden_positives_first(self, folder: Path) -> None:
        """No measure is in the record, but there is one to be had here."""
        _, truth = cancer()
        rows = rows_of((folder / "predictions.csv").read_text())
        scores = np.array([float(row["score"]) for row in rows])
        positive = truth[[int(row["row"]) for row in rows]] == 1
        assert np.mean(scores[positive][:, None] > scores[~positive]) > 0.9

    def test_validation_rows_are_predicted_as_they_were_scored(self, folder: Path, record: Result) -> None:
        predicted = {int(row["row"]): float(row["score"]) for row in rows_of((folder / "predictions.csv").read_text())}
        with np.load(folder / "scores.npz") as arrays:
            rows, labeled = arrays["validation_rows"], arrays["validation_labeled"]
            scores = arrays[f"validation_scores_{record.chosen.snapshot}"]
        found = [predicted[int(row)] for row in rows[~labeled]]
        assert np.allclose(found, scores[~labeled], rtol=1e-5)

    @pytest.mark.parametrize("name", ["my.parquet", "my.npz"])
    def test_every_format_gives_the_same_bits(self, here: Run, home: Path, folder: Path, name: str) -> None:
        other = folder_of(here(*NNPU, "--data", name, "--prior", "0.5"), home)
        assert (other / "predictions.csv").read_bytes() == (folder / "predictions.csv").read_bytes()


class TestWithoutTruth:
    def test_what_needs_true_labels_is_absent(self, record: Result, folder: Path) -> None:
        assert list(record.criteria) == ["pa", "pauc", "last"]
        assert record.test == {}
        assert set(record.metrics) == set(record.spec.evaluation.metrics) == PU_ONLY
        for criterion in record.criteria.values():
            assert not criterion.oracle
            assert {part: set(measures) for part, measures in criterion.measures.items()} == {"validation": PU_ONLY}
        assert (record.data.prior.given, record.data.prior.true, record.data.test) == (0.5, None, None)
        written = json.loads((folder / "result.json").read_text())
        names = {name for path, _ in keys_of(written["data"]) for name in path.split(".")}
        assert names & {"true", "test", "positive", "negative", "unlabeled_positive", "unlabeled_negative"} == set()
        with np.load(folder / "scores.npz") as arrays:
            assert not [name for name in arrays if "test" in name or name.endswith("_labels")]

    def test_what_is_absent_is_not_written_as_none(self, folder: Path) -> None:
        written = json.loads((folder / "result.json").read_text())
        assert not [path for name in ("criteria", "data") for path, value in keys_of(written[name]) if value is None]
        assert "NaN" not in json.dumps(written)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--prior", "true"), ("prior true", "give what you believe (--prior 0.3)")),
            (("--prior", "scaled:1.2"), ("prior scaled:1.2", "--prior 0.3")),
            (
                ("--select", "f1"),
                ("criterion 'f1' needs true labels and my.csv has none; --truth-col COLUMN names them",),
            ),
            (("--select", "oa"), ("criterion 'oa' needs true labels",)),
            (("--set", "selection.criteria=[pa, macro-f1]"), ("criterion 'macro-f1' needs true labels",)),
            (
                ("--set", "evaluation.metrics=[accuracy]"),
                ("metric 'accuracy' needs true labels and my.csv has none; --truth-col COLUMN names them",),
            ),
            (("--set", "evaluation.trace=[test]"), ("tracing test rows needs true labels and my.csv has none",)),
            (("--set", "evaluation.trace=[train]"), ("tracing training rows needs true labels and my.csv has none",)),
            (("--method", "pn"), ("pn needs true labels and my.csv has none; --truth-col COLUMN names them",)),
            (("--mech", "scar"), ("--mech: my.csv comes with its own labels",)),
            (("--c", "0.3"), ("--c: my.csv comes with its own labels",)),
            (("--positive", "1,2"), ("--positive: my.csv comes with its own labels",)),
            (("--scheme", "case-control"), ("--scheme must be one-sample (all rows of", "two-sample (the unlabeled")),
            (("--label-col", "labelled"), ("(--label-col) 'labelled'", "did you mean 'labeled'?")),
            (("--label-col", "mean radius"), ("'mean radius'", "1 and 0, 1 and -1, true and false, or two texts")),
            (("--test", "my.csv"), ("--test my.csv needs --truth-col",)),
        ],
        ids=lambda value: "-".join(value) if isinstance(value, tuple) and value[0].startswith("--") else "",
    )
    def test_a_request_for_what_is_not_there_is_one_line(
        self, here: Run, home: Path, arguments: tuple[str, ...], words: tuple[str, ...]
    ) -> None:
        line = line_of_the_last(here(*SOUND, *arguments, "--results", "refused"))
        for word in words:
            assert word in line
        assert not (home / "refused").exists()

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--prior", "0.1"), ("prior 0.1 contradicts the labels: 80 of 455", "above 0.1758")),
            (
                ("--set", "validation.fraction=0.001"),
                ("'pa' is undefined on this split", "--select can be last here"),
            ),
        ],
        ids=["prior", "criterion"],
    )
    def test_what_the_rows_refuse_is_recorded(
        self, pubench: Run, home: Path, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
    ) -> None:
        line = line_of_the_last(pubench(*SOUND, "--data", home / "my.csv", *arguments))
        for word in words:
            assert word in line
        (path,) = (tmp_path / "results" / "failed").rglob("*.json")
        failure = Failure.model_validate_json(path.read_text())
        assert (failure.cause, failure.spec.data.key) == ("refused", "my.csv")
        assert path.parent.name == f"{failure.run_id}-1"

    def test_without_a_prior_the_true_one_would_be_given_and_is_refused(self, here: Run) -> None:
        for none in ((), ("--prior", "unknown")):
            line = error_line(here(*NNPU, "--data", "my.csv", *none))
            assert "nnpu needs the class prior, which is not known here; give what you believe (--prior 0.3)" in line
        assert "prior true: without true labels" in error_line(here(*NNPU, "--data", "my.csv", "--prior", "true"))

    def test_a_method_that_needs_no_prior_runs_without_one(self, here: Run, home: Path) -> None:
        vpu = (*PLAIN, "--method", "vpu", "--data", "my.csv", "--set", "epochs=3")
        done = here(*vpu)
        result = Result.model_validate_json((folder_of(done, home) / "result.json").read_text())
        assert "prior unknown" in done.stdout
        assert (result.spec.prior, result.data.prior.given, result.selected) == ("unknown", None, "pauc")
        assert "pa" not in result.criteria
        assert "pa" not in result.chosen.measures["validation"]
        line = error_line(here(*vpu, "--select", "pa"))
        assert "criterion 'pa' needs the class prior and none is known; --prior 0.3 gives one" in line

    def test_columns_of_a_file_are_refused_with_a_data_set(self, here: Run) -> None:
        line = error_line(here("run", "--method", "nnpu", "--data", "digits", "--label-col", "s", "--test", "my.csv"))
        assert "--label-col, --test: only a table of your own has such columns; name it with --data my.csv" in line

    def test_without_a_label_column_the_columns_are_said(self, here: Run) -> None:
        line = error_line(here("run", "--method", "nnpu", "--data", "my.csv"))
        assert "--label-col COLUMN must name the column of labels; columns are mean radius, " in line
        assert line.endswith(", labeled")

    def test_the_first_line_warns_of_decisions_that_are_all_alike(self, here: Run) -> None:
        done = here(*SOUND, "--prior", "0.999", "--set", "epochs=3", "--results", "alike")
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stderr
        first = " ".join(done.stdout.split("nnpu on my.csv")[0].split())
        assert re.match(r"warning: all \d+ unlabeled rows are decided positive \(scores from ", first)
        assert "take as many of the highest scores as the prior says" in first

    def test_a_run_without_a_test_part_is_tracked(self, here: Run, home: Path, tracking_database: Path) -> None:
        (home / "tracked").mkdir()
        shutil.copy(tracking_database, home / "tracked")
        tracked = [word for word in SOUND if word != "--no-tracking"]
        done = here(*tracked, "--results", "tracked")
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stderr
        assert here("track", "--results", "tracked").stdout.startswith("0 sent, 1 already there")


def id_of(text: str) -> str:
    """The run id of a resolved spec."""
    spec = RunSpec.model_validate(yaml.safe_load(text))
    implementation = method_class(registry().find(MethodInfo, spec.method.key))
    return run_id(spec, implementation.Config.model_validate(spec.method.config))


def line_of_the_last(done: subprocess.CompletedProcess[str]) -> str:
    """The error line, after what was said of the file."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    *said, line = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert not [text for text in said if "rror" in text.replace(" error", "")]
    return line


class TestIdentity:
    def id_of(self, here: Run, *arguments: object) -> str:
        done = here(*arguments, "--dry-run")
        assert done.returncode == 0, done.stderr
        return id_of(done.stdout)

    def test_a_run_is_the_content_of_its_file_and_not_its_place(self, here: Run, home: Path, record: Result) -> None:
        (home / "elsewhere").mkdir()
        copy = home / "elsewhere" / "my.csv"
        copy.write_bytes((home / "my.csv").read_bytes())
        request = (*NNPU, "--prior", "0.5", "--data")
        for place in ("my.csv", "./my.csv", "elsewhere/my.csv", copy):
            assert self.id_of(here, *request, place) == record.run_id
        copy.write_text(copy.read_text() + "\n")
        assert self.id_of(here, *request, copy) != record.run_id

    def test_the_place_of_a_test_file_does_not_count_and_its_content_does(self, here: Run, home: Path) -> None:
        (home / "tests").mkdir()
        copy = home / "tests" / "another-name.csv"
        copy.write_bytes((home / "test.csv").read_bytes())
        request = (*SOUND, "--truth-col", "y", "--test")
        assert self.id_of(here, *request, "test.csv") == self.id_of(here, *request, copy)
        copy.write_text("\n".join(copy.read_text().splitlines()[:-1]))
        assert self.id_of(here, *request, "test.csv") != self.id_of(here, *request, copy)

    def test_the_same_run_is_not_run_again(self, here: Run, first: subprocess.CompletedProcess[str]) -> None:
        again = here(*SOUND)
        assert again.stdout == first.stdout
        assert "stored result of " in again.stderr

    def test_a_dry_run_is_a_run_file_until_the_file_is_edited(self, pubench: Run, home: Path, tmp_path: Path) -> None:
        table = (home / "my.csv").read_text()
        (tmp_path / "my.csv").write_text(table)
        spec = pubench(*SOUND, "--dry-run").stdout
        (tmp_path / "run.yaml").write_text(spec)
        assert pubench("run", "--config", "run.yaml", "--dry-run").stdout == spec
        done = pubench("run", "--config", "run.yaml", "--format", "json")
        assert json.loads(done.stdout)["run_id"] == id_of(spec)
        (tmp_path / "my.csv").write_text(table.replace("17.99", "17.98", 1))
        line = error_line(pubench("run", "--config", "run.yaml"))
        assert "my.csv is not the file this spec was written for: sha256" in line
        assert "c = " not in error_line(pubench("run", "--config", "run.yaml", "--c", "0.5"))

    def test_a_data_set_beside_a_file_is_refused(self, here: Run, home: Path) -> None:
        (home / "mine.yaml").write_text(here(*SOUND, "--dry-run").stdout)
        line = error_line(here("run", "--config", "mine.yaml", "--data", "digits"))
        assert "--data: the data are a data set (digits) or a file (my.csv), not both" in line


def plan_of(home: Path, name: str, *sets: str) -> Plan:
    assignments = (
        f"data.own.path={home / name}",
        "data.own.label_col=labeled",
        "method.key=nnpu",
        "prior=0.5",
        "execution.threads=1",
        f"execution.results={home / 'in-process'}",
    )
    return resolve([assigned(*assignments, *sets)], registry())


def ran(home: Path, name: str, *sets: str) -> Outcome:
    return execute(plan_of(home, name, "epochs=2", "lr=0.01", *sets))


def predictions(outcome: Outcome) -> bytes:
    return (outcome.folder / "predictions.csv").read_bytes()


@pytest.fixture(scope="module")
def outcomes(home: Path) -> dict[str, Outcome]:
    tested = (f"data.own.test={home / 'test.csv'}", "data.own.truth_col=y")
    return {name: ran(home, f"{name}.csv", *tested) for name in ("my", "truth", "permuted")}


class TestTruth:
    """With a test file the training rows are the same whatever the truth column says."""

    def test_knowing_it_changes_no_score(self, outcomes: dict[str, Outcome], folder: Path) -> None:
        assert (
            predictions(outcomes["truth"]) == predictions(outcomes["my"]) == (folder / "predictions.csv").read_bytes()
        )

    def test_permuting_what_is_hidden_changes_no_score(self, outcomes: dict[str, Outcome]) -> None:
        assert predictions(outcomes["permuted"]) == predictions(outcomes["truth"])
        hidden = [o.result.criteria["f1"].value for o in (outcomes["permuted"], outcomes["truth"])]
        assert hidden[0] != hidden[1]

    def test_a_test_file_alone_gives_measures_and_no_oracle_criterion(self, outcomes: dict[str, Outcome]) -> None:
        alone, both = outcomes["my"].result, outcomes["truth"].result
        assert set(alone.criteria) == {"pa", "pauc", "last"}
        assert set(both.criteria) == {"pa", "pauc", "f1", "macro-f1", "oa", "last"}
        assert alone.test == both.test
        assert (alone.test["accuracy"] or 0) > 0.8
        assert set(alone.chosen.measures["validation"]) == PU_ONLY
        assert both.data.test is not None
        positive = both.data.test.positive or 0
        assert alone.data.test == both.data.test == PartFacts(rows=80, positive=positive, negative=80 - positive)
        assert alone.data.prior.true is None
        assert alone.data.train.positive is None

    def test_without_a_test_file_a_part_is_split_off(self, home: Path) -> None:
        result = ran(home, "truth.csv", "data.own.truth_col=y", "prior=true").result
        assert result.data.test == PartFacts(rows=114, positive=72, negative=42)
        assert result.data.prior.given == result.data.prior.true == pytest.approx(357 / 569, abs=0.02)
        assert (result.test["auc"] or 0) > 0.9

    def test_who_is_granted_it_is_an_oracle(self, home: Path) -> None:
        assert ran(home, "truth.csv", "data.own.truth_col=y", "method.key=pn").result.oracle


class TestSchemes:
    """100 of 357 positives are labeled, of 569 rows."""

    def facts(self, home: Path, *sets: str) -> DataFacts:
        return ran(
            home, "truth.csv", "data.own.truth_col=y", "prior=true", "validation.fraction=0.2", *sets
        ).result.data

    def test_the_prior_of_one_sample_is_of_all_rows(self, home: Path) -> None:
        data = self.facts(home)
        train = data.train
        rows = train.labeled + train.unlabeled  # type: ignore[operator]
        assert data.prior.true == (train.labeled + train.unlabeled_positive) / rows  # type: ignore[operator]
        assert data.calibrated  # nnPU is a two-sample method: it is given U and P together

    def test_the_prior_of_two_samples_is_of_the_unlabeled_rows(self, home: Path) -> None:
        data = self.facts(home, "data.scheme=two-sample")
        train = data.train
        assert data.prior.true == train.unlabeled_positive / train.unlabeled  # type: ignore[operator]
        assert data.prior.true == pytest.approx(257 / 469, abs=0.05)
        assert not data.calibrated
        assert data.test is not None
        assert data.test.rows == 94  # a fifth of the unlabeled rows

    def test_a_small_prior_contradicts_the_labels_of_one_sample_only(self, here: Run) -> None:
        small = (*NNPU, "--data", "my.csv", "--prior", "0.1", "--results", "small")
        assert "prior 0.1 contradicts the labels" in line_of_the_last(here(*small))
        assert here(*small, "--scheme", "two-sample").returncode == 0


class TestAnotherCriterion:
    """Predictions are of the epoch that names the result."""

    def test_predictions_follow_the_criterion_without_training(self, pubench: Run, home: Path, tmp_path: Path) -> None:
        request = (*PLAIN, "--method", "nnpu", "--data", home / "my.csv", "--prior", "0.5", "--threads", 1)
        request = (*request, "--set", "epochs=3", "--set", "lr=1e-2")
        before = folder_of(pubench(*request), tmp_path)
        of_pa = (before / "predictions.csv").read_bytes()
        criteria = Result.model_validate_json((before / "result.json").read_text()).criteria
        other = next(name for name, found in criteria.items() if found.snapshot != criteria["pa"].snapshot)
        done = pubench(*request, "--select", other)
        assert folder_of(done, tmp_path) == before
        assert "train " not in done.stderr
        of_other = (before / "predictions.csv").read_bytes()
        assert of_other != of_pa
        at_once = folder_of(pubench(*request, "--select", other, "--results", "at-once"), tmp_path)
        assert (at_once / "predictions.csv").read_bytes() == of_other
        pubench(*request, "--select", "pa")
        assert (before / "predictions.csv").read_bytes() == of_pa


@pytest.fixture(scope="module")
def colors(home: Path, here: Run) -> str:
    """Run id of a model of two numbers and a category; its training file has no gap."""
    rng = np.random.default_rng(0)
    labeled = (np.arange(90) < 30).astype(int)
    columns = {"a": rng.normal(labeled), "c": rng.choice(["blue", "red"], 90), "b": rng.normal(size=90)}
    pd.DataFrame({**columns, "s": labeled}).round(3).to_csv(home / "colors.csv", index=False)
    request = ("--data", "colors.csv", "--label-col", "s", "--prior", "0.6", "--save-model", "--results", "kept")
    return folder_of(here(*NNPU, *request), home).name


class TestPredict:
    @pytest.mark.parametrize(
        ("method", "more"),
        [("nnpu", QUICK), ("puet", ("--set", "n_estimators=20")), ("p3mix-c", ("--set", "epochs=1"))],
    )
    def test_the_rows_of_the_file_get_the_scores_of_the_run(
        self, here: Run, home: Path, method: str, more: tuple[str, ...]
    ) -> None:
        request = (*PLAIN, "--method", method, "--data", "my.csv", "--prior", "0.5", "--threads", 1, *more)
        folder = folder_of(here(*request, "--save-model", "--results", "kept"), home)
        before = rows_of((folder / "predictions.csv").read_text())
        every = rows_of(here("predict", folder, "my.csv").stdout)
        assert [int(row["row"]) for row in every] == list(range(N))
        scores = np.array([float(row["score"]) for row in before])
        again = np.array([float(every[int(row["row"])]["score"]) for row in before])
        assert np.allclose(again, scores, rtol=1e-5)  # batches of other rows may differ in the last bit
        same = rows_of(here("predict", folder, "unlabeled.csv").stdout)
        assert [{**row, "row": ""} for row in same] == [{**row, "row": ""} for row in before]

    def test_a_model_of_another_epoch_than_the_result_s_is_said_to_be_one(
        self, pubench: Run, home: Path, tmp_path: Path
    ) -> None:
        request = (*PLAIN, "--method", "nnpu", "--data", home / "my.csv", "--prior", "0.5", "--threads", 1)
        request = (*request, "--set", "epochs=3", "--set", "lr=1e-2")
        folder = folder_of(pubench(*request, "--save-model"), tmp_path)
        before = pubench("predict", folder, home / "my.csv")
        assert (before.returncode, before.stderr) == (0, "")
        result = Result.model_validate_json((folder / "result.json").read_text())
        other = next(name for name, found in result.criteria.items() if found.snapshot != result.chosen.snapshot)
        folder_of(pubench(*request, "--select", other), tmp_path)
        after = pubench("predict", folder, home / "my.csv")
        assert (after.returncode, after.stdout) == (0, before.stdout)
        assert after.stderr == (
            f"the stored model is that of {result.chosen.snapshot}, not of {result.criteria[other].snapshot}, which "
            f"{other} chose; to get that one, run again with --select {other} --save-model\n"
        )
        folder_of(pubench(*request, "--select", other, "--save-model"), tmp_path)
        now = pubench("predict", folder, home / "my.csv")
        assert (now.returncode, now.stderr) == (0, "")
        assert now.stdout != before.stdout

    NEW = pd.DataFrame({"a": [0.1, -0.4, 2.0], "c": ["red", "blue", "red"], "b": [1.0, 0.5, -3.0]})

    def scored(self, here: Run, home: Path, run: str, frame: pd.DataFrame, *more: object) -> Any:
        frame.to_csv(home / "new.csv", index=False)
        return here("predict", run, "new.csv", "--results", "kept", *more)

    def scores(self, *request: Any) -> list[float]:
        done = self.scored(*request)
        assert done.returncode == 0, done.stderr
        return [float(row["score"]) for row in rows_of(done.stdout)]

    def test_columns_are_found_by_name(self, here: Run, home: Path, colors: str) -> None:
        plain = self.scores(here, home, colors, self.NEW)
        other = self.NEW.assign(more="x", s=0)[["more", "b", "s", "c", "a"]]
        assert self.scores(here, home, colors, other) == plain
        assert self.scores(here, home, colors[:6], self.NEW) == plain

    def test_every_format_is_scored_alike(self, here: Run, home: Path, colors: str) -> None:
        plain = self.scores(here, home, colors, self.NEW)
        self.NEW.to_parquet(home / "new.parquet")
        text = self.NEW.to_csv(index=False, sep=";", decimal=",")
        (home / "new-excel.csv").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        for name in ("new.parquet", "new-excel.csv"):
            rows = rows_of(here("predict", colors, name, "--results", "kept").stdout)
            assert [float(row["score"]) for row in rows] == plain

    def test_an_unseen_category_is_said_and_scored(self, here: Run, home: Path, colors: str) -> None:
        done = self.scored(here, home, colors, self.NEW.assign(c=["red", "green", "red"]))
        assert done.returncode == 0
        assert done.stderr == "new.csv: 'c' has values that training did not have (green); all zero\n"
        assert len(rows_of(done.stdout)) == 3

    def test_a_gap_gets_the_training_median_although_training_had_none(
        self, here: Run, home: Path, colors: str
    ) -> None:
        done = self.scored(here, home, colors, self.NEW.assign(a=[np.nan, -0.4, 2.0]))
        assert done.returncode == 0, done.stderr
        assert "new.csv: missing values: 'a' 1; numbers get the training pool's median" in done.stderr
        assert all(np.isfinite(float(row["score"])) for row in rows_of(done.stdout))

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda frame: frame.drop(columns="b"), ("new.csv lacks 'b'; expected a table with every feature",)),
            (lambda frame: frame.rename(columns={"b": "b2"}), ("new.csv lacks 'b'", "'b2' may be that, under another")),
            (lambda frame: frame.assign(b=["1", "x", "2"]), ("new.csv: column 'b' is not numeric", "position 1")),
            (lambda frame: frame.assign(b=[1, np.inf, 2]), ("new.csv: row 1 of column 'b' is inf",)),
            (lambda frame: frame.iloc[:0], ("new.csv has columns and no rows",)),
        ],
        ids=["missing", "renamed", "text", "infinite", "empty"],
    )
    def test_rows_that_do_not_fit_are_one_line(
        self, here: Run, home: Path, colors: str, change: Any, words: tuple[str, ...]
    ) -> None:
        line = error_line(self.scored(here, home, colors, change(self.NEW)))
        for word in words:
            assert word in line

    def test_predictions_are_written_to_a_file_on_request(self, here: Run, home: Path, colors: str) -> None:
        expected = self.scored(here, home, colors, self.NEW).stdout
        done = self.scored(here, home, colors, self.NEW, "--out", "scores.csv")
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.startswith("3 rows scored, ")
        assert (home / "scores.csv").read_text() == expected
        (home / "folder.csv").mkdir()
        assert "--out folder.csv is a folder" in error_line(
            self.scored(here, home, colors, self.NEW, "--out", "folder.csv")
        )

    def test_what_cannot_be_scored_with_is_one_line(self, here: Run, home: Path, colors: str, folder: Path) -> None:
        assert "no finished run 'ffff' in results" in error_line(here("predict", "ffff", "my.csv"))
        assert "cannot read absent.csv: No such file" in error_line(
            here("predict", colors, "absent.csv", "--results", "kept")
        )
        kept = folder_of_run(home / "kept", colors) / "model.safetensors"
        whole = kept.read_bytes()
        kept.write_bytes(whole[:-9])
        assert "is not a model of this version" in error_line(self.scored(here, home, colors, self.NEW), code=1)
        kept.unlink()
        assert "--save-model" in error_line(self.scored(here, home, colors, self.NEW))
        kept.write_bytes(whole)


@pytest.fixture(scope="module")
def of_a_data_set(here: Run, home: Path) -> Path:
    """The record of a run on a data set, with its model."""
    request = ("run", "--method", "nnpu", "--data", "breast-cancer", "--no-tracking", "--save-model", *QUICK)
    return folder_of(here(*request, "--results", "kept"), home)


class TestPredictOfADataSet:
    """Rows in the data set's order of features: a matrix ``x`` of an npz, or numeric columns."""

    def test_a_matrix_and_a_table_are_scored_as_the_run_scored_them(
        self, here: Run, home: Path, of_a_data_set: Path
    ) -> None:
        x = cancer()[0].drop(columns="labeled")
        np.savez(home / "x.npz", x=x.to_numpy(), y=np.zeros(N))
        x.to_csv(home / "x.csv", index=False)
        matrix, table = (here("predict", of_a_data_set, name).stdout for name in ("x.npz", "x.csv"))
        assert matrix == table
        scores = np.array([float(row["score"]) for row in rows_of(matrix)])
        chosen = Result.model_validate_json((of_a_data_set / "result.json").read_text()).chosen
        with np.load(of_a_data_set / "scores.npz") as arrays:
            stored = arrays[f"test_scores_{chosen.snapshot}"]
            assert np.allclose(scores[arrays["test_rows"]], stored, rtol=1e-5, atol=1e-6)

    def test_other_rows_are_one_line(self, here: Run, home: Path, of_a_data_set: Path) -> None:
        np.savez(home / "narrow.npz", x=np.zeros((2, 29)))
        np.savez(home / "other.npz", z=np.zeros((2, 30)))
        np.savez(home / "gap.npz", x=np.full((2, 30), np.nan))
        (home / "cut.npz").write_bytes((home / "narrow.npz").read_bytes()[:99])
        with (home / "array.npz").open("wb") as file:
            np.save(file, np.zeros((2, 30)))
        for name, words in {
            "my.csv": "my.csv has 31 columns; the model was trained on 30 features",
            "narrow.npz": "expected rows of finite numbers in shape (30), found (29)",
            "gap.npz": "expected rows of finite numbers in shape (30), found (30)",
            "other.npz": "is not an npz with an array 'x' of shape (n, 30)",
            "cut.npz": "is not an npz with an array 'x'",
            "array.npz": "is not an npz with an array 'x'",
            "absent.npz": "cannot read absent.npz: No such file or directory",
        }.items():
            assert words in error_line(here("predict", of_a_data_set, name))


@pytest.fixture(scope="module")
def done(home: Path, here: Run) -> subprocess.CompletedProcess[str]:
    rng = np.random.default_rng(0)
    n = 80
    status = np.where(np.arange(n) < 20, "known case", "unknown")
    frame = pd.DataFrame(
        {
            "Patient": [f"P{k:03}" for k in range(n)],
            "Größe ": rng.normal(170, 9, n).round(1),
            "Blutgruppe": rng.choice(["0", "A", "B", "AB"], n),
            "raucht": np.where(rng.random(n) < 0.3, "TRUE", "FALSE"),
            "CRP": np.where(np.arange(n) == 5, "<0,3", rng.integers(1, 9, n).astype(str)),
            "Klinik": "Nord",
            "Status": status,
            "Bemerkung": [f"siehe Akte\n{k}" if k % 2 else np.nan for k in range(n)],
            "": np.nan,
        }
    )
    frame.loc[7, "Größe "] = np.nan
    frame.loc[[60, 61], :] = frame.loc[[62, 62], :].to_numpy()
    text = frame.to_csv(index=False, sep=";", decimal=",", lineterminator="\r\n")
    (home / "Export.CSV").write_bytes(b"\xef\xbb\xbf" + text.encode())
    request = ("--data", "Export.CSV", "--label-col", "Status", "--positive-value", "known case", "--prior", "0.5")
    return here(*NNPU, *request, "--drop", "Bemerkung,Patient", "--results", "messy")


class TestMessyFile:
    """An export from a spreadsheet, with everything that goes wrong in one."""

    @pytest.mark.parametrize(
        "line",
        [
            "Export.CSV: 80 rows; 'Status': known case = labeled positive, unknown = unlabeled; "
            "20 labeled positives, 60 unlabeled",
            "left out: 'Klinik' (constant); 'Unnamed: 8' (empty)",
            "missing values: 'Größe' 1; numbers get the training pool's median, categories one of their own ('?')",
            "2 rows repeat an earlier one; they are kept",
        ],
    )
    def test_a_messy_file_is_read_and_what_was_done_is_said(
        self, done: subprocess.CompletedProcess[str], line: str
    ) -> None:
        assert done.returncode == 0, done.stderr
        assert line in done.stderr.splitlines()

    def test_a_word_among_numbers_is_pointed_out(self, done: subprocess.CompletedProcess[str]) -> None:
        (line,) = [text for text in done.stderr.splitlines() if "'CRP' is read as text" in text]
        assert "79 of 80 values are numbers, row 5 is '<0,3'; leave unknown cells empty" in line

    def test_features_are_numbers_truth_values_and_categories(self, done: subprocess.CompletedProcess[str]) -> None:
        assert " 2 numeric columns, 2 categorical as one-hot: 'Blutgruppe' (4), 'CRP' (9)" in done.stderr


TABLE = "a,labeled\n1,1\n2,0\n3,0\n"
#: One of each kind; the tests of pubench-datasets-tables have the others.
BROKEN: dict[str, tuple[str, bytes, str]] = {
    "ragged": ("bad.csv", b"a,labeled\n1,1\n2,0,3\n", "Expected 2 fields in line 3, saw 3"),
    "another-kind": ("bad.xls", b"PK\x03\x04", "expected a table that ends in .csv"),
    "truncated-gzip": ("bad.csv.gz", gzip.compress(TABLE.encode() * 99)[:-12], "is damaged"),
    "no-parquet": ("bad.parquet", TABLE.encode() * 9, "is not a parquet file"),
    "no-npz": ("bad.npz", TABLE.encode() * 9, "is not an npz file"),
    "no-label": ("bad.csv", TABLE.replace(",1", ",0").encode(), "labels no row"),
}


class TestBrokenFile:
    @pytest.mark.parametrize(("name", "content", "words"), BROKEN.values(), ids=BROKEN)
    def test_a_file_that_cannot_be_used_is_one_line(
        self, pubench: Run, tmp_path: Path, name: str, content: bytes, words: str
    ) -> None:
        (tmp_path / name).write_bytes(content)
        line = error_line(pubench(*NNPU, "--data", name, "--prior", "0.5"))
        assert name in line
        assert words in line
        assert not (tmp_path / "results").exists()

    @pytest.mark.parametrize("name", ["my.parquet", "my.npz"])
    def test_a_truncated_one_is_one_line(self, pubench: Run, home: Path, tmp_path: Path, name: str) -> None:
        whole = (home / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        assert "or a damaged one" in error_line(pubench(*NNPU, "--data", name, "--prior", "0.5"))

    def test_an_absent_one_and_a_folder_are_one_line(self, pubench: Run, tmp_path: Path) -> None:
        (tmp_path / "dir.csv").mkdir()
        request = (*NNPU, "--prior", "0.5", "--data")
        looked_at = f"({tmp_path / 'absent.csv'}; a relative path counts from the current folder)"
        absent = error_line(pubench(*request, "absent.csv"))
        assert f"cannot read absent.csv: No such file or directory {looked_at}" in absent
        assert "counts from" not in error_line(pubench(*request, str(tmp_path / "absent.csv")))
        assert "cannot read dir.csv: Is a directory" in error_line(pubench(*request, "dir.csv"))
