"""Search spaces, the median rule and the journal of proposals: what `pubench tune` is made of, without a run."""

from __future__ import annotations

import errno
import pickle
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from pubench_study.task import GivenUp
from pubench_tune.result import FACTS, Trial, TrialOutcome, Tuned
from pubench_tune.sampler import JOURNAL, STARTUP, Proposals
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
        ("lr=a..b", "finite numbers, got 'a' and 'b'"),
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
            value = -abs(trial.user_attrs[FACTS]["chosen"]["lr"] - 1e-3)
            proposals.end(trial.number, TrialOutcome("done", value))
    for number in range(len(proposals.begun()), until):
        key, chosen = proposals.ask(number, {"lr": 3e-4})
        proposals.begin(key, facts(chosen=chosen))
        value = -abs(chosen["lr"] - 1e-3)
        if number % 4 == 3:
            proposals.end(key, TrialOutcome("pruned", reason="slow"))
        elif number % 5 == 4:
            proposals.end(key, TrialOutcome("failed", reason="non-finite"))
        else:
            proposals.end(key, TrialOutcome("done", value))
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
        journal = Proposals(folder, SPACE, 0, higher_is_better=True)
        assert all(trial.state.is_finished() for trial in journal._study.trials)  # also one that nobody began


def finished(proposals: Proposals, number: int, course: Sequence[float], *, epochs: int = 4) -> str:
    """Tells the journal of a run what it reaches; at which epoch it is given up, and why; empty if it is not."""
    key, chosen = proposals.ask(number, {"lr": 3e-4})
    proposals.begin(key, facts(chosen=chosen))
    rule = pickle.loads(pickle.dumps(proposals.median_rule(key, "pa", epochs)))  # as a worker gets it
    for epoch, value in enumerate(course, 1):
        try:
            rule.pubench_epoch_finished(SimpleNamespace(epoch=epoch, criteria={"pa": value}))
        except GivenUp as stop:
            proposals.end(key, TrialOutcome("pruned", reason=str(stop)))
            return str(stop)
    proposals.end(key, TrialOutcome("done", course[-1]))
    return ""


@pytest.mark.parametrize("higher", [True, False])
def test_a_run_is_given_up_below_the_median_in_its_second_half(tmp_path: Path, higher: bool) -> None:
    sign = 1 if higher else -1
    proposals = Proposals(tmp_path, SPACE, 0, higher_is_better=higher)
    below = [sign * 0.1, sign * 0.1, sign * 0.39, sign * 0.9]
    for number in range(STARTUP):
        courses = [0.1 * (number + 2)] * 4 if number else below  # too few trials to compare with
        assert finished(proposals, number, [sign * abs(value) for value in courses]) == ""
    assert finished(proposals, 5, [sign * 0.1, sign * 0.1, sign * 0.45, sign * 0.55]) == ""
    assert "at epoch 3: pa is below the median" in finished(proposals, 6, below)
    assert finished(proposals, 7, [sign * 0.8, sign * 0.1, sign * 0.1, sign * 0.9]) == ""  # the best so far counts
    again = Proposals(tmp_path, SPACE, 0, higher_is_better=higher)
    assert [trial.state for trial in kept(again)][5:] == ["done", "pruned", "done"]
    assert again._study.trials[6].intermediate_values == {1: sign * 0.1, 2: sign * 0.1, 3: sign * 0.39}


def test_what_fails_is_proposed_less_and_is_a_failure_when_it_is_read_again(tmp_path: Path) -> None:
    space = {"layers": CategoricalDistribution([1, 2, 3, 4])}
    proposals = Proposals(tmp_path, space, 0, higher_is_better=True)
    for number in range(40):
        key, chosen = proposals.ask(number, {"layers": 1})
        proposals.begin(key, facts(chosen=chosen))
        fails = chosen["layers"] == 4
        proposals.end(key, TrialOutcome("failed") if fails else TrialOutcome("done", chosen["layers"]))
    found = kept(Proposals(tmp_path, space, 0, higher_is_better=True))
    assert all((trial.state == "failed") == (trial.chosen["layers"] == 4) for trial in found)
    assert sum(trial.state == "failed" for trial in found) < 10


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
