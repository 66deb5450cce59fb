"""Dated boards: built from records and rows, checked, and compared with."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from operator import methodcaller
from pathlib import Path
from typing import Any

import pandas
import pytest
from altered import edit_json, list_checksums
from printed import Run
from pubench_report.rows.columns import BOARD, types
from pubench_report.rows.files import Board, read_board
from pubench_report.rows.record import problem_of
from pubench_verify.boards import build

import pubench
from pubench_core.errors import RequestError

pytestmark = pytest.mark.filterwarnings("ignore::pubench.PubenchWarning")  # so short a run may decide one-sidedly
ROOT = Path(__file__).parents[4]
COMMITTED = ROOT / "benchmarks" / "results" / "study-spambase-raw.csv"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``theirs``: two methods with two seeds; ``mine``: another one; ``boards``: a board of the first."""
    place = tmp_path_factory.mktemp("boards")
    given: Any = {"seeds": [2, 25], "config": {"epochs": 2}, "threads": 1, "tracking": False, "progress": False}
    for folder, methods in (("theirs", ["upu", "vpu", "pn"]), ("mine", ["pusb"])):
        pubench.compare(methods, data="breast-cancer", results=place / folder, **given)
    build("2026.12", [place / "theirs"], place / "boards")
    return place


@pytest.fixture(scope="module")
def board(place: Path) -> Board:
    return read_board(place / "boards" / "2026.12")


def problems_of(folder: Path) -> list[str]:
    return [str(problem) for problem in pubench.verify(folder).problems]


def test_rows_are_those_of_the_records(place: Path, board: Board) -> None:
    stored = pandas.read_parquet(board.folder / "rows.parquet")
    assert stored.dtypes.map(str).to_dict() == types(BOARD)
    assert len(stored) == len(board.rows)
    frame = pubench.load_results(place / "theirs").to_frame(criteria="all")
    assert len(board.rows) == len(frame)
    joined = board.rows.merge(frame, on=["run_id", "criterion"], suffixes=("", "_there"))
    assert len(joined) == len(frame)
    assert (joined["test_accuracy"] - joined["test_accuracy_there"]).abs().max() < 1e-5
    assert set(board.rows[board.rows["oracle"]]["method"]) == {"pn"}
    assert board.rows["problem"].nunique() == 1
    assert set(board.rows["method"]) == {"upu", "vpu", "pn"}


def test_the_same_sources_give_the_same_bytes_and_no_path_of_the_machine(place: Path, tmp_path: Path) -> None:
    again = build("2026.12", [place / "theirs"], tmp_path)
    for name in ("rows.parquet", "board.json", "SHA256SUMS"):
        content = (again.folder / name).read_bytes()
        assert content == (place / "boards" / "2026.12" / name).read_bytes()
        assert str(place).encode() not in content
    scores = tmp_path / "2026.12-scores.zip"
    assert scores.read_bytes() == (place / "boards" / "2026.12-scores.zip").read_bytes()
    with zipfile.ZipFile(scores) as archive:
        assert {f"{run}.npz" for run in set(read_board(again.folder).rows["run_id"])} == set(archive.namelist())


def test_a_board_is_never_changed(place: Path) -> None:
    with pytest.raises(RequestError, match="a dated board is never changed"):
        build("2026.12", [place / "mine"], place / "boards")
    for name in ("latest", "2026.13", "2026.1", "../2026.12"):
        with pytest.raises(RequestError, match="a board is named after its month"):
            build(name, [place / "mine"], place / "boards")


def test_rows_of_a_repository_make_a_board_as_well(tmp_path: Path) -> None:
    built = build("2026.11", [COMMITTED], tmp_path)
    assert built.facts["scores"] is None
    rows = built.rows
    committed = pandas.read_csv(COMMITTED)
    assert built.facts["runs"] == committed["run_id"].nunique()
    both = rows.merge(committed, on=["run_id", "criterion"], suffixes=("", "_there"))
    assert len(both) == len(rows) == len(committed)
    assert both["test_accuracy"].tolist() == (both["accuracy"] / 100).tolist()
    assert problems_of(built.folder) == []


def test_every_change_of_a_board_is_found(place: Path, tmp_path: Path) -> None:
    sound = place / "boards" / "2026.12"
    assert problems_of(sound) == []
    copied = Path(shutil.copytree(sound, tmp_path / "2026.12"))
    rows = pandas.read_parquet(copied / "rows.parquet")
    rows.assign(accuracy=99.0).to_parquet(copied / "rows.parquet")
    assert any("rows.parquet is not the file that SHA256SUMS lists" in problem for problem in problems_of(copied))
    with pytest.raises(RequestError, match="fetch the board again"):
        read_board(copied)

    rows.drop(columns="problem").to_parquet(copied / "rows.parquet")
    list_checksums(copied)
    with pytest.raises(RequestError, match="has no column problem"):
        read_board(copied)

    for format_, name in ((99, "2026.12"), (1, "2027.01")):
        other = Path(shutil.copytree(sound, tmp_path / f"{format_}" / "2026.12"))
        edit_json(other / "board.json", methodcaller("update", format=format_, name=name))
        assert any("board.json is not the file" in problem for problem in problems_of(other))
    with pytest.raises(RequestError, match="board of format 99; expected format 1"):
        read_board(tmp_path / "99" / "2026.12")
    (tmp_path / "1" / "2026.12" / "more.txt").touch()
    assert "more.txt: it is not listed in SHA256SUMS" in problems_of(tmp_path / "1" / "2026.12")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"accuracy": 99.99}, "accuracy is 0.9999; its scores give 0."),
        ({"auc": float("nan")}, "auc is nan; its scores give 0."),
        ({"scores": "0" * 64}, "2026.12-scores.zip does not have its scores"),
        ({"method": "upu"}, "the name of a row does not begin with its method"),
    ],
)
def test_measures_of_a_board_are_those_of_the_scores_next_to_it(
    place: Path, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    for name in ("2026.12", "2026.12-scores.zip"):
        source = place / "boards" / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    rows = tmp_path / "2026.12" / "rows.parquet"
    pandas.read_parquet(rows).assign(**change).to_parquet(rows)
    list_checksums(rows.parent)
    assert [problem for problem in problems_of(rows.parent) if message in problem] != []


def test_an_impossible_value_of_a_board_is_refused(place: Path, tmp_path: Path) -> None:
    """As in a file of rows, whose tests have every kind of value."""
    copied = Path(shutil.copytree(place / "boards" / "2026.12", tmp_path / "2026.12"))
    pandas.read_parquet(copied / "rows.parquet").assign(accuracy=999.0).to_parquet(copied / "rows.parquet")
    list_checksums(copied)
    message = "accuracy must be a number from 0 to 100, got '999.0'"
    assert [problem for problem in problems_of(copied) if message in problem] != []
    with pytest.raises(RequestError, match=f"line 2: {message}"):
        read_board(copied)


def test_a_problem_is_the_same_for_methods_and_seeds_and_no_other(place: Path) -> None:
    runs = [run.result.spec for name in ("mine", "theirs") for run in pubench.load_results(place / name)]
    assert len({problem_of(spec) for spec in runs}) == 1
    other = runs[0].model_copy(update={"prior": 0.3})
    assert problem_of(other) != problem_of(runs[0])


def test_a_method_is_ranked_among_those_of_the_board(place: Path, board: Board) -> None:
    mine = pubench.load_results(place / "mine")
    standing = pubench.compare_with(mine, place / "boards" / "2026.12")
    (cell,) = standing.cells
    rows = board.rows[board.rows["criterion_selected"] & ~board.rows["oracle"]]
    theirs = 100 * rows.groupby("method")["test_accuracy"].mean()
    own = 100 * pandas.Series([run.test["accuracy"] for run in mine]).mean()
    assert (cell.rank, cell.of) == (1 + int((theirs > own).sum()), 3)
    assert cell.best_method == f"{theirs.idxmax()} epochs=2"
    assert cell.difference == pytest.approx(own - theirs.max(), abs=1e-3)
    assert standing.heading()[0].startswith(f"pusb: rank {cell.rank} of 3 on breast-cancer")


def test_methods_of_the_board_do_not_count_against_themselves_and_oracles_not_at_all(place: Path) -> None:
    standing = pubench.compare_with(pubench.load_results(place / "theirs"), place / "boards" / "2026.12")
    cells = {cell.method: cell for cell in standing.cells}
    assert sorted(cells[name].rank for name in ("upu", "vpu")) == [1, 2]
    assert {cells[name].of for name in ("upu", "vpu")} == {2}
    assert cells["pn"].texts()[3] == "oracle, not ranked"


def test_the_commands(pubench_in: Callable[[Path], Run], place: Path, tmp_path: Path) -> None:
    """One's own method alone is run; the rest is the board's."""
    shutil.copytree(place / "mine", tmp_path / "results")
    shutil.copytree(place / "theirs", tmp_path / "theirs")
    run = pubench_in(tmp_path)
    built = run("board", "2026.12", "--from", "theirs")
    assert built.returncode == 0, built.stderr
    assert built.stdout.startswith("boards/2026.12: ")
    checked = run("verify", "boards/2026.12").stdout
    assert checked.startswith(
        "6 records, 0 problems; measures derived again from the scores of 6; 2 checksums compared"
    )
    assert "never changed" in run("board", "2026.12", "--from", "theirs").stderr

    compared = run("study", "compare", "results", "--with", "board@2026.12", "--format", "json")
    assert compared.returncode == 0, compared.stderr
    (cell,) = json.loads(compared.stdout)["cells"]
    assert cell["of"] == 3
    table = run("study", "compare", "results", "--with", "boards/2026.12")
    assert f"pusb: rank {cell['rank']} of 3 on breast-cancer" in table.stdout

    for name, says in (("board@nope", "is not in boards"), ("2026.12", "a board (board@NAME)")):
        wrong = run("study", "compare", "results", "--with", name)
        assert (wrong.returncode, says in wrong.stderr) == (2, True), wrong.stderr

    (tmp_path / "mine.yaml").write_text(
        "name: mine\nmethods: {pusb: {config: {epochs: 2}}}\ndata: [breast-cancer]\nseeds: [2, 25]\n"
    )
    for words in ("run mine.yaml --threads 1", "export mine"):
        assert run("study", *words.split()).returncode == 0
    sent = run("verify", "mine.zip", "--with", "board@2026.12")
    assert sent.returncode == 0, sent.stderr
    assert hashlib.sha256((tmp_path / "mine.zip").read_bytes()).hexdigest() in sent.stdout
    assert f"rank {cell['rank']} of 3 on breast-cancer" in sent.stdout


def test_a_site_is_made_of_a_dated_board(place: Path, tmp_path: Path) -> None:
    """The same table as of the records, and the rows for programs next to it."""
    of_board = pubench.site(place / "boards" / "2026.12", tmp_path / "b")
    of_records = pubench.site(place / "theirs", tmp_path / "r", measure="accuracy")
    assert len(list((tmp_path / "b" / "rows").glob("*.parquet"))) == 1
    means = re.compile(r'<td class="r">(\d+\.\d\d)\b')
    assert means.findall(of_board.read_text()) == means.findall(of_records.read_text()) != []
