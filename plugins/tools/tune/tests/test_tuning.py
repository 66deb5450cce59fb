"""Tuning without negatives: every trial is a record, nothing finished is lost, nothing that is hidden is looked at."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
import yaml
from made_results import made_failure
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from printed import Run
from pubench_study.task import Ended, Orders, Progressed, RunTask, carry_out
from pubench_tune import sampler, search
from pubench_tune.sampler import JOURNAL
from refusals import error_line

import pubench
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.store import RecordStore
from pubench_core.results import Environment

FEW = "held-out labeled positives compare the trials"
pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.filterwarnings(f"ignore:.*{FEW}")]

SHORT: dict[str, Any] = {"config": {"epochs": 2}, "space": ["lr=1e-4..1e-2:log", "batch_size=64,256"], "c": 0.3}
WORDS = ("tune", "nnpu", "--data", "breast-cancer", "--c", "0.3", "--set", "epochs=2", "--space", "lr=1e-4..1e-2:log")
WORDS += ("--space", "batch_size=64,256")


class Here:
    """A pool that carries tasks out in this process, one after the other. ``after``: called when one has ended."""

    environment: Environment | None = None
    after: Callable[[int], None] = staticmethod(lambda ended: None)
    #: What instead becomes of a task; None: it is carried out.
    instead: Callable[[RunTask], Ended | None] = staticmethod(lambda task: None)
    made: Here

    def __init__(self, devices: Sequence[str], orders: Orders, logs: Path) -> None:
        self.size, self.orders, self.in_work, self.ended = len(devices), orders, list[RunTask](), 0
        Here.made = self

    def submit(self, task: RunTask) -> None:
        self.in_work.append(replace(task, execution=self.orders.execution("cpu")))

    def events(self, timeout: float) -> list[Ended | Progressed]:
        if not self.in_work:
            return []
        task = self.in_work.pop(0)
        ended = type(self).instead(task) or carry_out(task, lambda event: None)
        self.ended += 1
        type(self).after(self.ended)
        return [ended]

    def fewer(self, run_id: str) -> bool:
        return False

    def close(self, *, abandon: bool = False) -> None:
        self.in_work.clear()


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(search, "LocalPool", Here)
    monkeypatch.chdir(tmp_path)


def tuned(trials: int = 3, **more: Any) -> pubench.Tuned:
    return pubench.tune("nnpu", "breast-cancer", trials=trials, progress=False, **{**SHORT, **more})


def chosen(found: pubench.Tuned) -> list[tuple[Any, ...]]:
    return [(trial.state, trial.value, dict(trial.chosen), trial.runs) for trial in found.trials]


@pytest.mark.filterwarnings("ignore::pubench.PubenchWarning")  # two epochs may decide one-sidedly
def test_the_first_trial_is_the_configuration_as_it_stands_and_every_trial_is_a_record() -> None:
    found = tuned()
    plain = pubench.run("nnpu", "breast-cancer", c=0.3, config={"epochs": 2}, tracking=False)
    assert plain.reused
    assert found.default.runs == (plain.run_id,)
    assert [trial.state for trial in found.trials] == ["done"] * 3
    for trial in found.trials:
        record = RecordStore(Path("results")).find(trial.runs[0])
        assert record is not None
        assert record.result.criteria["pa"].value == trial.value
        assert {name: record.result.spec.method.config[name] for name in trial.chosen} == trial.chosen
    assert found.best.value == max(trial.value or 0 for trial in found.trials)
    best = found.best.run()
    assert best.reused
    assert best.run_id == found.best.runs[0]
    assert not found.oracle


def test_a_search_by_few_held_out_labels_warns_and_names_folds() -> None:
    with pytest.warns(pubench.PubenchWarning, match=f"{FEW}: with fewer than 20, .*; folds=5 holds out") as warned:
        found = tuned(1)
    held_out = found.default.run().result.data.validation.labeled
    assert any(str(one.message).startswith(f"{held_out} {FEW}") for one in warned)


def test_a_trial_under_folds_is_a_joint_record_and_none_is_given_up(recwarn: pytest.WarningsRecorder) -> None:
    found = tuned(2, folds=3)
    assert not [one for one in recwarn if FEW in str(one.message)]  # every label is held out in turn
    assert [trial.state for trial in found.trials] == ["done"] * 2
    record = RecordStore(Path("results")).find(found.best.runs[0])
    assert record is not None
    assert len(record.result.folds) == 3
    assert found.best.run().reused
    kept = optuna.load_study(study_name=None, storage=JournalStorage(JournalFileBackend(str(found.folder / JOURNAL))))
    assert [trial.intermediate_values for trial in kept.trials] == [{}, {}]  # no epoch was looked at


def test_the_same_call_trains_nothing_and_more_trials_go_on_as_one_search_would(tmp_path: Path) -> None:
    tuned(2)
    lines: list[str] = []
    pubench.tune("nnpu", "breast-cancer", trials=2, progress=lines.append, **SHORT)
    assert lines == []
    later = tuned(4)
    assert chosen(later) == chosen(tuned(4, results=tmp_path / "elsewhere"))
    assert len(list(Path("results/tuning").iterdir())) == 1


def test_the_value_is_the_mean_over_the_seeds_and_other_requests_have_searches_of_their_own() -> None:
    found = tuned(2, seeds=[2, 25])
    store = RecordStore(Path("results"))
    for trial in found.trials:
        records = [store.find(run_id) for run_id in trial.runs]
        assert [record.result.spec.seed for record in records if record] == [2, 25]
        values = [record.result.criteria["pa"].value or 0 for record in records if record]
        assert trial.value == pytest.approx(np.mean(values))
    stops = {"settings": {"selection.non_finite": "stop"}}
    for other in ({}, {"criterion": "pauc"}, {"search_seed": 1}, {"c": 0.2}, {"space": ["lr=1e-3,1e-4"]}, stops):
        assert tuned(1, **other).folder != found.folder


def test_a_trial_with_a_seed_that_fails_fails_whatever_the_others_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_seed_2(task: RunTask) -> Ended | None:
        return Ended(task.run_id, "failed", "non-finite", "non-finite") if task.spec["seed"] == 2 else None

    monkeypatch.setattr(Here, "instead", staticmethod(of_seed_2))
    found = tuned(1, seeds=[2, 25])
    assert [(trial.state, trial.value) for trial in found.trials] == [("failed", None)]


def test_a_trial_whose_record_could_not_be_written_is_carried_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    full = staticmethod(lambda task: Ended(task.run_id, "unstored", "No space left on device"))
    with monkeypatch.context() as disk:
        disk.setattr(Here, "instead", full)
        found = tuned(2)
    assert [trial.state for trial in found.trials] == ["running"]
    assert found.interrupted == "a record could not be written"
    assert [trial.state for trial in tuned(2).trials] == ["done", "done"]


def test_jobs_threads_and_time_are_those_that_were_asked_for() -> None:
    found = tuned(2, jobs=2, threads=3, max_seconds=0)
    assert Here.made.size == 2
    assert Here.made.orders.threads == 3
    assert found.interrupted == "the time is over"
    assert found.trials == ()


@pytest.mark.filterwarnings("ignore::pubench.PubenchWarning")  # two epochs may decide one-sidedly
def test_a_trial_runs_with_any_seed_and_its_spec_leaves_out_how_it_is_carried_out_and_measured() -> None:
    best = tuned(1).best
    assert best.run(seed=25).result.spec.seed == 25
    assert not {"execution", "evaluation"} & set(best.spec)


def test_ctrl_c_keeps_what_is_finished_and_the_next_call_does_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = chosen(tuned(4, seeds=[2, 25], results="whole"))

    def interrupt(ended: int) -> None:
        if ended == 3:  # between the two runs of the second trial
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Here, "after", staticmethod(interrupt))
    first = tuned(4, seeds=[2, 25])
    assert first.interrupted == "interrupted"
    assert [trial.state for trial in first.trials] == ["done", "running"]
    assert len(list(Path("results").glob("*/result.json"))) == 3
    monkeypatch.setattr(Here, "after", staticmethod(lambda ended: None))
    assert chosen(tuned(4, seeds=[2, 25])) == expected


def test_a_run_below_the_median_is_pruned_and_leaves_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "STARTUP", 2)
    short = {"config": {"epochs": 4}, "space": {"lr": [1e-2, 3e-3, 1e-7, 1e-8]}}
    found = tuned(10, **short)
    pruned = [trial for trial in found.trials if trial.state == "pruned"]
    assert pruned
    for trial in pruned:
        assert re.fullmatch(r"at epoch [34]: pa is below the median of earlier trials", trial.reason)
        assert trial.value is None
        assert not Path("results", trial.runs[0]).exists()
    assert [path.name for path in Path("results/.incoming").iterdir()] == [".lock"]
    assert {trial.state for trial in tuned(10, prune=False, **short).trials} == {"done"}


def test_a_search_that_goes_on_gives_an_equal_trial_the_outcome_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was pruned is not trained again against a later bar."""
    monkeypatch.setattr(sampler, "STARTUP", 2)
    submitted: list[str] = []

    class Noting(Here):
        def submit(self, task: RunTask) -> None:
            submitted.append(task.run_id)
            super().submit(task)

    short = {"config": {"epochs": 4}, "space": {"lr": [1e-2, 1e-4, 1e-6]}}
    whole = tuned(12, results="whole", **short)
    monkeypatch.setattr(search, "LocalPool", Noting)
    parts = [tuned(trials, **short) for trials in (4, 6, 8, 10, 12)][-1]
    assert chosen(parts) == chosen(whole)
    assert [trial.reason for trial in parts.trials] == [trial.reason for trial in whole.trials]
    assert parts.count("pruned") > len({trial.runs for trial in parts.trials if trial.state == "pruned"})
    assert len(submitted) == len(set(submitted))
    kept = [sampler.Proposals(one.folder, {}, 0, higher_is_better=True)._study.trials for one in (parts, whole)]
    ours, theirs = ([trial.intermediate_values for trial in trials] for trials in kept)
    assert ours == theirs


def test_a_run_that_fails_is_a_failed_trial_with_its_reason_and_the_search_goes_on() -> None:
    found = tuned(4, space={"lr": [1e-3, 1e30]})
    failed = [trial for trial in found.trials if trial.state == "failed"]
    assert failed
    assert {trial.chosen["lr"] for trial in failed} == {1e30}
    assert all("non-finite" in trial.reason for trial in failed)
    assert found.best.state == "done"
    assert found.to_frame().query("state == 'failed'").reason.str.len().min() > 0


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_run_whose_worker_died_is_tried_once_more(monkeypatch: pytest.MonkeyPatch, deaths: int) -> None:
    expected = chosen(tuned(3, results="whole"))
    tried: dict[str, int] = {}

    class Dying(Here):
        """The worker of the second run is killed, as often as the test says."""

        environment = made_failure().environment

        def events(self, timeout: float) -> list[Ended | Progressed]:
            run_id = self.in_work[0].run_id if self.in_work else ""
            tried[run_id] = tried.get(run_id, 0) + 1
            if list(tried).index(run_id) == 1 and tried[run_id] <= deaths:
                del self.in_work[0]
                return [Ended(run_id, "died", "killed by signal 9", "worker-died")]
            return super().events(timeout)

    monkeypatch.setattr(search, "LocalPool", Dying)
    found = tuned(3)
    if deaths == 1:
        assert chosen(found) == expected
    else:
        assert found.trials[1].state == "failed"
        assert found.trials[1].reason.startswith("worker-died")


def test_another_criterion_code_or_other_data_are_another_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of one search must compare: a criterion that counts otherwise now, or rows that changed, begin another."""
    first = tuned(1).folder
    monkeypatch.setattr("pubench_core.engine.plan.Plan.criterion_code", lambda plan, name: "0" * 16)
    second = tuned(1).folder
    monkeypatch.setattr(search.Digests, "of", lambda digests, run, stored: "1" * 16)
    assert len({first, second, tuned(1).folder}) == 3


def test_an_oracle_criterion_is_warned_of_and_marked() -> None:
    with pytest.warns(pubench.PubenchWarning, match="f1 reads true labels"):
        found = tuned(2, criterion="f1")
    assert found.oracle
    assert "by f1 (oracle)" in str(found)
    assert "(oracle)" in found.config_file().splitlines()[0]
    assert pubench.tune("pn", "breast-cancer", trials=1, progress=False, **SHORT).oracle  # whatever the criterion


def test_the_own_score_of_a_method_is_warned_of() -> None:
    own = {**SHORT, "criterion": "native", "space": ["lr=1e-4..1e-2:log"]}
    with pytest.warns(pubench.PubenchWarning, match="native is the method's own score"):
        pubench.tune("vpu", "breast-cancer", trials=1, progress=False, **own)


def test_a_criterion_of_which_less_is_better_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(registry().find(MetricInfo, "pa")), "higher_is_better", False)
    found = tuned(3)
    values = [trial.value for trial in found.trials if trial.value is not None]
    assert found.best.value == min(values) < max(values)


def test_the_first_trial_tells_the_sampler_nothing_of_a_value_outside_the_space() -> None:
    found = tuned(1, space={"lr": [1e-5, 1e-6], "batch_size": [64, 256]})
    journal = sampler.Proposals(found.folder, {}, 0, higher_is_better=True)
    assert journal._study.trials[0].params == {"batch_size": found.default.config["batch_size"]}


def test_the_end_compares_best_and_default_and_says_nothing_of_test_rows() -> None:
    found = tuned(3)
    lines = str(found).splitlines()
    assert lines[1].split() == ["trial", "pa", "batch_size", "lr"]
    for line, trial in zip(lines[2:], (found.default, found.best), strict=False):
        assert line.split()[1:3] == [str(trial.number), f"{trial.value:.4f}"]


def test_a_table_in_memory_without_truth_is_tuned_by_what_it_says() -> None:
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.5
    x = rng.normal(size=(400, 3)) + 4 * y[:, None]
    table = pubench.data(x, labeled=y & (rng.random(400) < 0.4), name="mine")
    found = pubench.tune(
        "nnpu", table, prior=0.4, trials=2, config={"epochs": 9}, space=["lr=1e-4..1e-2:log"], progress=False
    )
    assert [trial.state for trial in found.trials] == ["done", "done"]
    with pytest.warns(pubench.PubenchWarning, match="of the decisions are wrong"):  # the prior given is too low
        own = pubench.run("nnpu", table, prior=0.4, config={"epochs": 9}, tracking=False)
    assert own.reused
    assert own.run_id == found.default.runs[0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"criterion": "last"}, "criterion last has no value to compare trials by"),
        ({"criterion": "paa"}, "did you mean 'pa'"),
        ({"space": ["epochs=1..2"]}, "epochs is set as well"),
        ({"trials": 0}, "trials must be a whole number"),
        ({"jobs": 0}, "jobs must be a whole number"),
        ({"search_seed": -1}, "search_seed must be a whole number from 0"),
        ({"seeds": []}, "seeds"),
        ({"c": 2.0}, "c"),
        ({"max_seconds": -1}, "max_seconds must be a time such as"),
        ({"max_seconds": "soon"}, "max_seconds must be a time such as"),
        ({"prune": "no"}, "prune must be True or False"),
        ({"space": 5}, "name=low..high"),
        ({"settings": {"seed": 5}}, "a search takes seeds"),
    ],
)
def test_what_cannot_be_met_is_refused_before_anything_is_made(more: dict[str, Any], said: str) -> None:
    with pytest.raises(pubench.InvalidRequest, match=said):
        tuned(**{"trials": 3, **more})
    assert not Path("results").exists()


def test_a_search_that_another_process_carries_out_is_refused() -> None:
    found = tuned(1)
    with search._held(found.folder), pytest.raises(pubench.InvalidRequest, match="another process"):
        tuned(2)


# -------------------------------------------------------------------- the command


def test_the_command_writes_a_file_that_run_answers_from_the_record(pubench: Run, tmp_path: Path) -> None:
    done = pubench(*WORDS, "--trials", "2", "--out", "best.yaml", "-j", "2")
    assert done.returncode == 0, done.stderr
    assert "nnpu on breast-cancer, by pa, seed 2: 2 done" in done.stdout
    assert "trial 1 (batch_size " in done.stderr
    file = yaml.safe_load((tmp_path / "best.yaml").read_text())
    assert file["method"]["key"] == "nnpu"
    again = pubench("run", "--config", "best.yaml", "--format", "json", "--no-tracking")
    assert json.loads(again.stdout)["reused"] is True
    more = pubench(*WORDS, "--trials", "2", "--format", "json")
    found = json.loads(more.stdout)
    assert [trial["state"] for trial in found["trials"]] == ["done", "done"]
    assert found["trials"][found["best"]]["runs"] == [json.loads(again.stdout)["run_id"]]


def test_the_exit_code_is_1_where_no_trial_has_a_value(pubench: Run) -> None:
    words = ("tune", "nnpu", "--data", "breast-cancer", "--set", "lr=1e30", "--space", "batch_size=64,256")
    done = pubench(*words, "--trials", "1")
    assert done.returncode == 1
    assert "1 failed" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tune", "nnpu"), "no data given"),
        ((*WORDS, "--select", "last"), "criterion last has no value to compare trials by"),
        ((*WORDS, "--set", "validation.fraction=0"), "or --select can be last here"),  # and none to tune by
        ((*WORDS, "--space", "gama=0..1"), "--space gama=0..1: unknown hyper-parameter of nnpu 'gama'"),
        ((*WORDS, "--out", "no/best.yaml"), "there is no folder no"),
        ((*WORDS, "--out", "/dev/null"), "--out /dev/null is not a regular file"),
        ((*WORDS, "--set", "seed=3"), "--set seed: a search takes --seeds"),
        (("tune", "puet", "--data", "digits"), "declares no ranges to tune"),
        ((*WORDS, "--max-time", "soon"), "--max-time must be a time such as 90s, 10m or 1h30m, got 'soon'"),
    ],
)
def test_the_command_refuses_in_its_own_words(pubench_within: Run, words: tuple[str, ...], said: str) -> None:
    assert said in error_line(pubench_within(*words))


def test_the_seed_of_a_file_counts_and_what_it_sets_can_be_tuned_from_there(pubench: Run, tmp_path: Path) -> None:
    file = {"data": {"key": "breast-cancer"}, "method": {"config": {"epochs": 2, "lr": 0.003}}, "seed": 42}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(file))
    words = ("tune", "nnpu", "--config", "mine.yaml", "--trials", "1", "--format", "json")
    found = json.loads(pubench(*words, "--space", "lr=1e-4..1e-2:log").stdout)
    assert found["seeds"] == [42]
    assert found["space"] == {"lr": "0.0001..0.01:log"}
    assert found["best_spec"]["method"]["config"]["lr"] == 0.003
    found = json.loads(pubench(*words, "--seeds", "7,").stdout)
    assert found["seeds"] == [7]
    assert "lr" not in found["space"]
