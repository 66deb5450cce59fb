"""Committed rows of measurements say which code made them."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from pubench_submit.building import problems_of
from repository import ROOT

from benchmarks import raw_rows as raw_rows_module
from benchmarks.pages.parts import filled, names_of_blocks
from benchmarks.studies import superseded

RESULTS = ROOT / "benchmarks" / "results"
#: Rows of uncommitted trees when the list was closed. Lower it with the counts in ``uncommitted.toml``.
MOST = 1252
#: Places of the pages of results that show figures whose rows were not kept. Lower it when one goes.
FIGURES_BY_HAND = 12


@pytest.fixture
def raw_rows() -> Iterator[ModuleType]:
    yield raw_rows_module
    raw_rows_module.commit.cache_clear()


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_rows_of_uncommitted_trees_are_those_of_a_closed_list() -> None:
    groups = tomllib.loads((ROOT / "benchmarks" / "uncommitted.toml").read_text(encoding="utf-8")).values()
    assert all(group["reason"] for group in groups)
    listed = {name: count for group in groups for name, count in group.items() if name != "reason"}
    counts = {
        path.name: sum(row["commit"].endswith("-dirty") for row in rows_of(path)) for path in RESULTS.glob("*.csv")
    }
    assert {name: count for name, count in counts.items() if count} == listed
    assert sum(listed.values()) <= MOST


def test_a_row_of_an_uncommitted_tree_names_no_engine_revision() -> None:
    for path in RESULTS.glob("study-*.csv"):
        for row in rows_of(path):
            if "revision" in row:
                assert bool(row["revision"]) != row["commit"].endswith("-dirty"), (path.name, row["run_id"])


def test_a_row_gets_commit_machine_and_command(
    raw_rows: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks/some_time.py", "--sizes", "1 2"])
    raw_rows.append(tmp_path / "new.csv", {"seconds": 1})
    raw_rows.append(tmp_path / "new.csv", {"command": "another", "seconds": 2})  # in another order
    first, second = rows_of(tmp_path / "new.csv")
    origin = {"commit": raw_rows.commit(), "machine": raw_rows.machine()}
    assert first == {"seconds": "1", **origin, "command": "some_time.py --sizes '1 2'"}
    assert second == {"seconds": "2", **origin, "command": "another"}


def test_a_row_of_other_columns_is_refused(raw_rows: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("seconds,commit\n1,abc\n")
    with pytest.raises(SystemExit, match=r"old\.csv has the columns seconds, commit; the new row has"):
        raw_rows.append(tmp_path / "old.csv", {"seconds": 2})
    assert (tmp_path / "old.csv").read_text() == "seconds,commit\n1,abc\n"


def test_a_row_of_an_uncommitted_tree_does_not_go_into_the_results(
    raw_rows: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_rows, "RESULTS", tmp_path / "results")
    row = {"seconds": 1, "commit": "abc-dirty"}
    with pytest.raises(SystemExit, match="uncommitted changes: commit them first"):
        raw_rows.append(tmp_path / "results" / "new.csv", row)
    raw_rows.append(tmp_path / "tried.csv", row)
    assert not (tmp_path / "results").exists()


def test_rows_of_an_uncommitted_tree_yield_to_a_clean_commits_same_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = rows_of(RESULTS / "study-conventional-13.csv")[0]
    again, alone = {**known, "commit": "abc-dirty", "seed": "2"}, {**known, "commit": "abc-dirty", "seed": "3"}
    clean = {**known, "commit": "abc", "seed": "2"}
    for name, rows in {"study-old.csv": [again, alone], "study-new.csv": [clean]}.items():
        with (tmp_path / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, list(known))
            writer.writeheader()
            writer.writerows(rows)
    superseded.main(tmp_path)
    assert rows_of(tmp_path / "study-old.csv") == [alone]
    assert rows_of(tmp_path / "study-new.csv") == [clean]
    assert "study-old.csv: 1 rows removed, 1 left" in capsys.readouterr().out


def test_figures_without_rows_are_marked_and_only_get_fewer() -> None:
    """Pages of results mark them *by hand*; one of the words in ``results.md`` says what the mark means."""
    named = ("wang", "published", "beside-published", "released-recipes", "cost-and-speed")
    folder = ROOT / "docs" / "pages"
    pages = [*folder.glob("results*.md"), *(folder / f"{name}.md" for name in named)]
    written = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    words = " ".join(filled(written, dict.fromkeys(names_of_blocks(written), "")).lower().split())
    assert words.count("*by hand*") == words.count("by hand")
    assert words.count("*by hand*") - 1 <= FIGURES_BY_HAND


@pytest.mark.parametrize("folder", sorted((ROOT / "boards").glob("20*")), ids=lambda folder: folder.name)
def test_a_committed_board_is_sound_and_small(folder: Path) -> None:
    assert problems_of(folder) == []
    assert sum(file.stat().st_size for file in folder.iterdir()) < 300_000
