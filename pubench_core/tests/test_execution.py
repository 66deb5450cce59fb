"""A plan is carried out without asking anybody: computed, published, and recorded with a typed cause where it fails.

This module is also the plugin that offers methods which fail.
"""

from __future__ import annotations

import csv
import hashlib
import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from pubench_core import MethodInfo, hookimpl
from pubench_core.data.dataset import data_root
from pubench_core.engine import execute as execution
from pubench_core.engine.build import build_problem
from pubench_core.engine.compute import Audience, compute
from pubench_core.engine.execute import execute
from pubench_core.engine.finish import Finished
from pubench_core.engine.machine import capture, choose_device
from pubench_core.engine.open import open_data
from pubench_core.engine.plan import Plan
from pubench_core.engine.publish import publish
from pubench_core.engine.train import train
from pubench_core.errors import Cause, RecordError, RequestError, RunFailed
from pubench_core.method import Method
from pubench_core.plugins import registry as plugin_registry
from pubench_core.plugins.events import EpochFinished, Listeners, RunFinished, RunStarted
from pubench_core.plugins.registry import Registry
from pubench_core.records.files import ENVIRONMENT, MODEL, RESULT, SCORES, SPEC, TRACE, read_scores
from pubench_core.records.record import read_record
from pubench_core.records.store import RecordStore
from pubench_core.results import Failure
from pubench_core.specs.config import TrainingConfig
from pubench_core.specs.fields import Field
from pubench_core.training.run import Run
from pubench_core.training.views import PUData

pytestmark = pytest.mark.usefixtures("one_thread")


class Config(TrainingConfig):
    epochs: int = Field(2, ge=1, description="epochs")
    fails: str = Field("", description="how")


class Failing(Method[Config]):
    """Trains for an epoch, then fails as its configuration says."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.net = run.backbone()
        optimizer = run.optimizer(self.net.parameters())
        for epoch in run.epochs(self.config.epochs):
            for batch in run.joint_batches():
                objective = self.net(batch.x).square().mean()
                if epoch.total == 1:
                    match self.config.fails:
                        case "nan":
                            objective = objective * float("nan")
                        case "memory":
                            raise MemoryError("cannot allocate 3 TiB")
                        case "gpu memory":
                            raise torch.OutOfMemoryError("CUDA out of memory. GPU 0 has a total capacity of 139 GiB")
                        case "bug":
                            raise KeyError("weight")
                        case "request":
                            raise RequestError("this split has one labeled row", field="mechanism.c", value=0.01)
                run.step(objective, optimizer)

    def decision_function(self, x: Tensor) -> Tensor:
        scores: Tensor = self.net(x)
        return scores * float("inf") if self.config.fails == "score" else scores


class Idle(Failing):
    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.net = run.backbone()


def denormal() -> float:
    """A number of float32 that is too small to be normal, or 0 where such numbers count as zero."""
    return (torch.tensor(1e-39, dtype=torch.float32) * 1).item()


class Tiny(Failing):
    """Keeps what denormal numbers are while it trains and while it first scores; lets them be, as a library could."""

    seen: ClassVar[dict[str, float]] = {}

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.seen["fit"] = denormal()
        super().fit(data, run)
        torch.set_flush_denormal(False)

    def decision_function(self, x: Tensor) -> Tensor:
        self.seen.setdefault("score", denormal())
        return super().decision_function(x)


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(key=key, name=key, summary="a test double", load=f"{__name__}:{name}")
        for key, name in (("failing", "Failing"), ("idle", "Idle"), ("tiny", "Tiny"))
    ]


Ask = Callable[..., Plan]


# ---------------------------------------------------------------- one resolution


def test_nobody_behind_the_plan_asks_the_registry(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = ask("epochs=1", "prior=estimated:from-scores", "execution.save_model=true", "method.key=nnpu")
    spec = plan.spec.model_dump_json()
    capture(torch.device("cpu"))  # which versions are installed is read once per process

    def refuse(*arguments: Any) -> Any:
        raise AssertionError("the registry is asked")

    for name in ("__init__", "find", "infos", "entries", "provider", "named", "all"):
        monkeypatch.setattr(Registry, name, refuse)
    monkeypatch.setattr(Registry, "packages", property(refuse), raising=False)
    monkeypatch.setattr(plugin_registry, "registry", refuse)
    outcome = execute(plan)
    assert outcome.result.run_id == plan.run_id
    assert execute(plan).reused
    trained = train(plan, build_problem(plan))
    stored = read_scores(outcome.folder)
    for name, criterion in outcome.result.criteria.items():
        assert np.array_equal(stored[f"test_scores_{criterion.snapshot}"], trained.scores[name]["test"])
    assert plan.spec.model_dump_json() == spec  # nothing of a run stays in its plan


# ---------------------------------------------------------------- compute, publish


@pytest.fixture
def done(ask: Ask) -> Finished:
    """A finished run that nobody has stored."""
    plan = ask("epochs=2", "execution.save_model=true", "method.key=nnpu")
    root, device = data_root(plan.spec.execution), choose_device(plan)
    return compute(plan, open_data(plan, root), root, device, Audience())


def test_what_is_computed_is_plain_data_that_another_process_can_store(done: Finished, tmp_path: Path) -> None:
    here, there = RecordStore(tmp_path / "here"), RecordStore(tmp_path / "there")
    one, other = publish(here, done), publish(there, pickle.loads(pickle.dumps(done)))
    names = {path.name for path in one.folder.iterdir()}
    assert names == {RESULT, SPEC, ENVIRONMENT, TRACE, SCORES, MODEL}
    for name in names - {SCORES}:  # its zip entries carry the time
        assert (one.folder / name).read_bytes() == (other.folder / name).read_bytes()
    stored = read_scores(other.folder)
    assert done.arrays is not None
    assert stored.keys() == done.arrays.keys()
    assert all(np.array_equal(stored[name], values) for name, values in done.arrays.items())
    digest = hashlib.sha256((other.folder / SCORES).read_bytes()).hexdigest()[:16]
    assert read_record(other.folder).result == done.result.model_copy(update={"scores": digest})


def test_computing_writes_nothing(done: Finished, tmp_path: Path) -> None:
    assert list(tmp_path.iterdir()) == []


def test_a_result_that_cannot_be_stored_comes_with_the_error(done: Finished, tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(RecordError) as failed:
        publish(RecordStore(tmp_path / "results"), done)
    assert failed.value.result is done.result


def test_a_run_leaves_the_caller_s_generators_and_threads_as_they_were(
    ask: Ask, caller: Callable[[int], AbstractContextManager[None]]
) -> None:
    plan, threads = ask("epochs=2", "method.key=upu"), torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        with caller(3):
            execute(plan)
        assert torch.get_num_threads() == threads + 1
    finally:
        torch.set_num_threads(threads)


# ---------------------------------------------------------------- failures


def failure_in(results: Path) -> Failure:
    (path,) = results.glob("failed/*/failure.json")
    return Failure.model_validate_json(path.read_text())


@pytest.mark.parametrize(
    ("fails", "cause", "reason"),
    [
        ("nan", "non-finite", "loss is nan"),
        ("score", "non-finite", "the score of row 0 is "),
        ("memory", "out-of-memory", "MemoryError: cannot allocate 3 TiB; a smaller batch_size or"),
        ("gpu memory", "out-of-memory", "CUDA out of memory; a smaller batch_size or"),
        ("bug", "error", "KeyError: 'weight'"),
    ],
)
def test_a_run_that_fails_has_a_record_with_cause_place_code_and_traceback(
    ask: Ask, tmp_path: Path, fails: str, cause: Cause, reason: str
) -> None:
    plan, heard = ask(f"fails='{fails}'", "method.key=failing"), Events()
    with pytest.raises(RunFailed) as failed:
        execute(plan, listeners=[heard])
    failure = failure_in(tmp_path / "results")
    finished = heard.events[-1]
    assert isinstance(finished, RunFinished)
    assert (finished.status, finished.failure, finished.result) == ("failed", failure, None)
    assert (failed.value.cause, failure.cause, failure.run_id) == (cause, cause, plan.run_id)
    assert reason in failure.reason
    assert str(tmp_path / "results" / "failed") in str(failed.value)
    assert failure.epoch == (1 if fails == "score" else 2)
    assert failure.stage == "train"
    assert (failure.step is None) == (fails == "score")
    older = failure.model_dump(mode="json")
    older["batch"] = older.pop("step")  # as it was called at first
    assert Failure.model_validate(older) == failure
    assert failure.spec == plan.spec
    assert failure.code.parts.keys() == {*plan.code.parts, "data breast-cancer"}
    assert failure.traceback.startswith("Traceback")
    assert "test_execution.py" in failure.traceback or fails in ("nan", "score")
    assert 'File "pubench_core/engine/' in failure.traceback  # below the folder in which it is installed
    assert 'File "/' not in failure.traceback
    assert not list((tmp_path / "results").rglob(RESULT))


def test_the_environment_of_a_failure_is_what_it_ran_on(ask: Ask, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    with pytest.raises(RunFailed):
        execute(ask("fails=bug", "execution.threads=2", "method.key=failing"))
    assert failure_in(tmp_path / "results").environment.threads == 2


def test_a_method_without_an_epoch_is_the_plugin_s_fault(ask: Ask, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"never went through run\.epochs"):
        execute(ask("method.key=idle"))
    assert failure_in(tmp_path / "results").cause == "error"


@pytest.mark.parametrize(
    ("sets", "method", "field"),
    [
        (("mechanism.c=0.01", "validation.fraction=0.05"), "no-network", "selection.criterion"),
        (("prior=scaled:5",), "no-network", "prior"),
        (("prior=0.001", "data.scheme=single-training-set", "mechanism.c=0.5"), "nnpu", "prior"),
        (("fails=request",), "failing", "mechanism.c"),
        (("backbone.key=lenet",), "nnpu", "backbone.key"),
    ],
    ids=["undefined criterion", "prior", "contradiction", "method", "backbone"],
)
def test_what_this_split_cannot_meet_is_refused_with_a_record(
    ask: Ask, tmp_path: Path, sets: tuple[str, ...], method: str, field: str
) -> None:
    plan, heard = ask(f"method.key={method}", *sets), Events()
    with pytest.raises(RequestError) as refused:
        execute(plan, listeners=[heard])
    failure = failure_in(tmp_path / "results")
    assert (failure.cause, failure.run_id, failure.reason) == ("refused", plan.run_id, str(refused.value))
    assert refused.value.field == field
    (finished,) = [event for event in heard.events if isinstance(event, RunFinished)]
    assert (finished.status, finished.failure, finished.result) == ("refused", failure, None)
    assert finished.record.parent == tmp_path / "results" / "failed"
    announced = any(isinstance(event, RunStarted) for event in heard.events)
    assert announced == (method == "failing"), "only a run that began is announced"


def test_what_is_wrong_before_the_data_are_opened_has_no_record(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*arguments: Any) -> Any:
        raise RequestError("digits.csv is not in data")

    monkeypatch.setattr(execution, "open_data", absent)
    with pytest.raises(RequestError, match="is not in data"):
        execute(ask())
    assert not (tmp_path / "results" / "failed").exists()


def test_a_loader_that_fails_is_the_failure_of_the_run(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "open_data", lambda *arguments: 1 / 0)
    with pytest.raises(RunFailed, match="ZeroDivisionError"):
        execute(ask())
    assert failure_in(tmp_path / "results").cause == "error"


@pytest.mark.parametrize("before", [False, True])
def test_denormal_numbers_are_zero_only_while_a_method_trains(ask: Ask, before: bool) -> None:
    if not torch.set_flush_denormal(before):
        pytest.skip("torch cannot count denormal numbers as zero on this processor")
    try:
        outside = denormal()
        said: list[str] = []
        Tiny.seen.clear()
        execute(ask(f"seed={2 + before}", "method.key=tiny"), say=said.append)
        assert Tiny.seen == {"fit": 0.0, "score": 0.0}
        assert denormal() == outside == (0.0 if before else pytest.approx(1e-39))
        assert not any("denormal" in line for line in said)
    finally:
        torch.set_flush_denormal(False)


# ---------------------------------------------------------------- listeners


class Events:
    """A listener that keeps every event."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def pubench_run_started(self, event: RunStarted) -> None:
        self.events.append(event)

    def pubench_epoch_finished(self, event: EpochFinished) -> None:
        self.events.append(event)

    def pubench_run_finished(self, event: RunFinished) -> None:
        self.events.append(event)


def test_listeners_get_oracle_values_at_the_end_and_a_display_at_once(ask: Ask) -> None:
    heard, shown, later = Events(), Events(), Events()
    plan = ask("epochs=2", "evaluation.trace=[train, validation, test]", "method.key=nnpu")
    outcome = execute(plan, listeners=[heard], display=shown)
    assert execute(plan, listeners=[later]).reused
    assert later.events == []
    started, *epochs, finished = heard.events
    assert (started.run_id, started.spec, started.code) == (plan.run_id, plan.spec, outcome.result.code.hash)
    assert started.data is None
    for event in epochs:
        assert set(event.criteria) == {"pa", "pauc"}
        assert set(event.values) == {"loss", "risk"}
        assert not event.needs_truth
    assert shown.events[0].data == outcome.result.data
    for event in shown.events[1:-1]:
        assert {"pa", "pauc", "oa", "f1", "macro-f1"} <= set(event.criteria)
        assert {"train-accuracy", "validation-f1", "test-auc"} <= set(event.values)
    assert finished == shown.events[-1]
    assert finished.epochs == tuple(shown.events[1:-1])
    assert finished.result == outcome.result


def test_each_listener_has_its_own_copy_of_an_event() -> None:
    event, seen = SimpleNamespace(values={"loss": 1.0}), []
    altering = SimpleNamespace(hook=lambda event: event.values.clear())
    reading = SimpleNamespace(hook=lambda event: seen.append(event.values))
    Listeners([altering, reading]).notify("hook", event)
    assert [event.values, *seen] == [{"loss": 1.0}] * 2


def test_the_trace_has_the_share_of_positive_decisions_on_validation_rows(ask: Ask) -> None:
    heard = Events()
    outcome = execute(ask("epochs=2", "selection.criteria=[pa, last]", "method.key=nnpu"), listeners=[heard])
    assert outcome.result is not None
    scores = read_scores(outcome.folder)[f"validation_scores_{outcome.result.criteria['last'].snapshot}"]
    last = list(csv.DictReader((outcome.folder / TRACE).read_text().splitlines()))[-1]
    assert float(last["positive_decisions"]) == (scores > 0).mean()
    assert heard.events[-2].positive_decisions == (scores > 0).mean()
