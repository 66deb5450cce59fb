"""Search spaces, bars and the journal of proposals: what `pubench tune` is made of, without a run."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial
from pubench_study.task import Bar
from pubench_tune.result import FACTS, OUTCOME, Trial, Tuned
from pubench_tune.sampler import JOURNAL, Proposals
from pubench_tune.search import STARTUP, Search, bar_of, course_in
from pubench_tune.space import Dimension, TunedMethod, _holding, default_space, space_of, text_of

from pubench_core.errors import RecordError, RequestError
from pubench_core.specs.config import MethodConfig, TrainingConfig
from pubench_core.specs.fields import Choice, Field, LogUniform, PowerOfTwo, Uniform


class Config(TrainingConfig):
    lr: float = Field(0.02, gt=0, description="rate", search=LogUniform(10**-4.5, 10**-2.5))
    batch_size: int = Field(256, ge=1, description="rows", search=PowerOfTwo(5, 8))
    keep: float = Field(0.9, gt=0.5, lt=1, description="share")
    share: float = Field(0.5, ge=0, le=1, description="share")
    below_one: float = Field(0.5, ge=0, lt=1, description="share")
    above_zero: float = Field(0.5, gt=0, le=1, description="share")
    weight: float = Field(1.0, ge=0, description="weight")
    layers: int = Field(2, ge=1, le=4, description="layers")
    oracle: bool = Field(False, description="whether true labels are read")
    clip: float | None = Field(None, gt=0, description="largest norm")


def subject(*fixed: str, **values: Any) -> TunedMethod:
    return TunedMethod("mine", Config(**values), fixed)


def test_the_default_space_is_what_is_declared_the_weight_decay_and_numbers_between_two_bounds() -> None:
    assert {name: text_of(found) for name, found in default_space(subject()).items()} == {
        "lr": "3.16228e-05..0.02:log",  # widened to the value as it is
        "weight_decay": "1e-06..0.01:log",
        "batch_size": "32,64,128,256",
        "keep": "0.505..0.995",  # bounds that are not themselves allowed
        "share": "0..1",
        "below_one": "0..0.99",
        "above_zero": "0.01..1",
    }


def test_a_set_hyper_parameter_may_not_be_tuned() -> None:
    assert "lr" not in space_of(None, subject("lr"))
    with pytest.raises(RequestError, match="lr is set as well"):
        space_of(["lr=0.1..1"], subject("lr"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("lr=1e-5..1e-2:log", FloatDistribution(1e-5, 1e-2, log=True)),
        ("share=0..0.5", FloatDistribution(0, 0.5)),
        ("layers=1..3", IntDistribution(1, 3)),
        ("layers=1,3", CategoricalDistribution([1, 3])),
        ("lr=1e-4, 1e-3", CategoricalDistribution([1e-4, 1e-3])),
        ("optimizer=adam,sgd", CategoricalDistribution(["adam", "sgd"])),
        ("oracle=true,false", CategoricalDistribution([True, False])),
        ("clip=null,1,10", CategoricalDistribution([None, 1.0, 10.0])),
        ("clip=0.1..10:log", FloatDistribution(0.1, 10, log=True)),
    ],
)
def test_a_text_is_a_range_or_a_list(text: str, found: Dimension) -> None:
    name = text.partition("=")[0]
    assert space_of([text], subject()) == {name: found}


def test_python_gives_tuples_lists_and_declared_ranges() -> None:
    given = {"lr": (1e-4, 1e-2, "log"), "layers": (1, 4), "batch_size": [16, 32], "share": Uniform(0.1, 0.2)}
    assert space_of(given, subject()) == {
        "lr": FloatDistribution(1e-4, 1e-2, log=True),
        "layers": IntDistribution(1, 4),
        "batch_size": CategoricalDistribution([16, 32]),
        "share": FloatDistribution(0.1, 0.2),
    }
    assert space_of({"optimizer": Choice(("adam", "sgd"))}, subject()) == {
        "optimizer": CategoricalDistribution(["adam", "sgd"])
    }
    assert space_of({"batch_size": PowerOfTwo(4, 7)}, subject()) == {
        "batch_size": CategoricalDistribution([16, 32, 64])
    }


def test_a_range_of_whole_numbers_that_is_widened_stays_one() -> None:
    assert _holding(IntDistribution(1, 4), 9) == IntDistribution(1, 9)


def test_the_default_space_can_be_extended() -> None:
    found = space_of(["weight=0..2", "default", "share=0,1"], subject())
    assert found["weight"] == FloatDistribution(0, 2)
    assert found["share"] == CategoricalDistribution([0.0, 1.0])
    assert "lr" in found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lrr=0.1..1", "did you mean 'lr'"),
        ("lr=1..0.1", "wrong order"),
        ("lr=1..1", "wrong order"),
        ("lr=0..1:log", "must start above 0"),
        ("lr=-1..1", "must be a number above 0"),
        ("share=0..2", "must be a number of at least 0 of at most 1"),
        ("layers=1.5..3", "whole number"),
        ("lr=a..b", "'a' is not a number"),
        ("lr=1..2:exp", "expected name=low..high"),
        ("lr=0.1", "two different values"),
        ("lr=0.1,0.1", "two different values"),
        ("lr=nan..1", "finite"),
        ("lr", "expected name=low..high"),
        ("optimizer=1..2", "one of adam, adamw, sgd; expected a list"),
        ("optimizer=adam,adagrad", "one of adam, adamw, sgd"),
        ("lr=[1,2],3", "expected numbers, texts, true, false or null"),
        ("lr=}", "not valid YAML"),
    ],
)
def test_what_is_no_space_is_said_with_what_was_written(text: str, said: str) -> None:
    with pytest.raises(RequestError) as error:
        space_of([text], TunedMethod("mine", Config(), (), "--space "))
    assert str(error.value).startswith(f"--space {text.split('=')[0]}")
    assert said in str(error.value)


def test_a_method_without_ranges_or_hyper_parameters_says_so() -> None:
    class Trees(MethodConfig):
        depth: int | None = Field(None, ge=1, description="depth")

    with pytest.raises(RequestError, match="declares no ranges to tune; name one of depth"):
        space_of(None, TunedMethod("trees", Trees()))
    with pytest.raises(RequestError, match="has no hyper-parameters"):
        space_of(None, TunedMethod("nothing", MethodConfig()))
    assert space_of(["depth=1..8"], TunedMethod("trees", Trees())) == {"depth": IntDistribution(1, 8)}


# -------------------------------------------------------------------- bars


COURSE = (0.5, 0.6, 0.7, 0.8)


@pytest.mark.parametrize(
    ("courses", "at"),
    [
        ([COURSE] * STARTUP, (None, None, 0.7, 0.8)),  # none in the first half of the epochs
        # the median; a run that ended early keeps its last value
        ([(0.1, 0.9), (0.2, 0.2, 0.2), (0.3, 0.3, 0.3), (None, 0.4, 0.4), (0.5, 0.5, 0.5)], (None, 0.4, 0.4)),
        ([*[(None, None, 0.5)] * 3, *[(0.1, 0.2, 0.5)] * (STARTUP - 3)], (None, None, 0.5)),  # enough values
    ],
)
def test_the_bar_of_a_later_run(courses: list[tuple[float | None, ...]], at: tuple[float | None, ...]) -> None:
    assert bar_of(courses, "pa", higher_is_better=True) == Bar("pa", True, at)
    assert bar_of(courses[: STARTUP - 1], "pa", higher_is_better=True) is None


@pytest.mark.parametrize(
    ("epoch", "best", "higher", "stops"),
    [
        (1, 0.0, True, False),  # no bar yet
        (2, 0.39, True, True),
        (2, 0.40, True, False),
        (9, 0.49, True, True),  # longer than all others: measured against their end
        (2, None, True, False),
        (2, 0.41, False, True),
        (2, 0.39, False, False),
    ],
)
def test_a_run_stops_below_its_bar(epoch: int, best: float | None, higher: bool, stops: bool) -> None:
    assert Bar("pa", higher, (None, 0.4, 0.5)).stops(epoch, best) is stops


def test_a_course_is_the_best_value_so_far(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("epoch,criterion-pa\n1,\n2,0.5\n3,0.4\n4,0.6\n")
    assert course_in(tmp_path, "pa", higher_is_better=True) == (None, 0.5, 0.5, 0.6)
    assert course_in(tmp_path, "pa", higher_is_better=False) == (None, 0.5, 0.4, 0.4)
    assert course_in(tmp_path, "pa", higher_is_better=True, stopped_at=3) == (None, 0.5, 0.5)
    assert course_in(tmp_path / "nowhere", "pa", higher_is_better=True) == ()


# -------------------------------------------------------------------- the journal

SPACE: dict[str, Dimension] = {
    "lr": FloatDistribution(1e-5, 1e-2, log=True),
    "batch_size": CategoricalDistribution([32, 64]),
    "layers": IntDistribution(1, 4),
}


def kept(proposals: Proposals) -> list[Trial]:
    return [Trial.of(number, trial, Path("results")) for number, trial in enumerate(proposals.begun())]


def facts(**values: Any) -> dict[str, Any]:
    return {"chosen": {}, "config": {}, "runs": [], "spec": None, **values}


def proposed(folder: Path, until: int, seed: int = 0) -> list[Trial]:
    """The search carried on to so many trials by a formula; every fourth is pruned, every fifth fails."""
    folder.mkdir(exist_ok=True)
    proposals = Proposals(folder, SPACE, seed, higher_is_better=True)
    for trial in proposals.begun():
        if not trial.state.is_finished():
            proposals.end(trial.number, "done", -abs(trial.user_attrs[FACTS]["chosen"]["lr"] - 1e-3), {}, None)
    for number in range(len(proposals.begun()), until):
        key, chosen = proposals.ask(number, {"lr": 3e-4})
        proposals.begin(key, facts(chosen=chosen))
        value = -abs(chosen["lr"] - 1e-3)
        if number % 4 == 3:
            proposals.end(key, "pruned", None, {"reason": "slow"}, (3, value))
        elif number % 5 == 4:
            proposals.end(key, "failed", None, {"reason": "non-finite"}, None)
        else:
            proposals.end(key, "done", value, {}, None)
    return kept(proposals)


def test_an_interrupted_search_proposes_what_it_would_have_proposed(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    expected = proposed(whole, 16)
    proposed(parts, 3)
    with (parts / JOURNAL).open("ab") as journal:
        journal.write(b'{"op_code":4,"wor')  # killed while it wrote
    (parts / f"{JOURNAL}.lock").symlink_to("nobody")  # and held the lock
    proposed(parts, 11)
    found = proposed(parts, 16)
    assert [trial.chosen for trial in found] == [trial.chosen for trial in expected]
    assert [trial.state for trial in found][:5] == ["done", "done", "done", "pruned", "failed"]
    assert found[0].chosen == {"lr": 3e-4}
    assert found[3].reason == "slow"
    assert [t.chosen for t in proposed(tmp_path / "other", 4, seed=1)] != [t.chosen for t in expected[:4]]


def test_a_search_goes_on_whatever_line_of_the_journal_was_the_last(tmp_path: Path) -> None:
    whole = [(trial.state, trial.value) for trial in proposed(tmp_path / "whole", 2)]
    lines = (tmp_path / "whole" / JOURNAL).read_text().splitlines(keepends=True)
    for kept in range(1, len(lines)):
        folder = tmp_path / str(kept)
        folder.mkdir()
        (folder / JOURNAL).write_text("".join(lines[:kept]))
        found = [(trial.state, trial.value) for trial in proposed(folder, 2)]
        assert found == whole, f"after {lines[kept - 1]}"


@pytest.mark.parametrize(("higher", "direction"), [(True, "MAXIMIZE"), (False, "MINIMIZE")])
def test_the_sampler_knows_which_values_are_better_and_what_pruned_trials_reached(
    tmp_path: Path, higher: bool, direction: str
) -> None:
    proposals = Proposals(tmp_path, SPACE, 0, higher_is_better=higher)
    key, chosen = proposals.ask(0, {"lr": 3e-4})
    proposals.begin(key, facts(chosen=chosen))
    proposals.end(key, "pruned", None, {"reason": "slow"}, (3, 0.25))
    assert proposals._study.direction.name == direction
    assert proposals._study.trials[0].intermediate_values == {3: 0.25}


def test_what_fails_is_proposed_less_and_is_a_failure_when_it_is_read_again(tmp_path: Path) -> None:
    space = {"layers": CategoricalDistribution([1, 2, 3, 4])}
    proposals = Proposals(tmp_path, space, 0, higher_is_better=True)
    for number in range(40):
        key, chosen = proposals.ask(number, {"layers": 1})
        proposals.begin(key, facts(chosen=chosen))
        fails = chosen["layers"] == 4
        proposals.end(key, "failed" if fails else "done", None if fails else chosen["layers"], {}, None)
    found = kept(Proposals(tmp_path, space, 0, higher_is_better=True))
    assert all((trial.state == "failed") == (trial.chosen["layers"] == 4) for trial in found)
    assert sum(trial.state == "failed" for trial in found) < 10


def test_a_search_that_goes_on_compares_with_every_finished_run_once(tmp_path: Path) -> None:
    """Runs of a trial that was pruned at a later seed count, and a run that two trials share counts once."""
    for number in range(6):
        (tmp_path / f"run-{number}").mkdir()
        values = "\n".join([f"{number / 10}"] * 8 + ["0.9"])  # the last after the patience of the criterion
        (tmp_path / f"run-{number}" / "trace.csv").write_text(f"criterion-pa\n{values}\n")
    done, pruned = TrialState.COMPLETE, TrialState.PRUNED
    trials = [*[(done, 0.5, ["run-0", "x"])] * 2, *((pruned, None, [f"run-{k}", "x"]) for k in range(1, 6))]
    begun = [
        create_trial(state=state, value=value, user_attrs={FACTS: facts(runs=runs), OUTCOME: {"reason": ""}})
        for state, value, runs in trials
    ]
    aim = SimpleNamespace(seeds=(2, 25), criterion="pa", higher_is_better=True, pruned=True)
    proposals = SimpleNamespace(begun=lambda: begun)
    tracks = {"pa": SimpleNamespace(stopped_at=8)}
    record = SimpleNamespace(result=SimpleNamespace(criteria=tracks))
    store = SimpleNamespace(root=tmp_path, folder=lambda run_id: tmp_path / run_id, find=lambda run_id: record)
    search = Search(aim, proposals, {}, 9, store, lambda text: None)  # type: ignore[arg-type]
    bar = search.bar(SimpleNamespace(spec=SimpleNamespace(seed=2)))  # type: ignore[arg-type]
    assert bar is not None
    assert bar.at[-1] == 0.25  # of .0, .1, .2, .3, .4, .5
    assert search.bar(SimpleNamespace(spec=SimpleNamespace(seed=25))) is None  # type: ignore[arg-type]


def test_the_first_of_equal_trials_is_the_best() -> None:
    def trial(number: int, value: float | None) -> Any:
        return SimpleNamespace(number=number, value=value)

    usual: dict[str, Any] = dict.fromkeys(
        ("method", "data", "criterion", "oracle", "seeds", "space", "folder", "results")
    )
    values = (trial(0, 0.1), trial(1, 0.5), trial(2, None), trial(3, 0.5), trial(4, 0.1))
    for higher_is_better, best in ((True, 1), (False, 0)):
        assert Tuned(**usual, higher_is_better=higher_is_better, trials=values).best.number == best


def test_what_a_file_sets_is_tuned_where_it_is_named_and_not_by_itself() -> None:
    names = set(space_of(None, TunedMethod("mine", Config())))
    assert "share" in names
    assert "lr" in space_of(["lr=0.1..1"], TunedMethod("mine", Config(), of_files=("lr",)))
    assert "share" in space_of(["default"], TunedMethod("mine", Config(), of_files=("share",)))
    assert "share" not in space_of(None, TunedMethod("mine", Config(), of_files=("share",)))
    with pytest.raises(RequestError, match=r"nothing is left to tune: .* of mine are set; space default tunes"):
        space_of(None, TunedMethod("mine", Config(), of_files=names))
    with pytest.raises(RequestError, match="lr is given twice"):
        space_of(["lr=0.1..1", "lr=0.2..1"], TunedMethod("mine", Config()))


def test_a_trial_whose_process_died_before_it_was_begun_does_not_count(tmp_path: Path) -> None:
    proposals = Proposals(tmp_path, SPACE, 0, higher_is_better=True)
    first, _ = proposals.ask(0, {"lr": 3e-4})
    again = Proposals(tmp_path, SPACE, 0, higher_is_better=True)
    assert again.begun() == []
    second, chosen = again.ask(0, {"lr": 3e-4})
    assert second != first
    assert chosen == {"lr": 3e-4}
    again.begin(second, facts(chosen=chosen))
    assert [(trial.number, trial.state) for trial in kept(again)] == [(0, "running")]
    assert [trial.state.name for trial in again._study.trials] == ["FAIL", "RUNNING"]


def test_a_damaged_journal_is_said(tmp_path: Path) -> None:
    proposed(tmp_path, 3)
    lines = (tmp_path / JOURNAL).read_bytes().splitlines(keepends=True)
    (tmp_path / JOURNAL).write_bytes(b"".join([*lines[:2], b"nonsense\n", *lines[2:]]))
    with pytest.raises(RecordError, match="is damaged"):
        Proposals(tmp_path, SPACE, 0, higher_is_better=True)


def test_a_full_disk_is_said_and_what_was_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from optuna.storages.journal import JournalFileBackend

    proposed(tmp_path, 3)
    proposals = Proposals(tmp_path, SPACE, 0, higher_is_better=True)
    with monkeypatch.context() as full:

        def append(self: JournalFileBackend, logs: list[dict[str, Any]]) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        full.setattr(JournalFileBackend, "append_logs", append)
        with pytest.raises(RecordError, match=r"journal.log cannot be read or written: No space left on device"):
            proposals.ask(3, {})
    assert len(proposed(tmp_path, 5)) == 5
