"""Raw rows of studies: made from records, read next to the older ones, shown on the page of results."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from pubench_report.site import write
from pubench_report.site.sources import SiteRequest
from pubench_study.plan import write_plan
from pubench_study.planning import freeze
from pubench_study.study_file import StudyFolder, read_study
from repository import ROOT

from benchmarks.pages import results_page, summary
from benchmarks.studies import study_rows
from pubench_core.data.dataset import DataRoot, data_root
from pubench_core.engine.execute import execute
from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.engine.layers import Layer
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry
from pubench_core.records.store import RecordStore
from pubench_core.specs import ExecutionSpec

STUDY = """
name: two-seeds
methods: [{key: upu, preset: pubench, config: {epochs: 2}}]
data: [digits]
seeds: [2, 25]
settings: {validation: {fraction: 0.05}, selection: {criterion: f1}}
"""
COLUMNS = (
    "method", "data", "mechanism", "c", "scheme", "prior", "seed", "preset", "settings", "criterion", "selected",
    "epoch", "accuracy", "precision", "recall", "f1", "macro-f1", "auc", "run_id", "commit", "machine", "study",
)  # fmt: skip
Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of records with a study of two runs, and one run that is not of it."""
    results = tmp_path_factory.mktemp("study") / "results"
    file = results.parent / "two.yaml"
    file.write_text(STUDY)
    study = read_study(file)
    root: DataRoot = data_root(ExecutionSpec())
    plan, _ = freeze(study, registry(), root)
    write_plan(StudyFolder(results, plan.name), study, plan)
    execution = {"results": str(results), "tracking": False, "device": "cpu"}
    for run in (*plan.runs, plan.runs[0]):
        spec = run.spec.model_dump(mode="json")
        spec["seed"] = 42 if len(list(results.glob("*/result.json"))) == 2 else spec["seed"]
        execute(resolve([Layer({**spec, "execution": execution})], registry()))
    return results


def test_rows_are_those_of_the_study_a_row_per_run_and_criterion(recorded: Path) -> None:
    rows = study_rows.rows(recorded, None)
    results = {record.result.run_id: record.result for record in RecordStore(recorded).all()[0]}
    assert len(results) == 3
    assert {row["seed"] for row in rows} == {"2", "25"}
    for run_id in {row["run_id"] for row in rows}:
        mine = {row["criterion"]: row for row in rows if row["run_id"] == run_id}
        assert set(mine) == set(results[run_id].criteria)
        assert [name for name, row in mine.items() if row["selected"] == "True"] == ["f1"]
        for name, row in mine.items():
            criterion = results[run_id].criteria[name]
            value = criterion.measures["test"]["accuracy"].value if criterion.measures else None
            assert row["accuracy"] == ("" if value is None else str(round(100 * value, 4)))
            assert (row["epoch"], row["criterion_oracle"]) == (str(criterion.epoch or ""), str(criterion.oracle))


def test_rows_say_what_was_set_beyond_preset_and_data_set(recorded: Path) -> None:
    rows = study_rows.rows(recorded, "two-seeds")
    assert {row["settings"] for row in rows} == {"epochs=2 validation.fraction=0.05"}
    assert {row["preset"] for row in rows} == {"pubench"}


def test_rows_have_the_engine_revision_unless_their_tree_was_uncommitted(recorded: Path) -> None:
    for row in study_rows.rows(recorded, None):
        assert row["revision"] == ("" if row["commit"].endswith("-dirty") else str(ENGINE_REVISION))


@pytest.fixture
def written(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Rows]:
    """``written(*options)``: what ``study_rows.py`` writes of these records to ``a.csv``."""

    def write(*options: str) -> Rows:
        monkeypatch.setattr(sys, "argv", ["study_rows.py", str(recorded), str(tmp_path / "a.csv"), *options])
        study_rows.main()
        with (tmp_path / "a.csv").open(newline="") as lines:
            return list(csv.DictReader(lines))

    return write


def store(file: Path, columns: Sequence[str], rows: Rows) -> None:
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, columns, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def test_rows_are_in_the_same_order_whenever_they_are_made(written: Callable[..., Rows], tmp_path: Path) -> None:
    found = [(row["method"], int(row["seed"]), row["criterion"]) for row in written()]
    assert found == sorted(found)
    read = summary.runs([tmp_path / "a.csv"])
    assert list(read.seed) == ["2", "25"]
    assert set(read.settings) == {"epochs=2 validation.fraction=0.05"}


def test_rows_of_runs_that_the_folder_does_not_have_stay_if_asked(written: Callable[..., Rows], tmp_path: Path) -> None:
    file, columns, mine = tmp_path / "a.csv", study_rows.COLUMNS, written()
    elsewhere = {**mine[0], "run_id": "elsewhere", "seed": "3"}
    store(file, columns, [{**mine[0], "code": "another", "run_id": "older"}, elsewhere])
    both = written("--add")
    assert [row for row in both if row != elsewhere] == mine
    assert [row["seed"] for row in both] == sorted((row["seed"] for row in both), key=int)
    assert written("--add") == both
    assert written() == mine
    store(file, [name for name in columns if name != "average-precision"], [elsewhere])
    assert {**elsewhere, "average-precision": ""} in written("--add")
    file.write_text("method,data\n")
    with pytest.raises(SystemExit, match=r"a\.csv has other columns"):
        written("--add")


# -------------------------------------------------------------------- read again


def study_row(seed: int, criterion: str, accuracy: str, f1: str, epoch: str = "1", commit: str = "abc") -> str:
    return (
        f"upu,digits,scar,0.1,case-control,true,{seed},pubench,validation.fraction=0.01,{criterion},"
        f"{criterion == 'f1'},{epoch},{accuracy},,,{f1},,,{commit}{seed},{commit},a machine,some\n"
    )


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Seeds 2 and 42 in one file, 2 and 25 in another."""
    older = [
        study_row(seed, name, accuracy, f1, epoch, "old")
        for seed in (2, 42)
        for name, accuracy, f1, epoch in (("f1", f"{50 + seed}", "60", "3"), ("pa", "40", "", ""))
    ]
    (tmp_path / "a-file.csv").write_text(",".join(COLUMNS) + "\n" + "".join(older))
    text = study_row(2, "f1", "80", "70") + study_row(2, "pa", "75", "65")
    text += study_row(25, "f1", "90", "85") + study_row(25, "pa", "", "", epoch="")
    (tmp_path / "a-study.csv").write_text(",".join(COLUMNS) + "\n" + text)
    return tmp_path


def test_the_row_of_the_last_file_counts_where_both_have_a_run(rows: Path) -> None:
    found = summary.conventional(*sorted(rows.glob("*.csv"))).set_index("seed")
    assert list(zip(found.index, found.accuracy, found.file, strict=True)) == [
        ("42", 92.0, "a-file.csv"),
        ("2", 80.0, "a-study.csv"),
        ("25", 90.0, "a-study.csv"),
    ]
    assert found.f1_by_f1["42"] == 60
    assert found.undefined["25"] == {"pa"}


def test_a_run_of_the_main_protocol_is_read_by_f1_whichever_criterion_names_it(rows: Path) -> None:
    text = (rows / "a-study.csv").read_text()
    for was, now in ((",f1,True,", ",f1,no,"), (",pa,False,", ",pa,True,"), (",f1,no,", ",f1,False,")):
        text = text.replace(was, now)
    (rows / "a-study.csv").write_text(text)
    found = summary.conventional(rows / "a-study.csv").set_index("seed")
    assert found.loc["2", ["accuracy", "accuracy_by_pa"]].tolist() == [80.0, 75.0]


def test_a_row_of_the_present_engine_revision_counts_before_a_later_one(rows: Path) -> None:
    """Files are read in the order of their names; what a page shows of older rows is marked."""
    header, *lines = (rows / "a-study.csv").read_text().splitlines()
    for name, revision, accuracy in (("z-study.csv", "1", "81"), ("a-study.csv", summary.ENGINE_REVISION, "80")):
        text = [f"{header},revision", *(f"{line.replace(',80,', f',{accuracy},')},{revision}" for line in lines)]
        (rows / name).write_text("\n".join(text) + "\n")
    found = summary.runs(sorted(rows.glob("*.csv"))).set_index("seed")
    assert found.loc["2", ["accuracy", "older"]].tolist() == [80.0, False]
    assert found.older["42"]
    page = results_page.conventional(rows)
    assert "| `upu` † | 3 |" in page
    assert "†: 1 of 3 runs are of an older engine revision" in page


def test_the_results_page_has_means_numbers_of_seeds_and_missing_cells(rows: Path) -> None:
    page = results_page.conventional(rows)
    section = page.partition("### Digits")[2]
    accuracy, f1, by_pa = [80, 90, 92], [70, 85, 60], [75, 40]
    expected = [
        "`upu` †",
        "3",
        f"{np.mean(by_pa):.2f} ± {np.std(by_pa, ddof=1):.2f} (2)",
        "65.00 (1)",
        *(f"{np.mean(v):.2f} ± {np.std(v, ddof=1):.2f}" for v in (accuracy, f1)),
    ]
    assert "| " + " | ".join(expected) + " |" in section
    assert (
        "Raw rows: `a-file.csv`, `a-study.csv` in `benchmarks/results/`; commit `abc`, `old`; a machine. †: 3 of 3 runs"
        in section
    )
    assert "### MNIST\n\nMissing: no method was run." in page


def test_a_criterion_without_a_value_in_any_run_is_undefined(rows: Path) -> None:
    (rows / "a-file.csv").unlink()
    text = (rows / "a-study.csv").read_text().replace(study_row(2, "pa", "75", "65"), study_row(2, "pa", "", "", ""))
    (rows / "a-study.csv").write_text(text)
    page = results_page.conventional(rows)
    assert "| `upu` † | 2 | undefined | undefined | 85.00 ± 7.07 | 77.50 ± 10.61 |" in page


def test_every_study_file_is_readable_and_says_its_purpose() -> None:
    files = sorted((ROOT / "benchmarks" / "studies").glob("*.yaml"))
    assert files
    for path in files:
        spec = read_study(path).spec
        assert spec.name == path.stem
        assert spec.description


def test_a_site_shows_records_beside_rows_of_other_runs_and_of_their_own(recorded: Path, tmp_path: Path) -> None:
    """Rows do not say which arrays were read, and their measures are rounded: neither is a contradiction."""
    mine = study_rows.rows(recorded, None)
    others = [
        row | {"method": "pn", "settings": "validation.fraction=0.05", "run_id": f"{int(row['seed']):016x}"}
        for row in mine
    ]
    store(tmp_path / "rows.csv", study_rows.COLUMNS, [*mine, *others])
    said: list[str] = []
    sources = [recorded, tmp_path / "rows.csv"]
    assert write.write_site(SiteRequest(sources, tmp_path / "site", study="two-seeds"), said.append).records == 4
    assert not [line for line in said if "other measures" in line]
