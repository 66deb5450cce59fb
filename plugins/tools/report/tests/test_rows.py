"""One frame of runs, whatever holds them: records, results.parquet, files of rows, boards."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas
import pytest
from pubench_report.report.gather import gather
from pubench_report.results import load_results
from pubench_report.rows.columns import BOARD, COLUMNS, FILE, types
from pubench_report.rows.files import as_file, file_rows, read_rows, write_parquet
from pubench_report.rows.record import settings_of
from pubench_report.rows.runs import each_run

import pubench
from pubench_core.errors import RequestError
from pubench_core.plugins.registry import registry
from pubench_core.specs.run import CheckedSpec

ROOT = Path(__file__).parents[4]
KEY = ["run_id", "criterion"]
pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::pubench.PubenchWarning"),  # of runs with one epoch
]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows") / "results"
    pubench.compare(
        ["upu", "nnpu"],
        data="digits",
        seeds=2,
        config={"epochs": 1},
        tracking=False,
        threads=1,
        results=folder,
        progress=False,
    )
    return folder


@pytest.fixture(scope="module")
def frame(records: Path) -> pandas.DataFrame:
    return read_rows(records)


def test_a_row_is_a_run_under_one_criterion_with_fractions(records: Path, frame: pandas.DataFrame) -> None:
    runs = load_results(records)
    assert len(frame) == sum(len(run.result.criteria) for run in runs)
    for run in runs:
        mine = frame[(frame["run_id"] == run.run_id) & frame["criterion_selected"]].iloc[0]
        assert mine["test_accuracy"] == run.test["accuracy"]
        assert (mine["memory_bytes"], mine["seed"]) == (run.result.peak_memory.bytes, run.result.spec.seed)


def test_results_parquet_gives_the_same_rows(records: Path, frame: pandas.DataFrame) -> None:
    assert write_parquet(records / "results.parquet") == []
    found = read_rows(records / "results.parquet")
    shared = [name for name in found.columns if name in frame.columns]
    assert {"test_accuracy", "validation_pa", "c", "prior", "warnings"} <= {*shared}
    one, other = (rows.sort_values(KEY, ignore_index=True)[shared] for rows in (found, frame))
    pandas.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"precision": "bf16"}, "precision=bf16"), ({"checked": CheckedSpec(rows=30)}, "checked.rows=30")],
)
def test_settings_of_a_row_name_another_precision_and_checked_rows(
    records: Path, changed: dict[str, Any], said: str
) -> None:
    spec = load_results(records)[0].result.spec
    given = spec.model_copy(update=changed)
    assert {*settings_of(given).split()} - {*settings_of(spec).split()} == {said}


def test_a_file_of_rows_gives_the_same_rows(frame: pandas.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, list(types(FILE)))
        writer.writeheader()
        writer.writerows(file_rows(frame))
    found = read_rows(path)
    for name in found.columns:
        if found[name].dtype == "float64":
            assert (found[name] - frame[name]).abs().fillna(0).max() < 0.006, name  # files round
            assert found[name].isna().equals(frame[name].isna())
        elif name != "memory_bytes":
            assert found[name].tolist() == frame[name].tolist(), name
    assert [run.run_id for run, _ in each_run(path, [])] == [*dict.fromkeys(frame["run_id"])]


def test_what_is_written_as_a_file_is_read_as_it_was() -> None:
    for path in sorted((ROOT / "benchmarks" / "results").glob("study-[ac]*.csv"))[:5]:
        texts = pandas.read_csv(path, dtype=str, keep_default_na=False)
        written = pandas.DataFrame(file_rows(read_rows(path)))
        measured = [name for name in registry().headline() if name in texts]
        assert set(registry().headline()) - set(measured) <= {"average-precision"}  # files of before it came first
        assert [name for name in registry().headline() if name in written] == measured
        for name in measured:
            found, stored = (rows[name].map(lambda text: float(text or "nan")) for rows in (written, texts))
            assert found.equals(stored), name
            valued = ~texts["settings"].str.contains("validation.fraction=0.0", regex=False)
            assert name == "average-precision" or all(texts[name][valued])
        assert written["prior"].tolist() == texts["prior"].tolist()
        assert written["peak_mib"].tolist() == texts["peak_mib"].tolist()


def test_every_committed_file_and_board_can_be_read() -> None:
    files = sorted((ROOT / "benchmarks" / "results").glob("study-*.csv"))
    together = read_rows(*files, ROOT / "boards" / "2026.11")
    assert together["test_accuracy"].between(0, 1).sum() > 6000
    columns = [name for name in types(BOARD) if name != "average-precision"]  # that board is of before it came first
    assert list(as_file(read_rows(ROOT / "boards" / "2026.11"), BOARD).columns) == columns


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("auc", "101", "auc must be a number from 0 to 100, got '101'"),
        ("accuracy", "-5", "accuracy must be a number from 0 to 100, got '-5'"),
        ("recall", "nan", "recall must be a number from 0 to 100, got 'nan'"),
        ("seconds", "", "seconds must be a number of 0 or more, got ''"),
        ("seconds", "inf", "seconds must be a number of 0 or more, got 'inf'"),
        ("epochs", "1.5", "epochs must be a whole number of 0 or more, got '1.5'"),
        ("c", "3.0", "c must be a number from 0 to 1, got '3.0'"),
        ("at_once", "-5", "at_once must be a whole number of 1 or more, got '-5'"),
        ("run_id", "mine", "run_id must be sixteen hexadecimal digits, got 'mine'"),
        ("selected", "yes", "selected must be True or False, got 'yes'"),
    ],
)
def test_an_impossible_value_is_refused_with_its_line(
    frame: pandas.DataFrame, tmp_path: Path, column: str, value: str, message: str
) -> None:
    path = tmp_path / "rows.csv"
    rows = file_rows(frame)
    pandas.DataFrame([rows[0], {**rows[1], column: value}]).to_csv(path, index=False)
    with pytest.raises(RequestError, match="line 3: " + message):
        read_rows(path)


def test_results_of_a_file_of_rows_are_those_of_its_records(
    frame: pandas.DataFrame, records: Path, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    pandas.DataFrame(file_rows(frame)).to_csv(path, index=False)
    found, stored = load_results(path), load_results(records)
    one, other = (results.table().to_frame().set_index(["method", "data"]) for results in (found, stored))
    assert one["mean"].to_dict() == pytest.approx(other["mean"].to_dict(), abs=1e-6)  # rows have four decimals
    assert {run.run_id for run in found} == {run.run_id for run in stored}
    reported = [gather(str(place), tmp_path, None) for place in (path, records)]
    assert [sorted(run.run_id for run in of.done) for of in reported] == [sorted(run.run_id for run in stored)] * 2
    assert reported[0].grid.rows == reported[1].grid.rows
    with pytest.raises(pubench.InvalidRequest, match="unknown study 'quick'"):
        load_results(path, study="quick")


def test_columns_are_declared_once() -> None:
    assert len({column.name for column in COLUMNS}) == len(COLUMNS)
    assert all(column.meaning for column in COLUMNS)
