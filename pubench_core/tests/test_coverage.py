"""A stored record answers every request that it covers: only what is missing is computed, and it is said why."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pubench_core.engine import coverage as covering
from pubench_core.engine import execute as execution
from pubench_core.engine.coverage import coverage, stored_record
from pubench_core.engine.execute import execute
from pubench_core.engine.plan import Plan
from pubench_core.errors import Hint, Notice, RecordError, RequestError
from pubench_core.metric import MetricPlugin, MetricValue, MetricView
from pubench_core.plugins.info import MetricInfo
from pubench_core.records.files import MEASURES, MODEL, RESULT, SCORES, TRACE, predictions_in, read_scores
from pubench_core.records.record import Record, read_record, read_result
from pubench_core.records.scores import scores_name
from pubench_core.records.store import RecordStore
from pubench_core.results import Code, RunResult

pytestmark = pytest.mark.usefixtures("one_thread")

#: Three epochs, so that criteria may choose different ones.
NNPU = ("data.key=breast-cancer", "method.key=nnpu", "epochs=3", "batch_size=64")


Ask = Callable[..., Plan]


def carried_out(plan: Plan, **options: Any) -> tuple[RunResult, list[str]]:
    """What came of a plan, and the lines that were said."""
    lines: list[str] = []
    return execute(plan, say=lines.append, **options), lines


def record_of(plan: Plan) -> Record:
    record = stored_record(plan, RecordStore(plan.spec.execution.results))
    assert isinstance(record, Record)
    return record


def superseded(plan: Plan) -> list[Path]:
    return sorted((plan.spec.execution.results / "superseded").glob(f"{plan.run_id}-*"))


def values(outcome: RunResult) -> dict[str, dict[str, dict[str, float | None]]]:
    """criterion -> part -> metric -> value."""
    return {
        name: {part: {m: found.value for m, found in measures.items()} for part, measures in c.measures.items()}
        for name, c in outcome.result.criteria.items()
    }


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From when it is called on, nothing may be trained."""

    def forbid() -> None:
        def compute(*arguments: Any) -> Any:
            raise AssertionError("something is trained")

        monkeypatch.setattr(execution, "compute", compute)

    return forbid


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = ["a,b,s"]
    for k in range(160):
        positive = k % 2 == 0
        a, b = rng.normal(1.5 if positive else -1.5), rng.normal()
        rows.append(f"{a:.4f},{b:.4f},{int(positive and k < 80)}")
    path = tmp_path / "my.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def request_of(table: Path) -> tuple[str, ...]:
    """A run on a user's table of which several criteria choose several epochs."""
    data = (f"data.own.path={table}", "data.own.label_col=s", "prior=0.5")
    config = ("epochs=6", "lr=0.003", "batch_size=16", "surrogate=sigmoid")
    return (*data, "method.key=nnpu", *config)


def broken(view: MetricView) -> float:
    raise ZeroDivisionError("division by zero")


def share(view: MetricView) -> MetricValue:
    """Share of positive decisions."""
    return MetricValue(float(view.decisions.mean()), interval=(0.0, 1.0), warnings=("new here",), details={"n": 3})


def with_metric(plan: Plan, key: str, function: Any, code: str = "1" * 16, **info: Any) -> Plan:
    """The plan where this metric is installed and asked for."""
    described = MetricInfo(key=key, name=key, summary=key, load="somewhere:m", **info)
    plan = replace(plan, metrics={**plan.metrics, key: MetricPlugin(described, function, code)})
    names = tuple(dict.fromkeys((*plan.spec.evaluation.metrics, key)))
    return replace(
        plan,
        spec=plan.spec.model_copy(update={"evaluation": plan.spec.evaluation.model_copy(update={"metrics": names})}),
    )


def other_code(plan: Plan, part: str) -> Plan:
    return replace(plan, code=Code.of({**plan.code.parts, part: "0" * 16}, plan.code.versions))


# ---------------------------------------------------------------- what a record covers


def test_the_same_request_is_answered_and_nothing_is_written(ask: Ask, no_training: Callable[[], None]) -> None:
    first, lines = carried_out(ask())
    assert (first.reused, lines) == (False, [])
    before = {path: path.read_bytes() for path in first.folder.iterdir()}
    no_training()
    again, (line,) = carried_out(ask())
    assert (again.reused, again.folder, again.result) == (True, first.folder, first.result)
    assert line == f"stored result of {first.result.finished_at}: same run, same code"
    assert isinstance(line, Notice)
    assert line.hint == Hint("run again")
    assert {path: path.read_bytes() for path in first.folder.iterdir()} == before


def test_a_request_for_less_is_answered(ask: Ask, no_training: Callable[[], None]) -> None:
    first, _ = carried_out(ask())
    no_training()
    for sets in (
        ("selection.criteria=[pa, last]",),
        ("evaluation.metrics=[auc]",),
        ("evaluation.metrics=[]",),
        ("execution.artifacts=[]",),
        ("execution.artifacts=[trace]", "execution.offline=true", "execution.tracking=false"),
        ("execution.device=cpu",),
    ):
        again, _ = carried_out(ask(*sets))
        assert (again.reused, again.result) == (True, first.result), sets


def test_force_runs_again_what_is_covered(ask: Ask) -> None:
    carried_out(ask())
    outcome, lines = carried_out(ask(), force=True)
    assert (outcome.reused, lines) == (False, [])
    assert len(superseded(ask())) == 1


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_another_criterion_or_decision_is_a_view_that_leaves_the_record_as_it_is(
    ask: Ask, no_training: Callable[[], None]
) -> None:
    first, _ = carried_out(ask(of=NNPU))
    before = content_of(first.folder)
    no_training()
    for criterion in ("f1", "last", "oa", "pa"):
        again, _ = carried_out(ask(f"selection.criterion={criterion}", of=NNPU))
        assert (again.reused, again.result.selected) == (True, criterion)
        assert again.result.chosen == first.result.criteria[criterion]
        assert again.result.model_copy(update={"selected": "pa"}) == first.result
    again, _ = carried_out(ask("decision.rule=prior", of=NNPU))
    assert (again.reused, again.result.decision) == (True, "prior")
    assert content_of(first.folder) == before
    assert superseded(ask(of=NNPU)) == []


def test_a_record_is_covered_whatever_versions_are_installed(ask: Ask) -> None:
    carried_out(ask())
    plan, record = ask(), record_of(ask())
    newer = Code.of(record.result.code.parts, {"pubench-core": "99"})
    assert coverage(plan, record, newer) == ("", plan)


# ---------------------------------------------------------------- measures from stored scores


@pytest.mark.parametrize("scheme", ["case-control", "single-training-set", "one-sample", "two-sample"])
def test_missing_metrics_are_measured_from_the_stored_scores(
    ask: Ask, table: Path, tmp_path: Path, no_training: Callable[[], None], scheme: str
) -> None:
    """Every value is what it would have been."""
    request = NNPU if scheme in ("case-control", "single-training-set") else request_of(table)
    request = (*request, f"data.scheme={scheme}", "prior=0.4", "mechanism.key=scar" if request is NNPU else "seed=2")
    everything, _ = carried_out(ask(f"execution.results={tmp_path / 'other'}", of=request))
    first, _ = carried_out(ask("evaluation.metrics=[pauc]", of=request))
    assert set(first.result.metrics) == {"pauc"}
    no_training()
    again, _ = carried_out(ask(of=request))
    assert again.reused
    assert again.result.metrics == everything.result.metrics
    assert again.result.criteria == everything.result.criteria
    assert read_record(first.folder).result == again.result
    assert read_result(first.folder).result == first.result
    assert carried_out(ask(of=request))[0].result == again.result


def test_a_metric_whose_code_changed_is_measured_again_and_no_other(ask: Ask, no_training: Callable[[], None]) -> None:
    plan = with_metric(ask(), "share", share, "1" * 16)
    first, _ = carried_out(plan)
    calls: list[int] = []

    def constant(view: MetricView) -> float:
        calls.append(len(view.scores))
        return 7.0

    no_training()
    changed = with_metric(ask(), "share", constant, "2" * 16)
    again, _ = carried_out(changed)
    assert again.reused
    assert again.result.metrics == {**first.result.metrics, "share": "2" * 16}
    states = {criterion.snapshot for criterion in first.result.criteria.values()}
    assert len(calls) == 2 * len(states)  # test and validation part of each state, whatever criteria chose it
    for name, by_part in values(again).items():
        for part, measured in by_part.items():
            assert measured == {**values(first)[name][part], "share": 7.0}
    calls.clear()
    assert carried_out(changed)[0].result == again.result
    assert calls == []


@pytest.mark.parametrize("installed", [False, True])
def test_a_metric_that_nobody_asks_for_is_left_as_it_was_measured(
    ask: Ask, no_training: Callable[[], None], installed: bool
) -> None:
    """Whether it was changed or uninstalled."""
    first, _ = carried_out(with_metric(ask(), "share", share, "1" * 16))
    no_training()
    plan = replace(ask(), metrics=with_metric(ask(), "share", lambda view: 7.0, "2" * 16).metrics)
    again, _ = carried_out(plan if installed else ask())
    assert (again.reused, again.result) == (True, first.result)


def test_a_new_metric_that_fails_loses_its_own_value_and_says_so(ask: Ask, no_training: Callable[[], None]) -> None:
    first, _ = carried_out(ask())
    no_training()
    again, _ = carried_out(with_metric(ask(), "broken", broken))
    assert again.reused
    (warning,) = again.result.warnings
    assert warning == "metric 'broken' failed and has no value: ZeroDivisionError: division by zero"
    for name, by_part in values(again).items():
        for part, measured in by_part.items():
            assert measured == {**values(first)[name][part], "broken": None}


def test_a_metric_that_was_mended_leaves_no_warning(ask: Ask, no_training: Callable[[], None]) -> None:
    first, _ = carried_out(with_metric(ask(), "share", broken, "1" * 16))
    assert [line.split("'")[1] for line in first.result.warnings] == ["share"]
    no_training()
    mended, _ = carried_out(with_metric(ask(), "share", share, "2" * 16))
    assert mended.result.chosen.measures["test"]["share"].value is not None
    assert mended.result.warnings == ()


def test_a_metric_that_is_measured_on_fewer_parts_loses_the_others(ask: Ask, no_training: Callable[[], None]) -> None:
    first, _ = carried_out(with_metric(ask(), "share", share, "1" * 16))
    assert "share" in first.result.chosen.measures["test"]
    no_training()
    narrower = with_metric(ask(), "share", lambda view: 7.0, "2" * 16, needs=frozenset({"labeled"}))
    again, _ = carried_out(narrower)
    assert again.result.metrics["share"] == "2" * 16
    assert again.result.chosen.measures["validation"]["share"].value == 7.0
    assert "share" not in again.result.chosen.measures["test"]


def test_measures_that_were_derived_later_are_a_cache(ask: Ask, no_training: Callable[[], None]) -> None:
    """One of another record, or damaged, is not read, and the next request derives it again."""
    first, _ = carried_out(ask("evaluation.metrics=[accuracy]"))
    before, path = content_of(first.folder), first.folder / MEASURES
    no_training()
    both = carried_out(ask())[0].result
    assert content_of(first.folder) == {**before, MEASURES: path.read_bytes()}
    text = path.read_text()
    for changed in (text[:50], text.replace('"of":"', '"of":"0'), text.replace('"last"', '"lost"')):
        path.write_text(changed)
        assert read_record(first.folder).result == first.result
        assert carried_out(ask())[0].result == both
        assert path.read_text() == text


# ---------------------------------------------------------------- what is missing


def missing(plan: Plan) -> str:
    """Why the stored record does not answer a plan."""
    record = record_of(plan)
    return coverage(plan, record, record.result.code)[0]


@pytest.mark.parametrize(
    ("first", "then", "reason"),
    [
        ("execution.artifacts=[]", "", "no scores, no trace"),
        ("execution.artifacts=[trace]", "", "no scores"),
        ("execution.artifacts=[scores]", "", "no trace"),
        ("selection.criteria=[pa, last]", "selection.criteria=[pa, f1, last]", "no criterion f1"),
        ("selection.criteria=[pa]", "selection.criterion=last", "no criterion pauc, no criterion oa"),
        ("", "execution.save_model=true", "no model of this criterion's epoch"),
        ("", "execution.artifacts=[scores, trace, samples]", "no samples"),
        ("", "evaluation.trace=[test]", "no trace of the test part"),
        ("evaluation.trace=[test]", "evaluation.trace=[train, test]", "no trace of the train part"),
        (
            "execution.artifacts=[]|evaluation.metrics=[auc]",
            "execution.artifacts=[]|evaluation.metrics=[auc, f1, mcc]",
            "no measure f1, mcc and no scores to measure",
        ),
    ],
)
def test_what_is_missing_is_said_and_computed_and_the_older_record_is_kept(
    ask: Ask, first: str, then: str, reason: str
) -> None:
    older, _ = carried_out(ask(*filter(None, first.split("|"))))
    plan = ask(*filter(None, then.split("|")))
    assert missing(plan).startswith(f"the stored record has {reason}")
    newer, (line,) = carried_out(plan)
    assert not newer.reused
    assert line.startswith(f"the stored record has {reason}")
    assert line.endswith("; running again, the older record is kept")
    (kept,) = superseded(plan)
    assert read_record(kept).result == older.result
    assert carried_out(plan)[0].reused


def test_running_again_keeps_what_the_older_record_had(ask: Ask) -> None:
    older, _ = carried_out(
        ask(
            "selection.criteria=[pa, f1]",
            "evaluation.metrics=[auc]",
            "evaluation.trace=[train]",
            "execution.save_model=true",
            of=NNPU,
        )
    )
    narrow = ask(
        "selection.criterion=last",
        "selection.criteria=[last]",
        "evaluation.metrics=[f1]",
        "evaluation.trace=[test]",
        "execution.artifacts=[]",
        of=NNPU,
    )
    newer, _ = carried_out(narrow)
    assert not newer.reused
    assert newer.result.selected == "last"
    assert set(newer.result.criteria) == {"last", "pa", "f1"}
    assert set(newer.result.metrics) == {"f1", "auc"}
    assert set(newer.result.spec.evaluation.trace) == {"train", "test"}
    assert {path.name for path in newer.folder.iterdir()} >= {SCORES, TRACE, MODEL}
    assert newer.result.model is not None
    assert newer.result.model.snapshot == newer.result.chosen.snapshot
    for name in ("pa", "f1"):
        before, after = older.result.criteria[name], newer.result.criteria[name]
        assert (after.epoch, after.value) == (before.epoch, before.value)
        assert after.measures["test"]["auc"] == before.measures["test"]["auc"]


def test_metrics_of_an_older_record_that_are_not_installed_are_not_needed(ask: Ask) -> None:
    carried_out(with_metric(ask("execution.artifacts=[trace]"), "share", share))
    newer, _ = carried_out(ask())
    assert not newer.reused
    assert "share" not in newer.result.metrics


def test_a_file_that_somebody_removed_is_missing(ask: Ask) -> None:
    first, _ = carried_out(ask("execution.save_model=true"))
    for name, reason in ((SCORES, "no scores"), (TRACE, "no trace"), (MODEL, "no model of this criterion's epoch")):
        path = first.folder / name
        content = path.read_bytes()
        path.unlink()
        assert missing(ask("execution.save_model=true")) == f"the stored record has {reason}"
        path.write_bytes(content)


def test_a_model_is_of_one_criterion_s_epoch(ask: Ask) -> None:
    """``save_model`` with another criterion is another model, unless both chose the same state."""
    first, _ = carried_out(ask("execution.save_model=true", of=NNPU))
    assert first.result.model is not None
    snapshots = {name: criterion.snapshot for name, criterion in first.result.criteria.items()}
    assert len(set(snapshots.values())) > 1
    for name, snapshot in snapshots.items():
        plan, record = ask("execution.save_model=true", f"selection.criterion={name}", of=NNPU), record_of(ask(of=NNPU))
        covered = not coverage(plan, record, record.result.code)[0]
        assert covered == (snapshot == first.result.model.snapshot)
        without = ask(f"selection.criterion={name}", of=NNPU)
        assert not coverage(without, record, record.result.code)[0]


def test_a_criterion_whose_code_changed_runs_again(ask: Ask) -> None:
    carried_out(ask())
    plan = ask()
    changed = replace(plan, metrics={**plan.metrics, "pauc": replace(plan.metrics["pauc"], code="0" * 16)})
    outcome, (line,) = carried_out(changed)
    assert not outcome.reused
    assert line == "the stored record has criterion pauc by other code; running again, the older record is kept"
    assert outcome.result.criteria["pauc"].code == "0" * 16
    assert outcome.result.criteria["pa"].code == plan.metrics["pa"].code


def test_a_criterion_without_a_value_is_retried_and_refused_with_a_record(ask: Ask) -> None:
    """At this c no validation positive is labeled: PA is undefined, F1 is not."""
    few = ("mechanism.c=0.01", "validation.fraction=0.05")
    first, _ = carried_out(ask(*few, "selection.criterion=f1"))
    assert first.result.criteria["pa"].undefined == "no labeled validation positive"
    lines: list[str] = []
    with pytest.raises(RequestError, match="criterion 'pa' is undefined on this split"):
        execute(ask(*few), say=lines.append)
    assert lines == ["the stored record has no value of criterion pa; running again, the older record is kept"]
    assert read_record(first.folder).result == first.result
    (failure,) = (first.folder.parent / "failed").glob(f"{first.result.run_id}-*/failure.json")
    assert json.loads(failure.read_text())["cause"] == "refused"


# ---------------------------------------------------------------- other code


@pytest.mark.parametrize("part", ["method no-network", "engine"])
def test_other_code_runs_again_and_the_part_is_named(ask: Ask, part: str) -> None:
    first, _ = carried_out(ask())
    outcome, (line,) = carried_out(other_code(ask(), part))
    assert (outcome.reused, outcome.result.run_id) == (False, first.result.run_id)
    assert line == f"the stored result is of other code (changed: {part}); running again, the older record is kept"
    assert outcome.result.code.hash != first.result.code.hash
    (kept,) = superseded(ask())
    assert read_record(kept).result == first.result


def test_other_code_computes_what_is_requested_not_what_the_record_had(ask: Ask) -> None:
    carried_out(ask("execution.save_model=true", "evaluation.trace=[test]"))
    plan = other_code(ask("selection.criteria=[pa]"), "method no-network")
    why_not, wider = coverage(plan, record_of(plan), plan.code)
    assert why_not
    assert wider is plan


def test_other_data_are_other_code(ask: Ask) -> None:
    carried_out(ask())
    plan, record = ask(), record_of(ask())
    assert record.result.data.digest
    assert not coverage(plan, record, plan.code_reading(record.result.data.digest))[0]
    why_not, _ = coverage(plan, record, plan.code_reading("0" * 16))
    assert why_not == "the stored result is of other code (changed: data breast-cancer)"


def test_where_the_data_are_not_here_the_record_answers_and_it_is_said(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = carried_out(ask())

    def absent(source: Any, root: Any) -> Any:
        raise RequestError("digits.csv is not in data")

    monkeypatch.setattr(covering, "located", absent)
    again, lines = carried_out(ask())
    assert (again.reused, again.result) == (True, first.result)
    assert lines[0] == "the data behind the stored result are not here to compare: digits.csv is not in data"


# ---------------------------------------------------------------- records that cannot answer


def test_a_record_of_another_format_is_said_to_be_one_and_kept(ask: Ask) -> None:
    first, _ = carried_out(ask())
    older = {**json.loads((first.folder / RESULT).read_text()), "record_version": 3}
    (first.folder / RESULT).write_text(json.dumps(older))
    outcome, (line,) = carried_out(ask())
    assert not outcome.reused
    assert line == (
        "the stored record is of format 3, which this version of pubench does not read; running again, the "
        "older record is kept"
    )
    (kept,) = superseded(ask())
    assert json.loads((kept / RESULT).read_text()) == older


def test_a_damaged_record_is_refused_unless_it_is_run_again(ask: Ask) -> None:
    first, _ = carried_out(ask())
    (first.folder / RESULT).write_text("{")
    with pytest.raises(RecordError, match="cannot be read") as refused:
        execute(ask())
    assert refused.value.hint == Hint("run again")
    assert not carried_out(ask(), force=True)[0].reused


def _flipped(content: bytes) -> bytes:
    place = len(content) // 3
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


#: What stands in the place of a file with this content.
DAMAGES: dict[str, Callable[[Path, bytes], Any]] = {
    "nothing": lambda path, content: path.touch(),
    "a bit flipped": lambda path, content: path.write_bytes(_flipped(content)),
    "a sound file of other arrays": lambda path, content: np.savez(path, test_scores_last=np.zeros(3)),
    "a folder": lambda path, content: path.mkdir(),
    "a pipe": lambda path, content: os.mkfifo(path),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_scores_are_no_record_and_the_run_is_carried_out_again(ask: Ask, damage: str) -> None:
    first, _ = carried_out(ask("evaluation.metrics=[auc]"))
    before = read_scores(first.folder)
    content = (first.folder / SCORES).read_bytes()
    (first.folder / SCORES).unlink()
    DAMAGES[damage](first.folder / SCORES, content)
    again, said = carried_out(ask("evaluation.metrics=[auc]"))
    assert not again.reused
    assert f"the stored record has a {SCORES} that is damaged, or of another run" in said[0]
    after = read_scores(again.folder)
    assert all(np.array_equal(after[name], before[name]) for name in before)
    assert len(superseded(ask())) == 1


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From when it is called on, nothing can be written under the results folder (root heeds no permissions)."""

    def lock() -> None:
        def refuse(*arguments: Any, **options: Any) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("pubench_core.records.later.replace_text", refuse)
        monkeypatch.setattr("pubench_core.records.files.replace_text", refuse)
        monkeypatch.setattr(RecordStore, "check_writable", refuse)
        monkeypatch.setattr(RecordStore, "write", refuse)

    return lock


def test_what_is_measured_from_it_is_shown_and_said_not_to_be_stored(
    ask: Ask, read_only: Callable[[], None], no_training: Callable[[], None]
) -> None:
    first, _ = carried_out(ask("evaluation.metrics=[accuracy]"))
    read_only()
    no_training()
    again, lines = carried_out(ask("selection.criterion=f1"))
    assert again.reused
    assert again.result.selected == "f1"
    assert set(again.result.metrics) > {"accuracy", "auc", "pa"}
    assert lines[-1].startswith("measured from stored scores and not stored: ")
    assert "Permission denied" in lines[-1]
    assert read_record(first.folder).result == first.result


# ---------------------------------------------------------------- a user's table


def predictions(folder: Path, criterion: str = "pa") -> list[float]:
    lines = predictions_in(folder, criterion).read_text().splitlines()[1:]
    return [float(line.split(",")[1]) for line in lines]


def test_a_users_tables_predictions_are_those_of_the_selected_criterion(
    ask: Ask, table: Path, no_training: Callable[[], None]
) -> None:
    first, _ = carried_out(ask(of=request_of(table)))
    snapshots = {name: criterion.snapshot for name, criterion in first.result.criteria.items()}
    assert len(set(snapshots.values())) > 1
    arrays, before = read_scores(first.folder), content_of(first.folder)
    no_training()
    for name in (*snapshots, "pa"):
        again, _ = carried_out(ask(f"selection.criterion={name}", of=request_of(table)))
        assert content_of(first.folder).items() >= before.items()
        assert again.reused
        assert predictions(again.folder, name) == arrays[scores_name("unlabeled", snapshots[name])].tolist()


def test_without_scores_the_predictions_of_another_criterion_are_missing(ask: Ask, table: Path) -> None:
    request = (*request_of(table), "execution.artifacts=[]")
    first, _ = carried_out(ask(of=request))
    chosen = first.result.chosen.snapshot
    other = next(name for name, criterion in first.result.criteria.items() if criterion.snapshot != chosen)
    plan = ask(f"selection.criterion={other}", of=request)
    assert missing(plan) == "the stored record has no predictions of this criterion's epoch"
    newer, _ = carried_out(plan)
    assert not newer.reused
    assert predictions(newer.folder) != predictions(superseded(plan)[0])
