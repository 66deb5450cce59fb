"""The worst hour of a tracker: records reach it once and whole, and nothing that it does holds a result back."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pytest
from made_results import made_result, made_spec

from pubench_cli.track import Sent, send_missing
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.execute import execute
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RunFailed, without_password
from pubench_core.plugins.events import RunFinished
from pubench_core.plugins.registry import GROUP, Registry
from pubench_core.records.files import ENVIRONMENT, RESULT, result_text
from pubench_core.records.record import read_record
from pubench_core.results import Environment, RunResult
from pubench_core.sinks import SinkUnavailable

pytestmark = pytest.mark.filterwarnings(
    "ignore:The ``noload``", "ignore::DeprecationWarning", "ignore::ResourceWarning"
)
SECRET = "s3cr3t"
#: Processes that send a record each, all at once, after one of them has imported what they need. Tables are copied:
#: making them takes long.
SEND = """
import os, shutil, sys
from pathlib import Path
from pubench_core.records.record import read_record
from pubench_mlflow import sink
from pubench_mlflow.sink import MlflowSink
client, tables = sink._client, sys.argv.pop()
def copied(uri):
    place = Path(uri.removeprefix("sqlite:///"))
    if not place.exists():
        shutil.copy(tables, place)
    return client(uri)
sink._client = copied
ready, go = os.pipe()
children = []
for folder in sys.argv[1:]:
    children.append(os.fork())
    if not children[-1]:
        os.close(go)
        os.read(ready, 1)
        MlflowSink(Path(folder).parent, None).send(read_record(Path(folder)))
        os._exit(0)
os.close(go)
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""


def make_record(results: Path, n: int) -> Path:
    """A record like that of a run."""
    run_id = f"{n:016x}"
    folder = results / run_id
    folder.mkdir(parents=True)
    spec = made_spec().model_copy(update={"seed": n})
    (folder / RESULT).write_text(result_text(made_result(run_id, spec=spec)))
    environment = Environment(python="3", platform="L", packages={}, cpu="a", cpu_count=1, threads=1, device="cpu")
    (folder / ENVIRONMENT).write_text(environment.model_dump_json())
    return folder


def mlflow_sink(results: Path, uri: str | None) -> Any:
    """Imports MLflow, which takes seconds, in the process that runs these tests only."""
    from pubench_mlflow.sink import MlflowSink

    return MlflowSink(results, uri)


def track(results: Path, uri: str | None = None) -> Sent:
    return send_missing(mlflow_sink(results, uri), results)


def send_record(folder: Path, uri: str | None = None) -> None:
    mlflow_sink(folder.parent, uri).send(read_record(folder))


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """A results folder that is not there yet."""
    return tmp_path / "results"


@pytest.fixture
def results(new: Path, tracking_database: Path) -> Path:
    """One in which MLflow's database is."""
    new.mkdir()
    shutil.copy(tracking_database, new)
    return new


def sent(results: Path) -> list[tuple[str, str]]:
    """(run id, how its MLflow run ended) of every one."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{results / 'mlflow.db'}")
    (experiment,) = client.search_experiments(filter_string="name = 'pubench/toy'")
    runs = client.search_runs([experiment.experiment_id])
    return sorted((run.data.tags["pubench.run_id"], run.info.status) for run in runs)


def test_four_first_runs_at_once_are_all_tracked(
    new: Path, tracking_database: Path, tmp_path: Path, pubench_started: Callable[..., Any]
) -> None:
    folders = [make_record(new, n) for n in range(4)]
    (tmp_path / "send.py").write_text(SEND)
    done = pubench_started(tmp_path, *folders, tracking_database, script=tmp_path / "send.py").done()
    assert done.returncode == 0, done.stderr
    assert sent(new) == [(folder.name, "FINISHED") for folder in folders]
    assert {path.name for path in new.iterdir()} >= {"mlflow.db", *(folder.name for folder in folders)}
    assert not list(new.glob("*.new*"))


def test_a_database_that_was_half_made_is_none(
    new: Path, tracking_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Making the tables, which takes long, is killed in the middle, then replaced by copying them."""
    from pubench_mlflow import sink

    folder, client = make_record(new, 1), sink._client

    def killed(uri: str) -> None:
        Path(uri.removeprefix("sqlite:///")).write_bytes(b"half of it")
        raise KeyboardInterrupt

    def copied(uri: str) -> Any:
        place = Path(uri.removeprefix("sqlite:///"))
        if not place.exists():
            shutil.copy(tracking_database, place)
        return client(uri)

    monkeypatch.setattr(sink, "_client", killed)
    with pytest.raises(KeyboardInterrupt):
        send_record(folder)
    assert not (new / "mlflow.db").exists()
    assert list(new.glob(".mlflow.db.*.new"))
    monkeypatch.setattr(sink, "_client", copied)
    send_record(folder)
    assert sent(new) == [(folder.name, "FINISHED")]
    assert not list(new.glob(".mlflow.db.*.new"))


@pytest.mark.parametrize("damage", ["no environment", "bad environment", "bad trace", "no files"])
def test_a_bad_record_is_named_and_the_others_are_sent(
    results: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [make_record(results, n) for n in range(3)]
    match damage:
        case "no environment":
            (folders[1] / ENVIRONMENT).unlink()
        case "bad environment":
            (folders[1] / ENVIRONMENT).write_text("{")
        case "bad trace":
            (folders[1] / "trace.csv").write_text("epoch,loss\n1,much\n")
        case _:
            from mlflow.tracking import MlflowClient

            log = MlflowClient.log_artifacts

            def unreadable(self: MlflowClient, run_id: str, local_dir: str, *more: Any) -> None:
                if local_dir == str(folders[1]):
                    raise PermissionError(13, "Permission denied")
                log(self, run_id, local_dir, *more)

            monkeypatch.setattr(MlflowClient, "log_artifacts", unreadable)
    done = track(results)
    assert (done.sent, done.already_there, len(done.left_out)) == (2, 0, 1)
    assert (str(folders[1]) in str(done.left_out[0])) == (damage != "no files")
    assert "\n" not in str(done.left_out[0])
    assert {(folder.name, "FINISHED") for folder in (folders[0], folders[2])} <= set(sent(results))


class TestATrackerThatCannotBeOpened:
    @pytest.mark.parametrize(
        "uri",
        [
            "sqlite:///{folder}/nowhere/mlflow.db",
            "sqlite:///{folder}/text.db",
            f"nosuch://ann:{SECRET}@127.0.0.1/db",
            f"http://ann:{SECRET}@127.0.0.1:9",
        ],
        ids=["no folder", "no database", "no driver", "no server"],
    )
    def test_is_one_line_without_the_password_and_soon(self, results: Path, tmp_path: Path, uri: str) -> None:
        (tmp_path / "text.db").write_text("text")
        folder, uri, started = make_record(results, 1), uri.format(folder=tmp_path), time.perf_counter()
        for send in (lambda: send_record(folder, uri), lambda: track(results, uri)):
            with pytest.raises(SinkUnavailable) as error:
                send()
            said = str(error.value)
            assert said.startswith(f"{without_password(uri)} cannot be opened (")
            assert said.endswith("'pubench track' sends it later")
            assert SECRET not in said
            assert "\n" not in said
        assert time.perf_counter() - started < 30

    def test_a_server_that_never_answers_is_not_waited_for(
        self, results: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pubench_mlflow.sink.OPENING", 0.5)
        folder = make_record(results, 1)
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            started = time.perf_counter()
            with pytest.raises(SinkUnavailable, match=r"no answer within 0\.5 s"):
                send_record(folder, f"http://127.0.0.1:{silent.getsockname()[1]}")
            assert time.perf_counter() - started < 5

    def test_a_locked_database_is_not_waited_for(self, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        send_record(make_record(results, 1))
        monkeypatch.setattr("pubench_mlflow.sink.LOCKED", 0.2)
        with sqlite3.connect(results / "mlflow.db") as blocker:
            blocker.execute("BEGIN EXCLUSIVE")
            with pytest.raises(SinkUnavailable, match="database is locked"):
                send_record(make_record(results, 2))
        blocker.close()
        assert track(results).sent == 1


def plan_of_worst(results: Path, *sets: str) -> Plan:
    plugins = Registry([*entry_points(group=GROUP), EntryPoint("worst", "pubench_worst", GROUP)])
    given = ("data.key=digits", "method.key=worst", f"execution.results={results}", "execution.threads=1")
    return resolve([assigned(*given, *sets)], plugins)


def test_the_result_is_there_before_any_tracker_hears_of_it(tmp_path: Path) -> None:
    order: list[str] = []

    class Tracker:
        def pubench_run_finished(self, event: RunFinished) -> None:
            order.append("tracker")

    def shown(outcome: RunResult) -> None:
        assert (outcome.folder / RESULT).exists()
        order.append("shown")

    execute(plan_of_worst(tmp_path), listeners=[Tracker()], stored=shown)
    assert order == ["shown", "tracker"]


# ---------------------------------------------------------------- passwords


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("sqlite:////data/mlflow.db", "sqlite:////data/mlflow.db"),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        (f"postgresql+psycopg2://ann:{SECRET}@host:5432/db", "postgresql+psycopg2://ann:***@host:5432/db"),
        (f"mysql://ann:{SECRET}/with@and/@host/db", "mysql://ann:***@host/db"),
        (f"https://:{SECRET}@host/x", "https://:***@host/x"),
        (f"https://{SECRET}@host/x", "https://***@host/x"),
        (f"postgresql://host/db?user=ann&password={SECRET}&x=1", "postgresql://host/db?user=ann&password=***&x=1"),
        (f"cannot reach mssql://a:{SECRET}@b/c today", "cannot reach mssql://a:***@b/c today"),
    ],
)
def test_a_password_in_an_address_is_not_shown(uri: str, shown: str) -> None:
    assert without_password(uri) == shown


@pytest.mark.parametrize("does", ["nothing", "own"])
def test_a_password_reaches_the_tracker_and_no_file(tmp_path: Path, does: str) -> None:
    heard: list[tuple[str | None, Mapping[str, str | None]]] = []

    class Tracker:
        def pubench_run_finished(self, event: RunFinished) -> None:
            spec = event.result.spec if event.result is not None else event.failure and event.failure.spec
            assert spec
            heard.append((spec.execution.tracking_uri, spec.execution.sinks))

    uri = f"postgresql://ann:{SECRET}@host/db"
    asked = (f"execution.tracking_uri={uri}", f"execution.sinks={{mlflow: '{uri}'}}")
    plan = plan_of_worst(tmp_path, f"does={does}", "execution.save_model=true", *asked)
    with nullcontext() if does == "nothing" else pytest.raises(RunFailed):
        execute(plan, listeners=[Tracker()])
    assert heard == [(uri, {"mlflow": uri})]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 1
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


def test_neither_a_dry_run_nor_an_error_of_the_console_script_shows_it(
    pubench_in: Callable[[Path], Any], results: Path, tmp_path: Path
) -> None:
    make_record(results, 1)
    pubench, uri = pubench_in(tmp_path), f"nosuch://ann:{SECRET}@host/db"
    for words in (
        ("run", "--method", "nnpu", "--data", "digits", "--tracking-uri", uri, "--dry-run"),
        ("track", "--to", f"mlflow={uri}"),
    ):
        done = pubench(*words)
        assert "ann:***@host" in done.stdout + done.stderr
        assert SECRET not in done.stdout + done.stderr


# ---------------------------------------------------------------- the page

#: Stands for mlflow: a server with two processes of its own, one of them deaf to SIGTERM.
FAKE_MLFLOW = """
import os, signal, subprocess, sys, time
from pathlib import Path
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
children = [subprocess.Popen([sys.executable, "-c", code]) for code in ("import time; time.sleep(600)", deaf)]
Path("pids").write_text(" ".join(str(pid) for pid in (os.getpid(), *(child.pid for child in children))))
Path("address").write_text(os.environ["MLFLOW_BACKEND_STORE_URI"])
Path("words").write_text(" ".join(sys.argv))
time.sleep(600)
"""


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
class TestThePage:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        package = tmp_path / "fake" / "mlflow"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "__main__.py").write_text(FAKE_MLFLOW)
        (tmp_path / "results").mkdir()
        return tmp_path

    def page(self, folder: Path, port: int) -> subprocess.Popen[str]:
        heed = (
            "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
        )
        script = str(Path(sys.executable).with_name("pubench"))
        words = ["ui", "--tracking-uri", f"postgresql://ann:{SECRET}@host/db", "--port", str(port)]
        command, env = [sys.executable, "-c", heed, script, *words], {**os.environ, "PYTHONPATH": str(folder / "fake")}
        return subprocess.Popen(command, cwd=folder, env=env, stdout=-1, stderr=-1, text=True)

    def free_port(self) -> int:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return int(free.getsockname()[1])

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 0), (signal.SIGHUP, 129)])
    def test_a_signal_ends_it_and_everything_that_it_started(self, folder: Path, number: int, code: int) -> None:
        with self.page(folder, self.free_port()) as page:
            deadline = time.monotonic() + 60
            while not (folder / "words").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            pids = [int(word) for word in (folder / "pids").read_text().split()]
            assert all(map(running, pids))
            page.send_signal(number)
            out, err = page.communicate()
        assert (page.returncode, err) == (code, "")
        assert not any(map(running, pids))
        assert SECRET not in out + (folder / "words").read_text()
        assert SECRET in (folder / "address").read_text()

    def test_a_used_port_is_refused_in_one_line(self, folder: Path) -> None:
        with socket.socket() as used:
            used.bind(("127.0.0.1", 0))
            used.listen()
            port = used.getsockname()[1]
            page = self.page(folder, port)
            out, err = page.communicate()
        assert (page.returncode, out) == (2, "")
        assert err == f"error: port {port} cannot be used (Address already in use); name another with --port\n"

    def test_a_server_that_ends_by_itself_is_an_error(self, folder: Path) -> None:
        (folder / "fake" / "mlflow" / "__main__.py").write_text("")
        page = self.page(folder, self.free_port())
        _, err = page.communicate()
        assert (page.returncode, err) == (1, "error: mlflow server exited with code 0; see its output above\n")
