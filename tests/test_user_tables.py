"""A user's table as PU data, from the command line: what is read, refused, recorded, predicted, and never learned.

The table is scikit-learn's breast-cancer table with 100 labeled positives and no true labels.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from printed import Done, Run, folder_of, one_json
from pubench_metrics import pubench_metrics
from refusals import error_line
from sklearn.datasets import load_breast_cancer

from pubench_cli.yaml_layers import assigned
from pubench_core.engine.execute import execute
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry
from pubench_core.results import DataFacts, PartFacts, Result, RunResult

N, N_LABELED = 569, 100
QUICK = ("--set", "epochs=2", "--set", "lr=1e-2", "--threads", 1)
PLAIN = ("run", "--label-col", "labeled", "--no-tracking")
NNPU = (*PLAIN, "--method", "nnpu", *QUICK)
SOUND = (*NNPU, "--data", "my.csv", "--prior", "0.5")
NEEDS_TRUTH = "needs true labels and my.csv has none"
#: Metrics for which no true label is needed.
PU_ONLY = {"pa", "pa-published", "pauc"} | {
    info.key for info in pubench_metrics() if info.family not in ("oracle", "proxy")
}


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
    table.assign(y=truth).to_csv(folder / "truth.csv", index=False)
    hidden = table.labeled.to_numpy() == 0
    permuted = truth.copy()
    permuted[hidden] = np.random.default_rng(1).permutation(truth[hidden])
    table.assign(y=permuted).to_csv(folder / "permuted.csv", index=False)
    table.assign(y=truth).sample(80, random_state=0).to_csv(folder / "test.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def first(here: Run) -> Done:
    done = here(*SOUND, "--save-model")
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(first: Done, home: Path) -> Path:
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
    def test_the_result_is_on_stdout_and_measures_nothing(self, first: Done) -> None:
        title, header, *rows = first.stdout.splitlines()
        assert title == "nnpu on my.csv: one-sample, given, seed 2; 80 labeled, 375 unlabeled, prior 0.500"
        assert header.split() == ["selected", "by", "epoch", "value"]
        assert [row.split()[:2] for row in rows[:2]] == [[">", "pa"], ["last", "2"]]
        assert "no true labels, so nothing is measured on them" in rows[2]
        assert "accuracy" not in first.stdout

    def test_what_held_out_rows_imply_of_the_truth_is_said(self, first: Done) -> None:
        (line,) = [line for line in first.stdout.splitlines() if line.startswith("from 20 held-out labeled rows, if ")]
        assert re.search(r"the prior holds: recovered AUC [01]\.\d\d \([01]\.\d\d to [01]\.\d\d\), recovered ", line)

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

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--prior", "true"), ("prior true: without true labels", "give what you believe (--prior 0.3)")),
            (("--prior", "scaled:1.2"), ("prior scaled:1.2", "--prior 0.3")),
            (("--select", "f1"), (f"criterion 'f1' {NEEDS_TRUTH}; --truth-col COLUMN names them",)),
            (("--set", "selection.criteria=[pa, macro-f1]"), ("criterion 'macro-f1' needs true labels",)),
            (("--set", "evaluation.metrics=[accuracy]"), (f"metric 'accuracy' {NEEDS_TRUTH}; --truth-col COLUMN",)),
            (("--set", "evaluation.trace=[test]"), (f"tracing test rows {NEEDS_TRUTH}",)),
            (("--method", "pn"), (f"pn {NEEDS_TRUTH}; --truth-col COLUMN names them",)),
            (("--mech", "scar"), ("--mech: my.csv comes with its own labels",)),
            (("--c", "0.3"), ("--c: my.csv comes with its own labels",)),
            (("--positive", "1,2"), ("--positive: my.csv comes with its own labels",)),
            (("--scheme", "case-control"), ("--scheme must be one-sample (all rows of", "two-sample (the unlabeled")),
            (("--test", "my.csv"), ("--test my.csv needs --truth-col",)),
        ],
        ids=lambda value: "-".join(value) if isinstance(value, tuple) and value[0].startswith("--") else "",
    )
    def test_a_request_for_what_is_not_there_is_one_line(
        self, within: Run, home: Path, arguments: tuple[str, ...], words: tuple[str, ...]
    ) -> None:
        line = line_of_the_last(within(*SOUND, *arguments, "--results", "refused"))
        for word in words:
            assert word in line
        assert not (home / "refused").exists()

    def test_without_a_prior_the_true_one_would_be_given_and_is_refused(self, within: Run) -> None:
        for none in ((), ("--prior", "unknown")):
            line = error_line(within(*NNPU, "--data", "my.csv", *none))
            assert "nnpu needs the class prior, which is not known here; give what you believe (--prior 0.3)" in line

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


def line_of_the_last(done: Done) -> str:
    """The error line, after what was said of the file."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    *said, line = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert not [text for text in said if "rror" in text.replace(" error", "")]
    return line


def test_a_dry_run_is_a_run_file_until_the_table_is_edited(
    pubench: Run, home: Path, tmp_path: Path, record: Result
) -> None:
    table = (home / "my.csv").read_text()
    (tmp_path / "my.csv").write_text(table)
    spec = pubench(*SOUND, "--dry-run").stdout
    (tmp_path / "run.yaml").write_text(spec)
    assert pubench("run", "--config", "run.yaml", "--dry-run").stdout == spec
    done = pubench("run", "--config", "run.yaml", "--format", "json")
    assert one_json(done)["run_id"] == record.run_id  # wherever the file is
    (tmp_path / "my.csv").write_text(table.replace("17.99", "17.98", 1))
    line = error_line(pubench("run", "--config", "run.yaml"))
    assert "my.csv is not the file this spec was written for: sha256" in line
    assert "c = " not in error_line(pubench("run", "--config", "run.yaml", "--c", "0.5"))


def ran(home: Path, name: str, *sets: str) -> RunResult:
    own = (f"data.own.path={home / name}", "data.own.label_col=labeled", f"execution.results={home / 'in-process'}")
    request = ("method.key=nnpu", "prior=0.5", "execution.threads=1", "epochs=2", "lr=0.01")
    return execute(resolve([assigned(*own, *request, *sets)], registry()))


def predictions(outcome: RunResult) -> bytes:
    return (outcome.folder / "predictions.csv").read_bytes()


@pytest.fixture(scope="module")
def outcomes(home: Path) -> dict[str, RunResult]:
    tested = (f"data.own.test={home / 'test.csv'}", "data.own.truth_col=y")
    return {name: ran(home, f"{name}.csv", *tested) for name in ("my", "truth", "permuted")}


class TestTruth:
    """With a test file the training rows are the same whatever the truth column says."""

    def test_knowing_it_changes_no_score(self, outcomes: dict[str, RunResult], folder: Path) -> None:
        plain = (folder / "predictions.csv").read_bytes()
        assert predictions(outcomes["truth"]) == predictions(outcomes["my"]) == plain

    def test_permuting_what_is_hidden_changes_no_score(self, outcomes: dict[str, RunResult]) -> None:
        assert predictions(outcomes["permuted"]) == predictions(outcomes["truth"])
        hidden = [o.result.criteria["f1"].value for o in (outcomes["permuted"], outcomes["truth"])]
        assert hidden[0] != hidden[1]

    def test_a_test_file_alone_gives_measures_and_no_oracle_criterion(self, outcomes: dict[str, RunResult]) -> None:
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

    def test_who_is_granted_it_is_an_oracle(self, home: Path) -> None:
        assert ran(home, "truth.csv", "data.own.truth_col=y", "method.key=pn").result.oracle


class TestSchemes:
    """100 of 357 positives are labeled, of 569 rows."""

    def facts(self, home: Path, *sets: str) -> DataFacts:
        known = ("data.own.truth_col=y", "prior=true", "validation.fraction=0.2")
        return ran(home, "truth.csv", *known, *sets).result.data

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


@pytest.fixture(scope="module")
def colors(home: Path, here: Run) -> str:
    """Run id of a model of two numbers and a category; its training file has no gap."""
    rng = np.random.default_rng(0)
    labeled = (np.arange(90) < 30).astype(int)
    columns = {"a": rng.normal(labeled), "c": rng.choice(["blue", "red"], 90), "b": rng.normal(size=90)}
    pd.DataFrame({**columns, "s": labeled}).round(3).to_csv(home / "colors.csv", index=False)
    request = ("--data", "colors.csv", "--label-col", "s", "--prior", "0.6", "--save-model", "--results", "kept")
    return folder_of(here(*NNPU, *request), home).name


NEW = pd.DataFrame({"a": [0.1, -0.4, 2.0], "c": ["red", "blue", "red"], "b": [1.0, 0.5, -3.0]})


@pytest.fixture
def scored(within: Run, home: Path, colors: str) -> Run:
    """``scored(frame, *more)``: what the command printed that scores these rows with that model."""

    def score(frame: pd.DataFrame, *more: object, run: str = colors) -> Done:
        frame.to_csv(home / "new.csv", index=False)
        return within("predict", run, "new.csv", "--results", "kept", *more)

    return score


class TestPredict:
    @pytest.mark.parametrize(
        ("frame", "words"),
        [
            (NEW.drop(columns="b"), ("new.csv lacks 'b'; expected a table with every feature",)),
            (NEW.rename(columns={"b": "b2"}), ("new.csv lacks 'b'", "'b2' may be that, under another")),
            (NEW.iloc[:0], ("new.csv has columns and no rows",)),
        ],
        ids=["missing", "renamed", "empty"],
    )
    def test_rows_that_do_not_fit_are_one_line(self, scored: Run, frame: pd.DataFrame, words: tuple[str, ...]) -> None:
        line = error_line(scored(frame))
        for word in words:
            assert word in line


@pytest.fixture(scope="module")
def of_a_data_set(here: Run, home: Path) -> Path:
    """The record of a run on a data set, with its model."""
    request = ("run", "--method", "nnpu", "--data", "breast-cancer", "--no-tracking", "--save-model", *QUICK)
    return folder_of(here(*request, "--results", "kept"), home)


class TestPredictOfADataSet:
    """Rows in the data set's order of features: a matrix ``x`` of an npz, or numeric columns."""

    def test_a_matrix_and_a_table_are_scored_as_the_run_scored_them(
        self, within: Run, home: Path, of_a_data_set: Path
    ) -> None:
        x = cancer()[0].drop(columns="labeled")
        np.savez(home / "x.npz", x=x.to_numpy(), y=np.zeros(N))
        x.to_csv(home / "x.csv", index=False)
        matrix, table = (within("predict", of_a_data_set, name).stdout for name in ("x.npz", "x.csv"))
        assert matrix == table
        scores = np.array([float(row["score"]) for row in rows_of(matrix)])
        chosen = Result.model_validate_json((of_a_data_set / "result.json").read_text()).chosen
        with np.load(of_a_data_set / "scores.npz") as arrays:
            stored = arrays[f"test_scores_{chosen.snapshot}"]
            assert np.allclose(scores[arrays["test_rows"]], stored, rtol=1e-5, atol=1e-6)

    def test_other_rows_are_one_line(self, within: Run, home: Path, of_a_data_set: Path) -> None:
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
            assert words in error_line(within("predict", of_a_data_set, name))


def test_an_absent_file_and_a_folder_are_one_line(pubench_within: Run, tmp_path: Path) -> None:
    """The tests of pubench-datasets-tables have every file that is no table."""
    (tmp_path / "dir.csv").mkdir()
    request = (*NNPU, "--prior", "0.5", "--data")
    looked_at = f"({tmp_path / 'absent.csv'}; a relative path counts from the current folder)"
    absent = error_line(pubench_within(*request, "absent.csv"))
    assert f"cannot read absent.csv: No such file or directory {looked_at}" in absent
    assert "counts from" not in error_line(pubench_within(*request, str(tmp_path / "absent.csv")))
    assert "cannot read dir.csv: Is a directory" in error_line(pubench_within(*request, "dir.csv"))
    assert not (tmp_path / "results").exists()
