"""Committed rows of measurements say which code made them."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from types import ModuleType

import pandas
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


@pytest.mark.parametrize("folder", sorted((ROOT / "boards").glob("20*")), ids=lambda folder: folder.name)
def test_what_is_printed_of_a_board_is_recomputed_from_its_rows(folder: Path) -> None:
    """Its counts, and what its page says of it and of its errors."""
    facts, rows = json.loads((folder / "board.json").read_text()), pandas.read_parquet(folder / "rows.parquet")
    runs = rows.drop_duplicates("run_id")
    for name, of in (("data", "data"), ("methods", "method"), ("criteria", "criterion")):
        assert facts[name] == sorted({*rows[of]})
    assert facts["runs_by_revision"] == {(k or "unknown"): n for k, n in runs["revision"].value_counts().items()}
    counts = len(rows), len(runs), rows["problem"].nunique()
    assert (facts["rows"], facts["runs"], facts["problems"]) == counts

    names = ["run_id", "criterion", "accuracy", "revision"]
    now = pandas.concat(
        pandas.read_csv(path, usecols=lambda name: name in names) for path in sorted(RESULTS.glob("study-*.csv"))
    )
    newest = now.sort_values("revision", na_position="first", kind="stable").groupby(names[:2])["accuracy"].last()
    by_pa = rows[rows["criterion"] == "pa"].set_index(names[:2])["accuracy"]
    changed = (by_pa - newest.reindex(by_pa.index)).abs()
    changed = changed[changed > 0.005]
    gone = {*rows["run_id"]} - {*now["run_id"]}
    page = " ".join((ROOT / "docs" / "pages" / "boards.md").read_text(encoding="utf-8").split())
    for words in (
        "`boards/{}` is in the repository: {:,} rows of {:,} runs on {} problems".format(folder.name, *counts),
        f"{len(changed)} of its runs have another accuracy by `pa` now, of newer code: half of them by up to "
        f"{changed.median():.1f} points, one by {changed.max():.1f}. {len(gone)} others are in no file of rows",
    ):
        assert words in page, words


@pytest.mark.parametrize("folder", sorted((ROOT / "boards").glob("20*")), ids=lambda folder: folder.name)
def test_every_mean_and_gain_of_a_boards_site_is_that_of_its_rows(folder: Path, tmp_path: Path) -> None:
    """Of its runs on three data sets."""
    rows = pandas.read_parquet(folder / "rows.parquet").query("data in ('20news', 'connect-4', 'usps')")
    board = shutil.copytree(folder, tmp_path / folder.name)
    rows.to_parquet(board / "rows.parquet")
    digest = hashlib.sha256((board / "rows.parquet").read_bytes()).hexdigest()
    (board / "SHA256SUMS").write_text(f"{digest}  rows.parquet\n")
    rows = rows.set_index(["criterion", "run_id"])
    seeds, accuracy, checked = {run: seed for (_, run), seed in rows["seed"].items()}, rows["accuracy"].to_dict(), 0
    index = pubench.site(board, tmp_path / "site").read_text(encoding="utf-8")
    assert "decided at 0: these rows have no decision at the prior" in index
    for setting in json.loads(index.partition('id="values">')[2].partition("</script>")[0])["settings"]:
        parts = re.split(r'<details id="(c\d+)">', (tmp_path / "site" / setting["page"]).read_text())[1:]
        runs = {name: re.findall(r'id="r-(\w+)"', part) for name, part in zip(parts[::2], parts[1::2], strict=True)}
        for criterion, shown in setting["shown"]["accuracy"].items():
            shown = json.loads(shown) if isinstance(shown, str) else shown
            cells = []
            for _, _, name, *_ in setting["cells"]:
                known = {seeds[run]: accuracy.get((criterion, run)) for run in runs.get(name, ())}
                cells.append({seed: value for seed, value in known.items() if value == value and value is not None})
            for (*_, n), mine, value in zip(
                (cell[:4] for cell in setting["cells"]), cells, shown["cells"], strict=True
            ):
                if value == 0:
                    assert not mine
                else:
                    mean, _, fewer, *_ = [*value, 0, 0, 0]
                    assert (mean, fewer or n) == (pytest.approx(fmean(mine.values()), abs=0.006), len(mine))
            for gains in (*shown["gains"], *json.loads(shown["others"])):
                over = {c: of for (r, c, *_), of in zip(setting["cells"], cells, strict=True) if r == gains["over"]}
                for (_, c, *_), mine, gain in zip(setting["cells"], cells, gains["cells"], strict=True):
                    if gain != 0:
                        points, _, fewer, *_ = [*gain, 0, 0, 0]
                        both = [mine[seed] - over[c][seed] for seed in {*mine} & {*over[c]}]
                        assert (points, fewer or len(mine)) == (pytest.approx(fmean(both), abs=0.011), len(both))
                        checked += 1
    assert checked > 80
