"""``pubench reproduce``: a run carried out again is the same bits, and what is not the same is found and measured."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from altered import edit_json, edit_scores, put
from printed import Run, one_json
from pubench_verify.reproduction import Reproduction, compared, reproduced, spec_again
from refusals import error_line

import pubench
from pubench_core.records.files import read_scores
from pubench_core.records.record import read_record

SHORT = ("--set", "epochs=2", "--no-tracking", "--threads", "1", "--format", "json")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduce")


@pytest.fixture(scope="module")
def record(home: Path, pubench_in: Callable[[Path], Run]) -> Path:
    """Of a run of two epochs."""
    made = one_json(pubench_in(home)("run", "--method", "nnpu", "--data", "breast-cancer", "--c", "0.3", *SHORT))
    return home / str(made["record"])


@pytest.fixture
def copy(record: Path, tmp_path: Path) -> Path:
    """The record in a folder of its own, to be changed."""
    return Path(shutil.copytree(record, tmp_path / "results" / record.name))


def again(folder: Path, **how: Any) -> Reproduction:
    """What the command finds."""
    record = read_record(folder)
    return reproduced(record, spec_again(record.result, lambda text: None, **how))


def test_the_same_run_again_is_the_same_bits_and_changes_no_record(home: Path, record: Path, pubench_in: Any) -> None:
    before = {path: path.read_bytes() for path in record.iterdir()}
    done = pubench_in(home)("reproduce", record.name[:6])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("nnpu on breast-cancer, seed 2, run again in ")
    assert lines[1].startswith("identical: every score is the same to the last bit (")
    assert lines[2] == "code, versions, hardware and threads are those of the record"
    assert lines[3] == f"record: results/{record.name}"
    assert {path: path.read_bytes() for path in record.iterdir()} == before
    assert [path.name for path in (home / "results").iterdir() if not path.name.startswith(".")] == [record.name]


def test_scores_that_differ_are_measured_and_the_exit_code_is_1(copy: Path, pubench: Run) -> None:
    """Three test scores of the epoch that names the result are moved by .5 across 0, in the record."""
    result, arrays = read_record(copy).result, read_scores(copy)
    name = f"test_scores_{result.chosen.snapshot}"

    def moved(stored: dict[str, Any]) -> None:
        near = np.argsort(np.abs(stored[name]))[:3]
        stored[name][near] -= np.where(stored[name][near] > 0, 0.5, -0.5).astype(stored[name].dtype)

    edit_scores(copy, moved)
    found = one_json(pubench("reproduce", copy, "--format", "json"), 1)
    assert not found["identical"]
    assert found["arrays_apart"] == [name]
    mine = f"{result.selected} (epoch {result.chosen.epoch}), test: 3 of {len(arrays[name])} scores differ"
    assert f"{mine}, by at most 0.5; 3 decisions differ" in found["scores"]
    assert all(", test: 3 of " in line for line in found["scores"])


def test_what_was_otherwise_is_named_even_where_no_bit_differs(copy: Path) -> None:
    def otherwise(plain: dict[str, Any]) -> None:
        plain["code"]["parts"] |= {"method nnpu": "0" * 16, "data breast-cancer": "1" * 16}
        plain["metrics"]["accuracy"] = "2" * 16

    def elsewhere(environment: dict[str, Any]) -> None:
        environment["packages"] |= {"torch": "1.0", "long-gone": "1.0"}
        environment["variables"] = environment.get("variables", {}) | {"MKL_CBWR": "COMPATIBLE"}
        environment |= {"cpu": "an abacus", "threads": 7}

    edit_json(copy / "result.json", otherwise)
    edit_json(copy / "environment.json", elsewhere)
    found = again(copy)
    assert found.confirmed
    changed = {one.path: (one.recorded, one.now) for one in found.changed}
    assert {thing: recorded for thing, (recorded, _) in changed.items()} == {
        "code.method nnpu": "0" * 16,
        "code.data breast-cancer": "1" * 16,
        "metrics.accuracy": "2" * 16,
        "environment.packages.torch": "1.0",
        "environment.packages.long-gone": "1.0",
        "environment.cpu": "an abacus",
        "environment.threads": 7,
        "environment.variables.MKL_CBWR": "COMPATIBLE",
    }
    assert changed["environment.packages.long-gone"][1] is changed["environment.variables.MKL_CBWR"][1] is None
    assert changed["environment.threads"][1] == 1
    said = str(found).splitlines()
    assert "otherwise than when the record was made:" in said
    assert "environment.threads is 7; now it is 1" in said
    assert "environment.packages.long-gone is 1.0; now it is no value" in said


def test_another_measure_in_the_record_is_shown_with_the_difference(copy: Path) -> None:
    result = read_record(copy).result
    accuracy = result.test["accuracy"]
    assert accuracy is not None
    field = f"criteria.{result.selected}.measures.test.accuracy.value"
    edit_json(copy / "result.json", put(field, accuracy - 0.25))
    found = again(copy)
    assert (found.confirmed, found.identical) == (False, True)  # identical scores, which are what a run computes
    assert [str(one) for one in found.fields] == [f"{field} is {accuracy - 0.25:.6g}; another run gives {accuracy:.6g}"]
    assert str(found.fields[0]) in str(found).splitlines()


def test_a_record_without_scores_is_compared_by_its_measures(copy: Path) -> None:
    (copy / "scores.npz").unlink()
    same = "identical: every field is the same; the record kept no scores to compare"
    assert same in str(again(copy)).splitlines()
    edit_json(copy / "result.json", put("criteria.last.epoch", 1))
    found = again(copy).to_dict()
    assert (found["confirmed"], found["identical"], found["kept_scores"]) == (False, False, False)


def test_the_number_of_threads_is_that_of_the_record_where_none_is_asked_for(copy: Path) -> None:
    for name in ("result.json", "environment.json"):
        edit_json(copy / name, put("threads", 2))
    assert again(copy).changed == ()
    assert [str(one) for one in again(copy, threads=1).changed] == ["environment.threads is 2; now it is 1"]


def test_a_score_of_0_is_a_negative_decision(record: Path) -> None:
    found, arrays = read_record(record), read_scores(record)
    name = f"test_scores_{found.result.chosen.snapshot}"
    zero, below, above = ({**arrays, name: np.full_like(arrays[name], value)} for value in (0.0, -1.0, 1.0))
    for other, decisions in ((below, 0), (above, len(arrays[name]))):
        apart = compared(found, found, zero, other).scores
        (test,) = [line for line in apart if line.startswith(f"{found.result.selected} (") and ", test: " in line]
        assert test.endswith(f"; {decisions} decisions differ")


def test_a_commit_with_changes_is_another_source_than_the_commit(copy: Path) -> None:
    other = Path(shutil.copytree(copy, copy.parent / "other"))
    for folder, dirty in ((copy, False), (other, True)):
        edit_json(folder / "environment.json", methodcaller("update", git_commit="a" * 40, git_dirty=dirty))
    found, arrays = read_record(copy), read_scores(copy)
    apart = compared(found, replace(found, folder=other), arrays, arrays)
    assert list(map(str, apart.changed)) == ["environment.git_dirty is False; now it is True"]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("test_scores_", lambda scores: (scores, scores.astype(np.longdouble))),
        ("test_scores_", lambda scores: (scores * 0.0, scores * 0.0 * -1.0)),  # equal as numbers
        ("test_rows", lambda rows: (rows, rows[::-1])),
        ("test_labels", lambda labels: (labels, labels[::-1])),
    ],
)
def test_bits_are_compared_and_not_numbers_and_never_other_rows(
    record: Path, name: str, change: Callable[[Any], tuple[Any, Any]]
) -> None:
    found, arrays = read_record(record), read_scores(record)
    assert compared(found, found, arrays, arrays).identical
    name = next(each for each in arrays if each.startswith(name))
    one, other = ({**arrays, name: changed} for changed in change(arrays[name]))
    apart = compared(found, found, one, other)
    assert apart.apart == (name,)
    if name in ("test_rows", "test_labels"):
        assert apart.verdict == f"not identical: 1 of {len(arrays)} arrays of scores.npz differ, {name} among them"
    if name == "test_rows":
        assert apart.scores
        assert all(line.endswith(", test: other rows") for line in apart.scores)


def test_what_cannot_be_run_again_is_refused(copy: Path, pubench_within: Run) -> None:
    for words, said in (
        (("zzzz",), "no finished run 'zzzz' in results"),
        ((copy, "--data", "people.csv"), "--data people.csv: this run is not on a user table"),
    ):
        assert error_line(pubench_within("reproduce", *words)).startswith(f"error: {said}")
    edit_json(copy / "result.json", put("spec.method.key", "gone"))
    assert "unknown method 'gone'" in pubench_within("reproduce", copy).stderr


# -------------------------------------------------------------------- a user table


TABLE = "a,b,who\n" + "".join(f"{k % 11},{k % 7},{int(k % 4 == 0)}\n" for k in range(80))


def test_a_table_is_read_where_it_is_now(tmp_path: Path, pubench_in: Callable[[Path], Run]) -> None:
    mine, elsewhere = tmp_path / "mine", tmp_path / "elsewhere"
    for folder in (mine, elsewhere):
        folder.mkdir()
    (mine / "people.csv").write_text(TABLE)
    made = pubench_in(mine)("run", "--method", "nnpu", "--data", "people.csv", "--label-col", "who", "--prior", "0.4",
                            *SHORT)  # fmt: skip
    record = mine / one_json(made)["record"]
    pubench = pubench_in(elsewhere)
    gone = error_line(pubench("reproduce", record))
    assert "people.csv, which the run read, is not here; name its new place with --data FILE" in gone
    (elsewhere / "moved.csv").write_text(TABLE)
    assert one_json(pubench("reproduce", record, "--data", "moved.csv", "--format", "json"))["identical"]
    (elsewhere / "moved.csv").write_text(TABLE + "1,1,0\n")
    changed = error_line(pubench("reproduce", record, "--data", "moved.csv"))
    assert "is not the file this spec was written for" in changed


def test_a_run_is_reproduced_from_python(tmp_path: Path) -> None:
    x = np.arange(160.0).reshape(80, 2) % 13
    how: dict[str, Any] = {"prior": 0.4, "config": {"epochs": 2}, "results": tmp_path, "threads": 1, "tracking": False}
    table = pubench.data(x, np.arange(80) % 4 == 0, name="rows")
    made = pubench.run("nnpu", table, **how)
    found = pubench.reproduce(made)
    assert found.identical
    assert str(found).startswith("identical: every score is the same to the last bit (")
    with pytest.raises(pubench.InvalidRequest, match="this run reads no table of test rows"):
        pubench.reproduce(made, test="other.csv")
    saved = table.save(tmp_path / "rows.parquet")
    del table
    gc.collect()
    with pytest.raises(pubench.InvalidRequest, match="was in the memory of another process"):
        pubench.reproduce(made)
    for place in (saved, tmp_path / "rows.parquet"):
        assert pubench.reproduce(made, data=place).identical
