"""Committed rows of measurements say which code made them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from repository import ROOT

import pubench
from benchmarks import raw_rows as raw_rows_module
from benchmarks.pages.parts import filled, names_of_blocks

RESULTS = ROOT / "benchmarks" / "results"
#: Places of the pages of results that show figures whose rows were not kept. Lower it when one goes.
FIGURES_BY_HAND = 12


@pytest.fixture
def raw_rows() -> Iterator[ModuleType]:
    yield raw_rows_module
    raw_rows_module.commit.cache_clear()


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_row_is_of_a_clean_commit() -> None:
    for path in RESULTS.glob("*.csv"):
        for row in rows_of(path):
            assert row["commit"], (path.name, row)
            assert not row["commit"].endswith("-dirty"), (path.name, row)
            assert row.get("revision", "1"), (path.name, row)


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
    assert pubench.verify(folder).problems == ()
    assert sum(file.stat().st_size for file in folder.iterdir()) < 300_000
