"""Results of a study as data: the frame of all records, the runs of one study, the archive to give away."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pandas
import pytest
from pubench_report.rows.columns import LONG, names
from pubench_report.rows.files import write_parquet
from pubench_study.export import FRAME, export
from pubench_study.plan import FrozenPlan, write_plan
from pubench_study.planning import freeze
from pubench_study.study_file import StudyFolder, read_study
from pubench_study.task import Orders, RunTask, carry_out

import pubench
from pubench_core.data.dataset import data_root
from pubench_core.plugins.registry import registry
from pubench_core.records.store import RecordStore
from pubench_core.specs import ExecutionSpec

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::pubench.PubenchWarning"),  # of a run with one epoch
]

STUDY = """
name: two
methods: {"fast": {"key": "upu", "config": {"epochs": 1, "lr": 0.01}}, "upu": {"config": {"epochs": 1}}}
data: [digits]
seeds: [2, 25]
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyFolder, FrozenPlan]:
    """A study with three of its four runs carried out, next to a run of another study."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "two.yaml").write_text(STUDY)
    file = read_study(folder / "two.yaml")
    plan, _ = freeze(file, registry(), data_root(ExecutionSpec()))
    study = StudyFolder(folder / "results", plan.name)
    write_plan(study, file, plan)
    orders = Orders(results=study.results)
    for run in plan.runs[:3]:
        task = RunTask(run.run_id, run.resolved, orders.execution("cpu"), at_once=2)
        assert carry_out(task, lambda event: None).status == "finished"
    pubench.run("upu", "digits", seed=99, config={"epochs": 1}, tracking=False, threads=1, results=study.results)
    return study, plan


def test_the_frame_has_a_row_per_run_criterion_and_measure(done: tuple[StudyFolder, FrozenPlan]) -> None:
    study, plan = done
    path = study.results / FRAME
    unreadable = write_parquet(path)
    frame = pandas.read_parquet(path)

    assert unreadable == []
    assert list(frame.columns) == names(LONG)
    assert frame.run_id.nunique() == 4
    record = RecordStore(study.results).find(plan.runs[0].run_id)
    assert record is not None
    mine = frame[frame.run_id == plan.runs[0].run_id]
    measures = sum(len(c.measured(part)) for c in record.result.criteria.values() for part in c.measures)
    assert len(mine[mine.measure != ""]) == measures
    row = mine[mine.criterion_selected & (mine.part == "test") & (mine.measure == "accuracy")].iloc[0]
    assert row.value == record.result.test["accuracy"]
    assert (row.tag, row.at_once, row.threads, row.seed) == ("oracle", 2, 1, plan.runs[0].spec.seed)
    assert set(mine[mine.measure == "pa"].tag) == {"pu"}


def test_the_frame_is_written_again_only_when_a_record_comes_or_goes(done: tuple[StudyFolder, FrozenPlan]) -> None:
    study, _ = done
    path = study.results / FRAME
    write_parquet(path)
    stamp = path.stat().st_mtime_ns
    write_parquet(path)
    assert path.stat().st_mtime_ns == stamp
    path.write_bytes(b"no parquet")
    write_parquet(path)
    assert len(pandas.read_parquet(path))
    pubench.run("upu", "digits", seed=98, config={"epochs": 1}, tracking=False, threads=1, results=study.results)
    write_parquet(path)
    assert 98 in set(pandas.read_parquet(path).seed)


def test_the_runs_of_one_study_have_its_names(done: tuple[StudyFolder, FrozenPlan]) -> None:
    results = pubench.load_results(done[0].results, study="two")
    assert len(results) == 3
    assert results.methods == ("fast", "upu")
    assert [run.result.spec.seed for run in results] == [2, 2, 25]
    with pytest.raises(pubench.InvalidRequest, match="no study 'three'"):
        pubench.load_results(done[0].results, study="three")


@pytest.mark.parametrize("with_scores", [True, False])
def test_an_archive_is_a_folder_of_records_with_checksums(
    done: tuple[StudyFolder, FrozenPlan], tmp_path: Path, with_scores: bool
) -> None:
    study, plan = done
    records = [record for run in plan.runs if (record := RecordStore(study.results).find(run.run_id)) is not None]
    files, digest = export(study, plan, records, tmp_path / "two.zip", with_scores=with_scores)
    with zipfile.ZipFile(tmp_path / "two.zip") as archive:
        archive.extractall(tmp_path)

    there = tmp_path / "two"
    sums = dict(reversed(line.split("  ")) for line in (there / "SHA256SUMS").read_text().splitlines())
    assert (files, digest) == (len(sums), hashlib.sha256((tmp_path / "two.zip").read_bytes()).hexdigest())
    assert {str(p.relative_to(there)) for p in there.rglob("*") if p.is_file()} == {*sums, "SHA256SUMS"}
    assert all(hashlib.sha256((there / name).read_bytes()).hexdigest() == digits for name, digits in sums.items())
    assert with_scores == any(name.endswith("scores.npz") for name in sums)
    again = pubench.load_results(there, study="two")
    assert [run.run_id for run in again] == [run.run_id for run in plan.runs[:3]]
    assert pandas.read_parquet(there / "results.parquet").run_id.nunique() == 3
    write_parquet(there / FRAME)
    assert hashlib.sha256((there / "results.parquet").read_bytes()).hexdigest() == sums["results.parquet"]
