"""MLflow gets the record's numbers, each record once, and nothing that goes wrong there harms a run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from printed import Run

from pubench_cli.track import Sent, send_missing
from pubench_core.plugins.events import Listeners, RunFinished
from pubench_core.records.files import RESULT
from pubench_core.records.record import read_record
from pubench_core.sinks import listeners_of
from pubench_core.specs import ExecutionSpec

if TYPE_CHECKING:  # importing MLflow takes seconds: only the process that runs these tests does
    from mlflow.tracking import MlflowClient
    from pubench_mlflow.sink import MlflowSink

pytestmark = pytest.mark.filterwarnings("ignore:The ``noload``", "ignore::DeprecationWarning")
#: Two epochs, long enough that the result does not decide every row alike, of which a run warns too.
SHORT = ("--set", "epochs=2", "--set", "steps_per_epoch=60")
RUN = ("run", "--method", "nnpu", "--data", "digits", "--threads", "1", *SHORT)


def sink(results: Path, uri: str | None = None) -> MlflowSink:
    from pubench_mlflow.sink import MlflowSink

    return MlflowSink(results, uri)


def send_record(folder: Path, uri: str | None = None) -> None:
    sink(folder.parent, uri).send(read_record(folder))


@pytest.fixture(scope="module")
def pubench(pubench_in: Callable[[Path], Run]) -> Run:
    """``pubench(results, *words)``: what the console script did with that folder."""

    def run(results: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return pubench_in(results.parent)(*words, "--results", results)

    return run


@pytest.fixture(scope="module")
def results(pubench: Run, tmp_path_factory: pytest.TempPathFactory, tracking_database: Path) -> Path:
    """A results folder with one record, tracked when it finished."""
    folder = tmp_path_factory.mktemp("tracked") / "results"
    folder.mkdir()
    shutil.copy(tracking_database, folder)
    done = pubench(folder, *RUN)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    return folder


def client(results: Path, name: str = "mlflow.db") -> MlflowClient:
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri=f"sqlite:///{results / name}")


def tracked(client: MlflowClient) -> list[Any]:
    (experiment,) = client.search_experiments(filter_string="name = 'pubench/digits'")
    return list(client.search_runs([experiment.experiment_id]))


def record_in(results: Path) -> Path:
    (folder,) = (path.parent for path in results.glob(f"*/{RESULT}"))
    return folder


def test_a_tracked_run_has_the_numbers_of_its_record(results: Path) -> None:
    (run,) = tracked(client(results))
    result = read_record(record_in(results)).result
    assert run.data.metrics["test/accuracy"] == result.test["accuracy"]
    for name, criterion in result.criteria.items():
        for part, measures in criterion.measures.items():
            sent = {metric: run.data.metrics[f"by-{name}/{part}-{metric}"] for metric in measures}
            assert sent == {metric: measure.value for metric, measure in measures.items()}
    assert set(result.chosen.measures) == {"test", "validation"}
    assert run.data.metrics["seconds/total"] == result.seconds.total
    assert run.data.metrics["peak_memory_bytes"] == result.peak_memory.bytes
    assert run.data.params["method.config.lr"] == "0.0003"
    assert run.data.params["mechanism.c"] == "0.1"
    assert not [name for name in run.data.params if name.startswith("execution")]
    assert run.data.tags["pubench.run_id"] == result.run_id
    assert run.data.tags["pubench.code"] == result.code.hash
    assert (run.data.tags["pubench.selected"], run.data.tags["pubench.oracle"]) == ("pa", "false")
    assert "version.torch" in run.data.tags
    steps = client(results).get_metric_history(run.info.run_id, "epoch/loss")
    assert [m.step for m in steps] == [1, 2]
    files = {f.path for f in client(results).list_artifacts(run.info.run_id)}
    assert {"spec.yaml", "result.json", "scores.npz", "trace.csv"} <= files


def test_tracking_again_adds_nothing(results: Path) -> None:
    for _ in range(2):
        assert send_missing(sink(results), results) == Sent(sent=0, already_there=1)
    assert len(tracked(client(results))) == 1


def test_a_send_that_was_cut_off_is_replaced(
    results: Path, tmp_path: Path, tracking_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = record_in(results)
    uri = f"sqlite:///{shutil.copy(tracking_database, tmp_path / 'other.db')}"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mlflow.tracking.MlflowClient.log_artifacts", killed)
        with pytest.raises(KeyboardInterrupt):
            send_record(folder, uri)
    assert not sink(results, uri).has(read_record(folder))
    send_record(folder, uri)
    assert sink(results, uri).has(read_record(folder))
    send_record(folder, uri)
    (run,) = tracked(client(tmp_path, "other.db"))
    assert run.info.status == "FINISHED"


@pytest.mark.parametrize("status", ["refused", "failed"])
def test_a_run_without_a_result_is_not_sent(
    tmp_path: Path, status: Literal["refused", "failed"], capsys: pytest.CaptureFixture[str]
) -> None:
    listeners = Listeners(listeners_of(ExecutionSpec()))
    listeners.notify("pubench_run_finished", RunFinished("none", status, tmp_path / "results" / "failed" / "none-1"))
    assert capsys.readouterr().err == ""
    assert not list(tmp_path.iterdir())


def test_a_page_of_nothing_is_refused_in_one_line(pubench: Run, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    refused = pubench(tmp_path / "results", "ui")
    assert refused.returncode == 2
    assert "nothing was tracked" in refused.stderr
