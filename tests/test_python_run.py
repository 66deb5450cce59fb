"""``pubench.run`` and ``pubench.data``: what the command line does, from Python."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

import pubench
from pubench_core.records.record import read_record

pytestmark = pytest.mark.filterwarnings("ignore::pubench.PubenchWarning")
QUICK = {"config": {"epochs": 2}, "tracking": False}


@pytest.fixture(scope="module")
def cancer():
    """(frame, who is labeled, truth)."""
    x, y = load_breast_cancer(return_X_y=True, as_frame=True)
    truth = (y == 0).to_numpy().astype(int)
    return x, (truth == 1) & (np.random.default_rng(0).random(len(y)) < 0.5), truth


class TestRun:
    def test_a_run_in_python_is_the_run_of_the_command_line(self, tmp_path, pubench_in):
        done = pubench_in(tmp_path)(
            *("run", "--method", "nnpu", "--data", "breast-cancer", "--c", "0.2", "--seed", "25", "--set", "epochs=2"),
            "--no-tracking",
        )
        assert done.returncode == 0, done.stderr
        found = pubench.run("nnpu", "breast-cancer", c=0.2, seed=25, results=tmp_path / "results", **QUICK)
        assert found.reused
        assert found.run_id in done.stdout

    def test_a_result_is_kept_and_found_again(self, tmp_path):
        lines: list[str] = []
        first = pubench.run("upu", "breast-cancer", results=tmp_path, **QUICK)
        again = pubench.run("upu", "breast-cancer", results=tmp_path, progress=lines.append, **QUICK)
        forced = pubench.run("upu", "breast-cancer", results=tmp_path, force=True, **QUICK)
        assert (first.reused, again.reused, forced.reused) == (False, True, False)
        assert read_record(first.folder).result.test == first.test == forced.test
        assert "force=True runs it again" in lines[0]
        assert len(pubench.trace(first)) == 2
        assert first.validation["pa"] is not None

    def test_numbers_of_numpy_and_texts_of_paths_are_taken(self, tmp_path):
        found = pubench.run("upu", "breast-cancer", c=np.float32(0.5), seed=np.int64(3), results=str(tmp_path), **QUICK)
        assert (found.result.spec.mechanism.c, found.result.spec.seed) == (0.5, 3)

    def test_classes_and_any_other_field(self, tmp_path):
        found = pubench.run(
            "upu",
            "digits",
            positive=np.arange(3),
            settings={"validation.fraction": 0.3, "evaluation.trace": ["test"]},
            results=tmp_path,
            **QUICK,
        )
        assert found.result.spec.data.positive == (0, 1, 2)
        assert found.result.spec.validation.fraction == 0.3

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"method": "nnpuu"}, "unknown method 'nnpuu'; did you mean 'nnpu'"),
            ({"data": "digit"}, "unknown dataset 'digit'; did you mean 'digits'.*list_datasets"),
            ({"c": 5}, "c=5: given 5; c must be a number in \\(0, 1\\]"),
            ({"mechanism": "scarr"}, "unknown mechanism 'scarr'"),
            ({"config": {"lrr": 1}}, "lrr=1: upu has no field 'lrr'; did you mean 'lr'"),
            ({"config": 3}, "config must be a mapping of hyper-parameters, got 3"),
            ({"preset": "nope"}, "unknown preset of upu 'nope'"),
            ({"seed": -1}, "seed=-1: given -1; seed must be"),
            ({"settings": {"validation.fractoin": 0.1}}, "no field 'fractoin'; did you mean 'fraction'"),
            ({"data": pd.DataFrame({"a": [1]})}, "a table made by pubench.data, got DataFrame"),
            ({"device": "tpu"}, "device='tpu'"),
            ({"data": "nowhere.csv"}, "pubench.data\\('nowhere.csv', labeled=COLUMN\\)"),
        ],
    )
    def test_what_is_wrong_is_a_value_error_in_the_callers_words(self, given, message, tmp_path):
        with pytest.raises(pubench.InvalidRequest, match=message) as error:
            pubench.run(**{"method": "upu", "data": "breast-cancer", "results": tmp_path, "tracking": False, **given})
        assert isinstance(error.value, ValueError)
        assert "\n" not in str(error.value)
        assert "--" not in str(error.value)
        assert list(tmp_path.iterdir()) == []


class TestData:
    def test_frame_array_and_file_are_the_same_data(self, cancer, tmp_path):
        x, labeled, truth = cancer
        frame = pubench.data(x, labeled, truth=truth, name="mine")
        whole = pubench.data(x.assign(labeled=labeled, truth=truth), "labeled", truth="truth", name="mine")
        file = frame.save(tmp_path / "mine.parquet")
        assert frame.own["path"] == whole.own["path"]
        assert frame.notes[1:] == whole.notes[1:] == file.notes[1:]
        runs = [pubench.run("upu", t, prior=0.37, results=tmp_path / "r", **QUICK) for t in (frame, whole, file)]
        assert [run.reused for run in runs] == [False, True, True]
        array = pubench.data(x.to_numpy(), labeled.astype(int), truth=truth)
        found = pubench.run("upu", array, prior=0.37, results=tmp_path / "r", **QUICK)
        assert found.test["auc"] == pytest.approx(runs[0].test["auc"])

    def test_predictions_are_of_the_unlabeled_rows(self, cancer, tmp_path):
        x, labeled, _ = cancer
        found = pubench.predictions(pubench.run("upu", pubench.data(x, labeled), prior=0.37, results=tmp_path, **QUICK))
        assert sorted(found["row"]) == np.flatnonzero(~labeled).tolist()
        assert found["rank"].tolist() == list(range(1, len(found) + 1))
        with pytest.raises(ValueError, match="only runs on user tables"):
            pubench.predictions(pubench.run("upu", "breast-cancer", results=tmp_path, **QUICK))

    @pytest.mark.parametrize("kind", ["pair", "frame", "file"])
    def test_rows_to_measure_on(self, cancer, tmp_path, kind):
        x, labeled, truth = cancer
        part = x.tail(100).assign(truth=truth[-100:])
        part.to_csv(tmp_path / "test.csv", index=False)
        test = {"pair": (x.tail(100), truth[-100:]), "frame": part, "file": tmp_path / "test.csv"}[kind]
        truth_column = {} if kind == "pair" else {"truth": truth}
        table = pubench.data(x, labeled, test=test, **truth_column)
        found = pubench.run("upu", table, prior=0.37, results=tmp_path / "r", **QUICK)
        assert found.result.data.test.rows == 100
        assert found.test["auc"] > 0.5

    def test_printing_it_says_what_was_understood(self, cancer):
        x, labeled, _ = cancer
        text = repr(pubench.data(x.assign(seen=pd.Timestamp("2026-01-01")), labeled, name="tumors"))
        assert text.startswith("PUTable 'tumors'\n  tumors: 569 rows; 'labeled': True = labeled positive")
        assert "left out: 'seen' (constant)" in text
        assert "features keeps it" in repr(pubench.data(x.assign(id=np.arange(569)), labeled))
        assert "data.own" not in repr(pubench.data(x.assign(id=np.arange(569)), labeled))
        assert "mean radius" in pubench.data(x, labeled).features

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({}, "labeled is missing: give an array, or the column .*; columns are mean radius"),
            ({"labeled": [1, 0]}, "labeled: expected 569 values, one per row of x; given shape \\(2,\\)"),
            ({"labeled": "nope"}, "unknown column of data \\(labeled\\) 'nope'"),
            (
                {"labeled": [1, 0], "x": "my.csv"},
                "labeled must be the name of a column if the table is a file, got list",
            ),
            ({"labeled": [1, 0], "x": [1.0, 2.0]}, "array of shape \\(n, d\\), got shape \\(2,\\)"),
            ({"labeled": "mean area", "test": (1, 2, 3)}, "a pair \\(x_test, truth_test\\), got 3"),
        ],
    )
    def test_what_is_wrong_is_one_line(self, cancer, given, message):
        with pytest.raises(ValueError, match=message) as error:
            _ = pubench.data(**{"x": cancer[0], **given}).notes
        assert "\n" not in str(error.value)

    def test_a_spec_of_a_table_in_memory_says_so_when_it_is_gone(self, cancer, tmp_path, pubench_in):
        x, labeled, _ = cancer
        found = pubench.run("upu", pubench.data(x, labeled), prior=0.37, results=tmp_path / "r", **QUICK)
        done = pubench_in(tmp_path)("run", "--config", found.folder / "spec.yaml")
        assert done.returncode == 2
        assert "was in the memory of another process; save the table as a file and name that: --data" in done.stderr


class TestImport:
    def test_the_package_is_light_and_complete(self):
        code = (
            "import sys, pubench; heavy = {'torch', 'numpy', 'pandas', 'sklearn', 'mlflow', 'pydantic'};"
            "assert not heavy & set(sys.modules), heavy & set(sys.modules);"
            "from pathlib import Path; stub = Path(pubench.__file__).with_suffix('.pyi').read_text();"
            "assert {line.split()[-1] for line in stub.splitlines() if ' as ' in line} == set(dir(pubench));"
            "pubench.list_methods(); assert 'torch' not in sys.modules;"
            "assert all(callable(getattr(pubench, name)) for name in dir(pubench));"
            "assert 'torch' not in sys.modules"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def test_an_unknown_name(self):
        with pytest.raises(AttributeError, match="has no attribute 'runs'"):
            _ = pubench.runs


STEERING = "\x1b]0;pwned\x07"


class TestControlCharacters:
    """A name in a table or a file neither moves the cursor nor renames the window where a message is shown."""

    def test_control_characters_are_escaped_in_errors(self, tmp_path):
        frame = pd.DataFrame({f"a{STEERING}": np.arange(20.0), "s": np.arange(20) < 5})
        (tmp_path / f"my{STEERING}.npz").write_bytes(b"nothing")
        for call in (
            lambda: pubench.run("nnpu", pubench.data(frame, labeled=f"s{STEERING}"), prior=0.5, results=tmp_path),
            lambda: pubench.run(f"nnpu{STEERING}", "breast-cancer", results=tmp_path),
            lambda: print(pubench.data(tmp_path / f"my{STEERING}.npz", labeled="s")),
        ):
            with pytest.raises(pubench.InvalidRequest, match=r"\\x1b\]0;pwned\\x07") as error:
                call()
            assert "\x1b" not in str(error.value)


class TestIndex:
    def test_a_column_of_other_rows_is_refused(self):
        x, labeled = pd.DataFrame(np.arange(40.0).reshape(20, 2)), pd.Series(np.arange(20) < 5)
        shuffled = x.sample(frac=1, random_state=1)
        with pytest.raises(pubench.InvalidRequest, match="labeled: its index is not that of x"):
            pubench.data(shuffled, labeled)
        assert pubench.data(shuffled, labeled.loc[shuffled.index]).notes == pubench.data(x, labeled).notes
        assert pubench.data(shuffled, labeled.to_numpy()).notes == pubench.data(x, labeled).notes

    def test_scores_and_labels_of_other_rows_are_refused(self):
        rows = 40
        scores = pd.Series(np.arange(rows) / rows, index=[f"row {k}" for k in range(rows)])
        labeled = pd.Series(np.arange(rows) > 30, index=scores.index)
        quick = {"resamples": 0}
        other = labeled.sample(frac=1, random_state=1)
        with pytest.raises(pubench.InvalidRequest, match="labeled: its index is not that of scores"):
            pubench.evaluate(scores, other, **quick)
        with pytest.raises(pubench.InvalidRequest, match="truth: its index is not that of scores"):
            pubench.evaluate(scores, labeled, truth=other, **quick)
        with pytest.raises(pubench.InvalidRequest, match="labeled: its index is not that of x"):
            pubench.estimate_prior(scores.to_frame(), other, estimators=["bbe"])
        named, plain = (pubench.evaluate(one, labeled, **quick)["pauc"] for one in (scores, scores.to_numpy()))
        assert named == plain

    def test_an_estimator_goes_by_position_if_names_have_another_order(self, cancer):
        x, labeled, _ = cancer
        y = pd.Series(labeled, index=x.index)
        model = pubench.PUClassifier("upu", prior=0.37, epochs=1)
        with pytest.raises(ValueError, match="y: its index is not that of X"):
            model.fit(x, y.sample(frac=1, random_state=1))
        numbered_anew = y.set_axis(y.index + 1000)  # as a step before it leaves them
        assert (model.fit(x, numbered_anew).predict(x) == model.fit(x, y).predict(x)).all()

    def test_one_that_names_rows_names_them_in_predictions(self, tmp_path, cancer):
        frame, labeled, _ = cancer
        named = frame.set_axis(pd.Index([f"patient {k}" for k in range(len(frame))], name="patient"))
        table = pubench.data(named, labeled=labeled)
        assert "the rows are named by 'patient'" in table.notes
        assert table.features == pubench.data(frame, labeled=labeled).features
        found = pubench.predictions(pubench.run("upu", table, prior=0.4, results=tmp_path, **QUICK))
        assert found["patient"].tolist() == [f"patient {row}" for row in found["row"]]

    @pytest.mark.parametrize("name", [None, "group"])
    def test_any_other_is_left_out(self, cancer, name):
        """One without a name, or one that says the same of many rows; the run is that of the rows without it."""
        frame, labeled, _ = cancer
        values = np.arange(len(frame)) + 7 if name is None else np.arange(len(frame)) % 3
        other = pubench.data(frame.set_axis(pd.Index(values, name=name)), labeled=labeled)
        assert other.own == pubench.data(frame, labeled=labeled).own

    def test_numbers_that_name_rows_are_no_feature(self, cancer):
        frame, labeled, _ = cancer
        numbered = frame.set_axis(pd.RangeIndex(100, 100 + len(frame), name="visit"))
        assert pubench.data(numbered, labeled=labeled).features == pubench.data(frame, labeled=labeled).features
