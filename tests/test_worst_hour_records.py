"""The worst hour of a run: what it has computed is not lost, and what it did to the process does not outlive it."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pubench_worst
import pytest
import torch
from made_results import RUN, made_failure, made_result
from registries import registry_with

from pubench_cli.yaml_layers import assigned
from pubench_core.engine import interrupts, machine
from pubench_core.engine.execute import execute
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RecordError, RequestError, RunFailed
from pubench_core.plugins.events import RunFinished
from pubench_core.plugins.registry import Registry
from pubench_core.records import files
from pubench_core.records.files import ENVIRONMENT, MODEL, RESULT, SCORES, SPEC, result_text
from pubench_core.records.record import read_record
from pubench_core.records.store import RecordStore
from pubench_core.results import Failure, RunResult

Ask = Callable[..., Plan]
DOUBLES = Path(__file__).parent / "doubles"
WORST = ("run", "--method", "worst", "--data", "breast-cancer", "--threads", 1, "--no-tracking")


@pytest.fixture(scope="module")
def plugins() -> Registry:
    return registry_with("pubench_worst")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def ask(plugins: Registry, results: Path) -> Ask:
    """``ask("exit", "seed=3")``: a plan on breast-cancer of a method that does that."""

    def ask(does: str = "nothing", *sets: str) -> Plan:
        own = ("data.key=breast-cancer", "method.key=worst", f"does={does}", f"execution.results={results}")
        return resolve([assigned(*own, "execution.threads=1", *sets)], plugins)

    return ask


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, make_distribution: Callable[..., Path]) -> dict[str, str]:
    """An environment in which the method is installed, for the console script."""
    source = (DOUBLES / "pubench_worst.py").read_text()
    return {"PYTHONPATH": str(make_distribution(tmp_path_factory.mktemp("site"), "worst", {"pubench_worst": source}))}


def records(results: Path) -> list[Path]:
    return sorted(path.parent for path in results.glob(f"*/{RESULT}"))


def failure_in(results: Path) -> Failure:
    (path,) = results.glob("failed/*/failure.json")
    return Failure.model_validate_json(path.read_text())


def write(results: Path) -> None:
    """Puts a record in place."""
    with RecordStore(results).write(RUN) as folder:
        (folder / RESULT).write_text(result_text(made_result()))


def full_disk(*arguments: Any, **named: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# ---------------------------------------------------------------- before training


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_has_no_name_or_version_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip leaves folders behind (``~orch-2.0.dist-info``) that are no distribution any more."""
    for name in ("~orch-2.0", "torchvision-9"):
        (tmp_path / f"{name}.dist-info").mkdir()
    (tmp_path / "torchvision-9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torchvision\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(machine, "versions", machine.versions.__wrapped__)  # what is kept is of the process
    packages = machine.capture(torch.device("cpu")).packages
    assert packages["torch"] in (torch.__version__, torch.__version__.split("+")[0])
    assert not {"torchvision", "~orch", "", None} & set(packages)


def test_an_environment_that_cannot_be_captured_is_known_before_anything_is_trained(
    ask: Ask, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "versions", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        execute(ask("nothing", f"mark={results.parent / 'trained'}"))
    assert not (results.parent / "trained").exists()


def test_force_is_refused_before_training_if_the_old_record_cannot_be_kept(ask: Ask, results: Path) -> None:
    mark = results.parent / "trained"
    plan = ask("nothing", f"mark={mark}")
    execute(plan)
    before = (records(results)[0] / RESULT).read_bytes()
    (results / "superseded").write_text("in the way")
    with pytest.raises(RequestError, match="superseded is not a folder"):
        execute(plan, force=True)
    assert len(mark.read_text().splitlines()) == 1
    assert (records(results)[0] / RESULT).read_bytes() == before


@pytest.mark.parametrize("which", ["", "superseded", RUN])
def test_folders_that_may_not_be_changed_are_refused_before_training(
    results: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    """As root may change every folder, the system's answer is played."""
    write(results)
    (results / "superseded").mkdir()
    RecordStore(results).check_writable(RUN)
    monkeypatch.setattr(os, "access", lambda path, mode: path != results / which)
    with pytest.raises(RequestError, match=r"is not writable; name another folder \(execution\.results"):
        RecordStore(results).check_writable(RUN)


# ---------------------------------------------------------------- the model


@pytest.mark.parametrize("kind", ["text", "object", "sparse"])
def test_a_model_that_cannot_be_kept_costs_one_line_and_not_the_result(ask: Ask, kind: str) -> None:
    outcome = execute(ask(kind, "execution.save_model=true"))
    (line,) = outcome.result.warnings
    what = {
        "text": "'kept.names', which is an array of <U1",
        "object": "'kept.names', which is an array of object",
        "sparse": "'kept.matrix', which is a tensor of layout torch.sparse_coo",
    }[kind]
    assert line.startswith(f"no model was kept: Worst scores with {what}; ")
    assert "\n" not in line
    assert outcome.result.model is None
    assert outcome.result.test["auc"] is not None
    assert read_record(outcome.folder).result == outcome.result
    assert not (outcome.folder / MODEL).exists()


def test_a_model_for_which_there_is_no_room_costs_the_model_only(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_bytes

    def no_room(self: Path, data: bytes) -> int:
        if self.name == MODEL:
            write(self, data[:10])
            full_disk()
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", no_room)
    outcome = execute(ask("nothing", "execution.save_model=true"))
    assert outcome.result.warnings == (
        "no model was kept: model.safetensors could not be written: No space left on device; everything else of the "
        "run is there",
    )
    assert read_record(outcome.folder).result == outcome.result
    assert {path.name for path in outcome.folder.iterdir()} >= {SPEC, ENVIRONMENT, SCORES, RESULT}
    assert not (outcome.folder / MODEL).exists()


# ---------------------------------------------------------------- interrupts


@pytest.fixture
def python_handler() -> Iterator[None]:
    """Ctrl-C as Python has it, whatever started the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread")
@pytest.mark.usefixtures("python_handler")
class TestInterrupt:
    def test_an_interrupt_after_training_waits_for_the_record(
        self, ask: Ask, results: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        shown: list[RunResult] = []
        with pytest.raises(KeyboardInterrupt):
            execute(ask("interrupted"), stored=shown.append)
        assert records(results) == [shown[0].folder]
        assert "its result is stored before this ends" in capfd.readouterr().err
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    @pytest.mark.parametrize("name", ["write_yaml", "result_text"])
    def test_an_interrupt_while_the_record_is_written_waits(
        self, ask: Ask, results: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        original = getattr(files, name)

        def interrupted(*arguments: Any) -> Any:
            signal.raise_signal(signal.SIGINT)
            return original(*arguments)

        monkeypatch.setattr(files, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            execute(ask())
        assert len(records(results)) == 1

    def test_a_second_interrupt_ends_the_run_at_once(
        self, ask: Ask, results: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def impatient(*arguments: Any) -> Any:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(files, "write_yaml", impatient)
        with pytest.raises(KeyboardInterrupt):
            execute(ask())
        assert records(results) == []
        assert [path.name for path in (results / ".incoming").iterdir()] == [".lock"]

    def test_a_request_to_terminate_waits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        heard: list[int] = []
        before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
        try:
            with interrupts.Deferred() as deferred:
                deferred.start()
                signal.raise_signal(signal.SIGTERM)
                assert heard == []
            assert heard == [signal.SIGTERM]
        finally:
            signal.signal(signal.SIGTERM, before)


# ---------------------------------------------------------------- writers next to each other


WRITER = """
import sys
from pathlib import Path
from pubench_core.records.files import RESULT
from pubench_core.records.store import RecordStore
root, writer, times = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
store = RecordStore(root)
for n in range(times):
    with store.write("0123456789abcdef") as folder:
        (folder / RESULT).write_text('{"run_id": "0123456789abcdef", "finished_at": "%d", "writer": %d}' % (n, writer))
"""


def test_no_writer_loses_its_record_to_another(results: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(results), str(n), "25"], stderr=subprocess.PIPE, text=True)
        for n in range(3)
    ]
    for writer in writers:
        assert writer.communicate()[1] == ""
    kept = [*results.glob(f"*/{RESULT}"), *results.glob(f"superseded/*/{RESULT}")]
    found = sorted((plain["writer"], int(plain["finished_at"])) for plain in (json.loads(p.read_text()) for p in kept))
    assert found == [(writer, n) for writer in range(3) for n in range(25)]


def test_what_another_host_is_writing_is_left_alone_for_a_day(results: Path) -> None:
    half = results / ".incoming" / f"{RUN}-7-0a1b2c3d@elsewhere"
    half.mkdir(parents=True)
    write(results)
    assert half.exists()
    os.utime(half, (0, 0))
    write(results)
    assert not half.exists()


def test_a_complete_folder_that_cannot_be_put_in_place_is_named_and_kept(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, rename = RecordStore(results), Path.rename

    def refused(self: Path, target: Path) -> Path:
        if ".incoming" in self.parts:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", refused)
        with pytest.raises(RecordError, match=r"Permission denied; it is complete in .*/\.incoming/"):
            write(results)
        assert store.find(RUN) is None
    found = store.find(RUN)
    assert found is not None
    assert found.result == made_result()


def test_a_newer_folder_of_a_dead_writer_replaces_an_older_record(results: Path) -> None:
    store = RecordStore(results)
    for finished_at in ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"):
        left = results / ".incoming" / f"{RUN}-7"
        left.mkdir(parents=True)
        (left / RESULT).write_text(result_text(made_result(finished_at=finished_at)))
        store.find(RUN)
    found = store.find(RUN)
    assert found is not None
    assert found.result.finished_at == "2026-01-03T00:00:00Z"
    older = {read_record(p).result.finished_at[:10] for p in (results / "superseded").iterdir()}
    assert older == {"2026-01-01", "2026-01-02"}


class TestTheSameRunTwiceAtOnce:
    def test_one_trains_and_the_other_waits_for_its_result(self, ask: Ask, results: Path) -> None:
        mark = results.parent / "trained"
        plan = ask("nothing", "seconds=1.5", f"mark={mark}")
        said: list[str] = []
        with claimed_elsewhere(results, plan.run_id) as (process, release):
            threading.Timer(1.0, release).start()
            outcome = execute(plan, say=said.append)
        assert not outcome.reused  # the other ended without a result
        assert said[0].startswith(f"run {plan.run_id} is being carried out by process {process.pid} on ")
        assert mark.read_text().count("\n") == 1

    def test_four_processes_train_it_once(
        self, site: dict[str, str], tmp_path: Path, pubench_at_once: Callable[..., Any]
    ) -> None:
        mark = tmp_path / "trained"
        words = [*WORST, "--set", "seconds=3", "--set", f"mark={mark}", "--format", "json"]
        found = [json.loads(done.stdout) for done in pubench_at_once(4, tmp_path, *words, env=site)]
        assert sorted(one["reused"] for one in found) == [False, True, True, True]
        assert len(mark.read_text().splitlines()) == 1
        assert len({one["finished_at"] for one in found}) == 1


@contextmanager
def claimed_elsewhere(results: Path, run_id: str) -> Iterator[tuple[subprocess.Popen[str], Callable[[], None]]]:
    """Another process that has claimed a run, and what makes it let go."""
    code = (
        "import sys; from pathlib import Path; from pubench_core.records.store import RecordStore\n"
        "with RecordStore(Path(sys.argv[1])).claim(sys.argv[2]): print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(results), run_id]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        yield process, process.stdin.close  # the end of what it reads


def test_a_claim_of_a_killed_process_holds_nobody_up(results: Path) -> None:
    with claimed_elsewhere(results, RUN) as (process, _):
        process.kill()
        process.wait()
        said: list[str] = []
        with RecordStore(results).claim(RUN, said.append):
            assert said == []


def test_a_store_whose_lock_is_held_for_long_is_said(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pubench_core.records.staging._PATIENCE", 0.1)
    (results / ".incoming").mkdir(parents=True)
    with filelock.FileLock(results / ".incoming" / ".lock"), pytest.raises(RequestError, match="could not be acquired"):
        RecordStore(results).check_writable()


# ---------------------------------------------------------------- methods and listeners that end the process


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("exit", "SystemExit: 0"),
        ("generator-exit", "GeneratorExit"),
        ("cancelled", "CancelledError"),
        ("own", "Stop: my own"),
        ("unprintable", "Unprintable (its message cannot be had: RuntimeError)"),
        ("surrogate", "a name like "),
    ],
)
def test_whatever_a_method_raises_is_a_failure_with_a_record(ask: Ask, results: Path, does: str, reason: str) -> None:
    with pytest.raises(RunFailed):
        execute(ask(does))
    failure = failure_in(results)
    assert failure.reason.startswith(reason.rstrip()) or reason in failure.reason
    assert (failure.cause, failure.stage, failure.epoch) == ("error", "train", 1)


@pytest.mark.parametrize("does", ["exit", "unprintable"])
@pytest.mark.parametrize("hook", ["pubench_run_started", "pubench_run_finished"])
def test_whatever_a_listener_raises_is_said_once_and_the_result_is_there(
    ask: Ask, results: Path, capsys: pytest.CaptureFixture[str], does: str, hook: str
) -> None:
    listener = type("Listener", (), {hook: lambda self, event: pubench_worst.do(does)})()
    outcome = execute(ask(), listeners=[listener])
    assert records(results) == [outcome.folder]
    said = capsys.readouterr().err
    assert said.startswith(f"warning: listener Listener failed in {hook} and is left out: ")
    assert said.count("\n") == 1


FULL = Path("/dev/full")


def test_a_full_disk_behind_stderr_ends_no_run(tmp_path: Path, pubench_into: Callable[..., int]) -> None:
    (out := tmp_path / "out").touch()
    words = ("run", "--method", "upu", "--data", "breast-cancer", "--set", "epochs=2", "--threads", 1, "--no-tracking")
    assert pubench_into(tmp_path, out, FULL, *words, env={"OMP_NUM_THREADS": "1"}) == 0
    assert "accuracy" in out.read_text()
    assert len(records(tmp_path / "results")) == 1


def test_a_warning_that_cannot_be_said_ends_no_run_in_python(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    class Loud:
        def pubench_run_finished(self, event: RunFinished) -> None:
            raise ValueError("said to nobody")

    class Full:
        write = flush = full_disk

    monkeypatch.setattr(sys, "stderr", Full())
    assert execute(ask(), listeners=[Loud()]).folder.exists()


def test_a_result_that_cannot_be_printed_is_recorded_and_said(
    site: dict[str, str], tmp_path: Path, pubench_into: Callable[..., int]
) -> None:
    (err := tmp_path / "err").touch()
    assert pubench_into(tmp_path, FULL, err, *WORST, env={**site, "OMP_NUM_THREADS": "1"}) == 1
    assert err.read_text().splitlines()[-1] == (
        "error: cannot write the output: No space left on device; records are complete"
    )
    assert len(records(tmp_path / "results")) == 1


def test_a_reader_that_has_seen_enough_ends_no_run(
    site: dict[str, str], tmp_path: Path, pubench_into: Callable[..., int]
) -> None:
    """``pubench run ... | head -1``"""
    pipe, err = tmp_path / "pipe", tmp_path / "err"
    os.mkfifo(pipe)
    err.touch()
    reader = threading.Thread(target=lambda: os.close(os.open(pipe, os.O_RDONLY)))  # opens once the run writes to it
    reader.start()
    pubench_into(tmp_path, pipe, err, *WORST, env={**site, "OMP_NUM_THREADS": "1"})
    reader.join()
    said = err.read_text()
    assert said
    assert "Traceback" not in said
    assert "rror" not in said
    assert len(records(tmp_path / "results")) == 1


def test_a_failure_that_cannot_be_recorded_is_told_with_both_reasons(
    ask: Ask, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pubench_core.records.store.write_json", full_disk)
    with pytest.raises(RunFailed, match=r"Stop: my own .*; the failure record .* could not be written: No space left"):
        execute(ask("own"))


def test_failures_at_the_same_time_have_a_record_each(results: Path) -> None:
    store = RecordStore(results)
    threads = [threading.Thread(target=lambda: store.write_failure(made_failure())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(results.glob("failed/*/failure.json"))) == 8


# ---------------------------------------------------------------- what stays behind in the process


def state() -> dict[str, Any]:
    return {
        "dtype": torch.get_default_dtype(),
        "gradients": torch.is_grad_enabled(),
        "anomalies": torch.is_anomaly_enabled(),
        "mkldnn": torch.backends.mkldnn.enabled,
        "denormal numbers": (torch.tensor(1e-39) * 1).item(),
        "numpy": np.geterr(),
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "filters": list(__import__("warnings").filters),
    }


@pytest.mark.parametrize("does", ["traces", "traces and fails"])
def test_what_a_method_leaves_behind_is_put_back_and_said(ask: Ask, results: Path, does: str) -> None:
    before, said = state(), list[str]()
    with suppress(RunFailed):
        execute(ask(does), say=said.append)
    assert state() == before
    (line,) = [text for text in said if text.startswith("the run of worst changed ")]
    for name in ("default dtype", "gradients", "anomaly", "mkldnn", "floating-point", "folder", "HOME, PUBENCH_DATA"):
        assert name in line
    assert execute(ask("nothing", "seed=25")).result.test["auc"] is not None


def test_a_relative_results_folder_is_the_one_that_was_meant(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(ask("traces", "execution.results=here")).folder == Path("here") / ask("traces").run_id
    assert len(records(tmp_path / "here")) == 1
    with pytest.raises(RunFailed):
        execute(ask("traces and fails", "execution.results=here"))
    assert failure_in(tmp_path / "here").reason == "ValueError: after all that"


def test_what_a_listener_leaves_behind_is_put_back(ask: Ask) -> None:
    class Messy:
        def pubench_run_finished(self, event: RunFinished) -> None:
            pubench_worst.leave_traces()

    before = state()
    execute(ask(), listeners=[Messy()])
    assert state() == before


def test_an_estimator_puts_back_what_a_method_leaves_behind(plugins: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.datasets import load_breast_cancer

    import pubench

    monkeypatch.setattr("pubench_core.plugins.registry.registry", lambda: plugins)
    x, y = load_breast_cancer(return_X_y=True)
    labeled = (y == 0) & (np.arange(len(y)) % 3 == 0)
    pubench.PUClassifier("worst", prior=0.37).fit(x, labeled)  # imports set variables of their own
    before = state()
    pubench.PUClassifier("worst", prior=0.37, does="traces").fit(x, labeled)
    assert state() == before
    with pytest.raises(RunFailed, match="SystemExit: 0"):
        pubench.PUClassifier("worst", prior=0.37, does="exit").fit(x, labeled)
    with pytest.raises(Exception, match="worst cannot be an estimator: no model was kept: "):
        pubench.PUClassifier("worst", prior=0.37, does="object").fit(x, labeled)


# ---------------------------------------------------------------- bits


def test_a_stored_result_of_another_number_of_threads_says_so(ask: Ask) -> None:
    said: list[str] = []
    assert execute(ask()).result.threads == 1
    assert execute(ask("nothing", "execution.threads=2"), say=said.append).reused
    assert said[0].endswith(", computed with 1 threads where 2 would be used now: the last digits may differ")
    said.clear()
    assert execute(ask(), say=said.append).reused
    assert "threads" not in said[0]


def test_omp_dynamic_is_warned_of(plugins: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[str] = []
    for value, count in (("TRUE", 1), ("false", 0)):
        warned.clear()
        monkeypatch.setenv("OMP_DYNAMIC", value)
        resolve([assigned("data.key=breast-cancer", "method.key=worst")], plugins, warn=warned.append)
        assert len([text for text in warned if text.startswith("OMP_DYNAMIC=true is set")]) == count
