"""The first hour: tables at every width, JSON everywhere, completion, an own table from first look to predictions."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from printed import Done, Run, folder_of, one_json
from refusals import error_line
from sklearn.datasets import load_breast_cancer

Install = Callable[..., dict[str, str]]

QUICK = ("--threads", 1, "--no-tracking", "--set", "epochs=2", "--set", "lr=1e-2")
ON_DIGITS = ("run", "--method", "nnpu", "--data", "digits", *QUICK)
N, N_LABELED = 569, 100


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table as a spreadsheet exports it: blank labels, ids with zeros, dates, decimal commas, gaps."""
    folder = tmp_path_factory.mktemp("home")
    loaded = load_breast_cancer(as_frame=True)
    rng = np.random.default_rng(0)
    labeled = np.full(N, "", dtype=object)
    labeled[rng.choice(np.flatnonzero(loaded.target == 1), N_LABELED, replace=False)] = "ja"
    table = loaded.data.iloc[:, :10].round(4)
    table.columns = [name.replace("mean ", "") for name in table]
    table.loc[rng.choice(N, 40, replace=False), "texture"] = np.nan
    table.insert(0, "Nr", [f"{k:05}" for k in range(N)])
    table["Tag"] = [f"{k % 28 + 1:02}.03.2024" for k in range(N)]
    table["Größe"] = np.array(["klein", "mittel", "groß"])[rng.integers(0, 3, N)]
    table["s"] = labeled
    table.to_csv(folder / "my.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    plain = table.drop(columns=["Tag"]).assign(s=(labeled == "ja").astype(int))
    plain.to_parquet(folder / "plain.parquet")
    return folder


OWN = ("run", "--method", "nnpu", "--data", "my.csv", "--label-col", "s", "--prior", "0.6", *QUICK)


@pytest.fixture(scope="module")
def first(here: Run) -> Done:
    done = here(*OWN, "--save-model")
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(first: Done, home: Path) -> Path:
    return folder_of(first, home)


def rows_in(folder: Path) -> list[dict[str, str]]:
    """The predictions in a record."""
    return list(csv.DictReader((folder / "predictions.csv").read_text(encoding="utf-8").splitlines()))


# ------------------------------------------------------------------ a terminal


@pytest.fixture(scope="module")
def on_terminal(pubench_on_terminal: Callable[..., tuple[int, str]], home: Path) -> Callable[..., Any]:
    """``on_terminal(width, *words)``: exit code and lines on a pseudo terminal, without escape sequences."""

    def run(width: int, *words: object) -> tuple[int, list[str]]:
        code, written = pubench_on_terminal(home, width, *words)
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)
        return code, [line.split("\r")[-1].rstrip() for line in text.replace("\r\n", "\n").split("\n")]

    return run


@pytest.mark.skipif(sys.platform != "linux", reason="pseudo terminals with a size are made as on Linux")
class TestTerminal:
    @pytest.mark.parametrize(
        "words", [("list", "methods"), ("list", "datasets", "--here"), ("info", "nnpu")], ids=" ".join
    )
    def test_listings_name_what_they_leave_out(self, on_terminal: Callable[..., Any], words: tuple[str, ...]) -> None:
        code, lines = on_terminal(60, *words)
        assert code == 0
        assert "…" not in "".join(lines)
        assert not [line for line in lines if len(line) > 60 and not line.startswith("files: ")]
        text = " ".join(" ".join(lines).split())
        assert re.search(rf"not shown at this width: [a-z, ]+ \(pubench {' '.join(words)} --format [cj]s", text)

    def test_help_cuts_nothing_at_60_columns(self, on_terminal: Callable[..., Any]) -> None:
        """Except for the name of a variable that is wider than its column."""
        code, lines = on_terminal(60, "run", "--help")
        assert code == 0
        assert {word for word in " ".join(lines).split() if "…" in word} <= {"MLFLOW_TRACKING_U…"}

    def test_citations_are_in_the_info_of_a_data_set_and_not_in_the_list(self, here: Run) -> None:
        assert "Alpaydin" not in here("list", "datasets", "--here").stdout
        assert "Alpaydin" in here("info", "digits").stdout


# ------------------------------------------------------------------ JSON everywhere


class TestJson:
    @pytest.mark.parametrize(
        "words",
        [
            ("doctor",),
            ("doctor", "nnpu"),
            ("list", "datasets", "--here"),
            ("data", "fetch", "digits"),
            ("data", "remove", "digits"),
            ("data", "check", "my.csv"),
            ("data", "check", "my.csv", "--label-col", "s"),
            (*ON_DIGITS, "--dry-run"),
        ],
        ids=lambda words: "-".join(map(str, words[:3])),
    )
    def test_stdout_is_one_value(self, within: Run, words: tuple[object, ...]) -> None:
        assert one_json(within(*words, "--format", "json"))

    def test_nothing_to_verify_is_an_empty_list(self, here: Run, tmp_path: Path) -> None:
        env = {"PUBENCH_CACHE": str(tmp_path)}
        assert one_json(here("doctor", "--data", "--format", "json", env=env)) == {"plugins": [], "copies": []}

    def test_a_dry_run_is_the_spec_that_yaml_says(self, within: Run) -> None:
        spec = one_json(within(*ON_DIGITS, "--dry-run", "--format", "json"))
        assert spec == yaml.safe_load(within(*ON_DIGITS, "--dry-run").stdout)
        assert spec["method"]["config"]["epochs"] == 2

    @pytest.mark.parametrize(
        ("words", "field", "text"),
        [
            (("info", "nnnpu"), "", "did you mean the method 'nnpu'"),
            (("check", "nnnpu"), "", "unknown method or package 'nnnpu'"),
            (("predict", "zzz", "my.csv"), "execution.results", "no finished run 'zzz'"),
            ((*ON_DIGITS, "--c", "7"), "mechanism.c", "--c: given"),
            ((*OWN, "--label-col", "S"), "data.own.label_col", "'S'"),
            (("data", "check", "my.csv", "--label-col", "Nr"), "data.own.positive_value", "'Nr'"),
            (("list", "everything"), "", "everything"),
            (("run", "--nonsense"), "", "--nonsense"),
            ((*ON_DIGITS, "--seeds", "0"), "seed", "seeds must be a number from 1 to 10000"),
        ],
        ids=lambda value: " ".join(map(str, value[:4])) if isinstance(value, tuple) else "",
    )
    def test_an_error_is_one_object_on_stdout_beside_the_line_on_stderr(
        self, within: Run, words: tuple[object, ...], field: str, text: str
    ) -> None:
        done = within(*words, "--format", "json")
        found = one_json(done, 2)
        assert list(found) == ["error", "field", "exit_code"]
        assert (found["field"], found["exit_code"]) == (field, 2)
        assert text in found["error"]
        assert done.stderr.splitlines()[-1] == f"error: {found['error']}"
        without = within(*words)
        assert (without.returncode, without.stdout) == (2, "")


# ------------------------------------------------------------------ a method with an error

STONE = """
from pubench_core import MethodInfo, hookimpl

@hookimpl
def pubench_methods():
    return [MethodInfo(key="acme-stone", name="Stone", summary="breaks", load="acme_stone_method:Stone")]
"""
METHOD = """
from pubench.method import Method, TrainingConfig

class Stone(Method[TrainingConfig]):
    def fit(self, data, run):
        for _ in run.epochs(1):
            FIT  # line 7

    def decision_function(self, x):  # line 9
        return SCORES
"""
ON_STONE = ("run", "--method", "acme-stone", "--data", "digits", "--no-tracking")


@pytest.fixture
def stone(pubench: Run, with_plugin: Install) -> Callable[..., Run]:
    """``stone(fit, scores)``: the console script next to a method with this line in ``fit``, and these scores."""

    def install(fit: str, scores: str = "x.flatten(1).sum(1)") -> Run:
        env = with_plugin("acme-stone", STONE, acme_stone_method=METHOD.replace("FIT", fit).replace("SCORES", scores))
        return lambda *words: pubench(*words, env=env)

    return install


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ("x.flatten(1).sum(1, keepdim=True)", "must return scores of shape (288,) for 288 rows, got"),
        ("0.0", "must return scores as a torch.Tensor, got float"),
        ("x.flatten(1).sum(1) * float('nan')", "the score of row 0 is nan"),
    ],
)
def test_wrong_scores_name_the_line_of_the_function_that_returned_them(
    stone: Callable[..., Run], scores: str, words: str
) -> None:
    done = stone("pass", scores)(*ON_STONE)
    line = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert words in line
    assert "acme_stone_method.py, line 9, decision_function)" in line


def test_a_method_that_reads_true_labels_is_told_that_they_are_hidden(stone: Callable[..., Run]) -> None:
    run = stone("data.y")
    done = run(*ON_STONE, "--traceback")
    line = done.stderr.splitlines()[-1]
    assert "AttributeError: PUData has no attribute 'y': true labels are hidden from methods. PUData.labeled" in line
    assert "docs/pages/hidden-labels.md" in line
    assert "acme_stone_method.py, line 7)" in line
    traced = done.stderr.partition("Traceback (most recent call last):")[2]
    assert 'acme_stone_method.py", line 7, in fit' in traced
    assert "Traceback" not in run(*ON_STONE).stderr


def test_a_wrong_request_has_no_traceback(within: Run) -> None:
    error_line(within(*ON_DIGITS, "--c", "7", "--traceback"))


def test_a_refused_run_names_no_line(here: Run) -> None:
    done = here(*ON_DIGITS, "--set", "validation.fraction=0.001", "--results", "refused")
    assert done.returncode == 2
    assert ", line " not in done.stderr


# ------------------------------------------------------------------ completion


def completed(run: Run, *words: str) -> set[str]:
    line = " ".join(("pubench", *words))
    env = {"_PUBENCH_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    return set(run(env=env).stdout.split())


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("info", "nnp"), "nnpu nnpu-ga"),
        (("run", "--method", "nnp"), "nnpu nnpu-ga"),
        (("list", "da"), "datasets"),
        (("check", "pubench-nn"), "pubench-nnpu pubench-nnpu-ga"),
        (("doctor", "sca"), "scar"),
        (("run", "--select", "pa"), "pa pa-published pauc"),
        (("run", "--method", "nnpu", "--preset", "qui"), "quick"),
        (("data", "fetch", "fashion"), "fashion-mnist"),
    ],
)
def test_what_is_typed_is_completed(here: Run, words: tuple[str, ...], found: str) -> None:
    assert completed(here, *words) == set(found.split())


def test_presets_are_those_of_the_method_that_was_named(here: Run) -> None:
    assert "official" in completed(here, "run", "--method", "nnpu", "--preset", "o")
    assert completed(here, "run", "--method", "pn", "--preset", "zz") == set()


def test_run_ids_are_completed(here: Run, folder: Path, home: Path) -> None:
    assert folder.name in completed(here, "predict", folder.name[:4])
    shutil.copytree(folder, home / "elsewhere" / folder.name, dirs_exist_ok=True)
    assert completed(here, "predict", "--results", "elsewhere", folder.name[:4]) == {folder.name}


# ------------------------------------------------------------------ a user table


class TestUnderstood:
    def test_every_column_is_said_before_anything_is_trained(self, within: Run) -> None:
        done = within("data", "check", "my.csv", "--label-col", "s")
        assert (done.returncode, done.stderr) == (0, "")
        rows = {line.split("  ")[0]: " ".join(line.split()) for line in done.stdout.splitlines()}
        assert rows["Nr"].startswith("Nr names rows probably an id: every value differs; --features keeps it 569")
        assert "00000, 00001, 00002" in rows["Nr"]
        assert rows["Tag"].startswith(
            "Tag left out a date or a time; turn it into numbers, or have categories: --categorical Tag"
        )
        assert rows["texture"].startswith("texture feature a number")
        assert " 40 " in rows["texture"]
        assert rows["s"].startswith("s labels who is labeled 1 469 ja")
        for words in (
            "my.csv: read as Windows-1252 text, as it is not UTF-8",
            "my.csv: fields are separated by ';'; decimal commas in 'radius', 'texture'",
            "my.csv: 569 rows; 's': ja = labeled positive, blank = unlabeled; 100 labeled positives, 469 unlabeled",
            "missing values: 'texture' 40",
            "the rows are named by 'Nr'",
        ):
            assert words in done.stdout
        assert done.stdout.splitlines()[-2:] == [
            "pubench advise my.csv --label-col s",
            "pubench run --method pu-bagging --data my.csv --label-col s",
        ]

    def test_a_first_look_says_what_could_be_the_labels(self, within: Run) -> None:
        done = within("data", "check", "my.csv")
        assert done.returncode == 0
        assert done.stdout.splitlines()[-1] == "say who is labeled with --label-col COLUMN; could be: 's'"
        facts = one_json(within("data", "check", "my.csv", "--format", "json"))
        assert (facts["rows"], facts["could_be_labels"]) == (N, ["s"])

    def test_data_check_says_what_a_run_says(self, within: Run, first: Done) -> None:
        facts = one_json(within("data", "check", "my.csv", "--label-col", "s", "--format", "json"))
        said = first.stderr.splitlines()
        start = said.index(facts["notes"][0])
        assert said[start : start + len(facts["notes"])] == facts["notes"]
        assert (facts["labeled"], facts["unlabeled"]) == (N_LABELED, N - N_LABELED)
        assert len(facts["columns"]) == 14

    def test_data_check_lists_a_few_of_many_columns_of_numbers(self, within: Run, home: Path) -> None:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.normal(size=(20, 60))).add_prefix("x").assign(s=[1] * 5 + [0] * 15)
        frame.to_csv(home / "wide.csv", index=False)
        done = within("data", "check", "wide.csv", "--label-col", "s")
        assert len([line for line in done.stdout.splitlines() if line.startswith("x")]) == 10
        assert "and 50 more columns that become a number each" in done.stdout


class TestIds:
    def test_predictions_carry_what_names_the_rows_as_it_is_written(self, folder: Path) -> None:
        rows = rows_in(folder)
        assert list(rows[0]) == ["row", "Nr", "score", "rank", "decision", "decision_at_prior"]
        assert [row["Nr"] for row in rows] == [f"{int(row['row']):05}" for row in rows]
        assert len(rows) == N - N_LABELED

    def test_row_names_stay_when_another_criterion_names_the_result(self, here: Run, home: Path, folder: Path) -> None:
        shutil.copytree(folder, home / "again" / folder.name, dirs_exist_ok=True)
        assert here(*OWN, "--results", "again", "--select", "last").returncode == 0
        rows = rows_in(home / "again" / folder.name)
        assert [row["Nr"] for row in rows] == [f"{int(row['row']):05}" for row in rows]

    def test_predict_names_rows_as_they_are_written(self, within: Run, folder: Path) -> None:
        rows = list(csv.DictReader(within("predict", folder, "my.csv").stdout.splitlines()))
        assert list(rows[0]) == ["row", "Nr", "score", "rank", "decision", "decision_at_prior"]
        assert [row["Nr"] for row in rows] == [f"{k:05}" for k in range(N)]

    def test_a_file_without_them_is_scored_all_the_same(self, within: Run, home: Path, folder: Path) -> None:
        frame = pd.read_csv(home / "my.csv", sep=";", decimal=",", encoding="cp1252", dtype={"Nr": str})
        frame.drop(columns="Nr").to_csv(home / "without.csv", index=False)
        done = within("predict", folder, "without.csv")
        assert done.stdout.splitlines()[0] == "row,score,rank,decision,decision_at_prior"


class TestPredictOut:
    def test_the_file_of_the_rows_is_not_written_over(self, within: Run, home: Path, folder: Path) -> None:
        before = (home / "my.csv").read_bytes()
        done = within("predict", folder, "my.csv", "--out", "my.csv")
        assert (done.returncode, done.stdout) == (2, "")
        assert "--out my.csv would replace the rows to score" in done.stderr
        assert (home / "my.csv").read_bytes() == before
        (home / "folder.csv").mkdir()
        assert "--out folder.csv is a folder" in error_line(within("predict", folder, "my.csv", "--out", "folder.csv"))

    @pytest.mark.parametrize("ending", ["csv", "json", "parquet", "PARQUET"])
    def test_the_ending_says_what_is_written(self, within: Run, home: Path, folder: Path, ending: str) -> None:
        out = home / f"p.{ending}"
        done = within("predict", folder, "my.csv", "--out", out)
        assert (done.returncode, done.stdout) == (0, "")
        read = {"csv": pd.read_csv, "json": pd.read_json, "parquet": pd.read_parquet}[ending.lower()]
        found = read(out)
        assert list(found) == ["row", "Nr", "score", "rank", "decision", "decision_at_prior"]
        assert len(found) == N

    def test_another_ending_is_refused_and_nothing_written(self, within: Run, home: Path, folder: Path) -> None:
        done = within("predict", folder, "my.csv", "--out", "p.xlsx")
        assert (done.returncode, done.stdout) == (2, "")
        assert "--out must end in .csv, .json, .parquet" in done.stderr
        assert not (home / "p.xlsx").exists()

    def test_json_is_a_list_of_rows(self, within: Run, folder: Path) -> None:
        rows = one_json(within("predict", folder, "my.csv", "--format", "json"))
        assert len(rows) == N
        assert set(rows[0]) == {"row", "Nr", "score", "rank", "decision", "decision_at_prior"}
        assert (
            "--out must end in .json for --format json, got p.csv"
            in within("predict", folder, "my.csv", "--format", "json", "--out", "p.csv").stderr
        )


class TestDecisions:
    def test_shares_and_recall_are_printed_below_the_table(self, first: Done, folder: Path) -> None:
        rows = rows_in(folder)
        decided = sum(int(row["decision"]) for row in rows)
        told = round((0.6 * N - N_LABELED) / (N - N_LABELED) * len(rows))
        assert (
            f"unlabeled rows: {decided} of 469 ({100 * decided / 469:.1f} %) decided positive; "
            f"by the given prior (0.6) {told} are" in first.stdout
        )
        assert re.search(
            r"held-out labeled positives: \d+ of 20 \([\d.]+ %\) decided positive, \d+ of 20", first.stdout
        )
        for words in ("0.48 (x 0.8)", "0.6 (as told)", "0.72 (x 1.2)", "--prior 0.48 and --prior 0.72"):
            assert words in first.stdout

    def test_a_method_without_a_prior_says_that_it_uses_none(self, here: Run) -> None:
        vpu = ("run", "--method", "vpu", "--data", "my.csv", "--label-col", "s", *QUICK)
        assert "vpu does not use the prior" in here(*vpu, "--prior", "0.6").stdout
        assert "by the given prior" not in here(*vpu).stdout


class TestSeeds:
    def test_three_runs_are_recorded_and_compared(self, here: Run, home: Path) -> None:
        done = here(*OWN, "--seeds", 3)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("nnpu on my.csv, seeds 2, 25, 42\n")
        assert len([line for line in done.stdout.splitlines() if line.startswith("record: ")]) == 3
        assert re.search(r"rank correlation 0\.\d+; [\d.]+ % of the 241 highest are the same rows", done.stdout)
        found = one_json(here(*OWN, "--seeds", "2,25,42", "--format", "json"))
        assert [run["spec"]["seed"] for run in found["runs"]] == [2, 25, 42]
        assert all((home / run["record"] / "result.json").is_file() and run["reused"] for run in found["runs"])
        decided = [100 * run["decisions"]["decided"] / 469 for run in found["runs"]]
        spread = found["summary"]["decided positive, %"]
        assert spread["values"] == pytest.approx(decided)
        assert spread["mean"] == pytest.approx(np.mean(decided))
        assert spread["sd"] == pytest.approx(np.std(decided, ddof=1))
        assert 0 < found["agreement"]["rank_correlation"] < 1

    def test_a_seed_alone_is_the_run_of_that_seed(self, here: Run) -> None:
        alone = one_json(here(*OWN, "--seed", 25, "--format", "json"))
        among = one_json(here(*OWN, "--seeds", "2,25", "--format", "json"))["runs"][1]
        assert alone["run_id"] == among["run_id"]

    def test_seeds_on_a_data_set_compare_test_measures(self, here: Run) -> None:
        found = one_json(here(*ON_DIGITS, "--seeds", "2,3", "--format", "json"))
        values = [100 * run["criteria"]["pa"]["measures"]["test"]["accuracy"]["value"] for run in found["runs"]]
        assert found["summary"]["accuracy, %"]["values"] == pytest.approx(values)
        assert found["agreement"] is None

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            (("--seeds", "many"), "got 'many'"),
            (("--seeds", "2,2"), "a list of different seeds"),
            (("--seeds", "3", "--seed", "4"), "--seeds 3 and --seed exclude each other"),
            (("--seeds", "3", "--dry-run"), "--seeds 3 and --dry-run exclude each other"),
            (("--seeds", "3", "--full"), "--seeds 3 and --full exclude each other"),
        ],
    )
    def test_what_contradicts_itself_is_refused(self, within: Run, more: tuple[str, ...], words: str) -> None:
        done = within(*OWN, *more)
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr

    def test_a_seed_that_fails_ends_no_other(self, here: Run, home: Path) -> None:
        """A validation part so small that it has a labeled positive for some seeds only does not exist: all fail."""
        done = here(*OWN, "--seeds", "2,3", "--set", "validation.fraction=0.001", "--results", "none")
        assert done.returncode == 2
        assert [line[:8] for line in done.stderr.splitlines() if line.startswith("seed ")] == ["seed 2: ", "seed 3: "]
        assert done.stdout == ""


def test_windows_is_told_in_one_line() -> None:
    code = "import sys; sys.platform = 'win32'; import pubench_cli"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("error: pubench runs on Linux and macOS, this is Windows; use it in WSL")
