"""The table at the end of a run, from results that a real run seldom gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_results import made_result, made_spec
from pubench_report.cells import few_in_all

from pubench_cli import results, run
from pubench_cli.console import out
from pubench_core.plugins import registry as registries
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import registry
from pubench_core.results import CriterionResult, Measure, PartFacts, PeakMemory, PriorFacts, Seconds, said_alike
from pubench_core.specs import EvaluationSpec, UserTableSpec

VALUES = {"accuracy": 0.75, "precision": 0.5, "recall": 1.0, "f1": 2 / 3, "macro-f1": 0.7, "auc": 0.875, "mcc": 0.1}


def criterion(epoch: int, value: float | None, *, oracle: bool = False, **changed: float | None) -> CriterionResult:
    """A criterion with :data:`VALUES` on the test part, except for what is changed (None: undefined)."""
    measures = {
        name: Measure(undefined="it has no value here") if number is None else Measure(value=number)
        for name, number in {**VALUES, **changed}.items()
    }
    return CriterionResult(oracle=oracle, epoch=epoch, value=value, measures={"test": measures})


RESULT = made_result(
    spec=made_spec().model_copy(update={"evaluation": EvaluationSpec(metrics=tuple(VALUES))}),
    selected="pauc",
    criteria={
        "pa": criterion(1, 1.25),
        "pauc": criterion(3, 0.5),
        "f1": criterion(2, 0.6, oracle=True),
        "last": criterion(4, None),
    },
    metrics=dict.fromkeys(VALUES, "0123"),
    data=made_result().data.model_copy(update={"validation": PartFacts(rows=288, labeled=14)}),
    seconds=Seconds(total=1.26, training=0.9, evaluation=0.2, per_epoch=0.274, per_epoch_training=0.225),
    peak_memory=PeakMemory(bytes=3 * 2**20, what="peak resident during the run"),
    warnings=(),
)


@pytest.fixture(autouse=True)
def _fresh_console() -> Iterator[None]:
    out.cache_clear()
    yield
    out.cache_clear()


def printed(
    capsys: pytest.CaptureFixture[str], folder: Path | None = Path("results/abc"), *, full: bool = True, **changed: Any
) -> list[str]:
    results.print_result(RESULT.model_copy(update=changed), folder, full=full)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def with_criterion(name: str, found: CriterionResult) -> dict[str, CriterionResult]:
    return {**RESULT.criteria, name: found}


def test_measures_are_per_cent_and_the_chosen_criterion_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    """The mark is the result's and not the spec's: a stored result may be shown under another criterion."""
    lines = printed(capsys)
    assert lines[2].split() == ["pa", "1", "1.2500", "75.00", "50.00", "100.00", "66.67", "70.00", "87.50"]
    assert lines[4].split()[:2] == ["f1", "(oracle)"]
    for selected, marks in (("pauc", " >  "), ("last", "   >")):
        assert [line[0] for line in printed(capsys, selected=selected)[2:6]] == [*marks]


def test_by_itself_a_run_prints_what_names_it_with_an_oracle_and_the_last_epoch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert [line.split() for line in printed(capsys, full=False)[1:5]] == [
        ["selected", "by", "epoch", "value", "accuracy", "F1", "AUC"],
        [">", "pauc", "3", "0.5000", "75.00", "66.67", "87.50"],
        ["f1", "(oracle)", "2", "0.6000", "75.00", "66.67", "87.50"],
        ["last", "4", "75.00", "66.67", "87.50"],
    ]


def test_a_measure_without_a_value_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    criteria = with_criterion("pauc", criterion(3, 0.5, auc=None))
    assert printed(capsys, criteria=criteria)[3].split()[-1] == "-"


def test_an_undefined_criterion_gives_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    criteria = with_criterion("pa", CriterionResult(oracle=False, undefined="no labeled validation positive"))
    lines = printed(capsys, criteria=criteria)
    assert lines[2].split() == ["pa"]
    assert lines[6] == "pa is undefined: no labeled validation positive"


def test_without_true_labels_there_is_no_column_of_measures(capsys: pytest.CaptureFixture[str]) -> None:
    criteria = {name: found.model_copy(update={"measures": {}}) for name, found in RESULT.criteria.items()}
    lines = printed(capsys, criteria=criteria)
    assert lines[1].split() == ["selected", "by", "epoch", "value"]
    assert lines[6].startswith("no true labels, so nothing is measured on them.")


def test_a_given_prior_that_is_not_the_true_one_is_shown_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert "(true" not in printed(capsys)[0]
    data = RESULT.data.model_copy(update={"prior": PriorFacts(given=0.4, true=0.4961)})
    assert printed(capsys, data=data)[0].endswith("prior 0.400 (true 0.496)")


def test_an_oracle_is_marked_in_the_title_and_below(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, oracle=True)
    assert lines[0].startswith("tiny (oracle) on toy")
    assert "oracle: this method was granted the true labels" in lines


def test_costs_and_the_record_if_there_is_one_come_last(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys)
    costs = " ".join(lines[6:])
    words = ("3 epochs", "1.3 s in all", "0.27 s per epoch", "0.23 s training", "3 MiB peak resident", "1 threads")
    assert [each for each in words if each not in costs] == []
    for folder, shown in (
        (Path("my [bold]results[/]/abc"), "my [bold]results[/]/abc"),
        (None, "none could be written"),
    ):
        assert printed(capsys, folder=folder)[-1] == f"record: {shown}"


@pytest.mark.parametrize("own", [False, True])
def test_a_prior_that_the_rows_contradict_names_what_can_be_wrong(own: bool, tmp_path: Path) -> None:
    """Biased labels come first; of a user's table, a column that is filled in for labeled rows alone is named last."""
    doubt = Measure(value=1.15, warnings=("infeasible: above 1; the prior or the purity is wrong",))
    chosen = RESULT.criteria["pauc"].model_copy(update={"measures": {"validation": {"recovered-auc": doubt}}})
    table = UserTableSpec(path=tmp_path / "own.csv", sha256="0" * 64, label_col="s") if own else None
    spec = RESULT.spec.model_copy(update={"data": RESULT.spec.data.model_copy(update={"own": table})})
    changed = RESULT.model_copy(update={"spec": spec, "criteria": {**RESULT.criteria, "pauc": chosen}})
    infos = {info.key: info for info in registry().infos(MetricInfo)}
    line = results.recovered_line(changed, infos)
    assert "contradicts the given prior: recovered AUC: infeasible: above 1" in line
    assert line.index("prefer some positives (not SCAR)") < line.index("a wrong prior")
    assert line.endswith("a column that tells who is labeled (filled in for them alone, say)") is own


def test_if_all_rows_are_decided_alike_a_warning_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    alike = criterion(3, 0.5).model_copy(update={"warnings": (said_alike("test", positive=False, rows=20),)})
    lines = printed(capsys, criteria=with_criterion("pauc", alike), full=False)
    assert lines[0].startswith("warning: all 20 test rows are decided negative")
    assert lines[0].endswith("; --full shows what other criteria chose")


def test_a_choice_by_few_held_out_labels_is_said_and_one_by_enough_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    few = "14 held-out labeled positives chose this epoch; with fewer than 20"
    assert any(few in line for line in printed(capsys))
    enough = RESULT.data.model_copy(update={"validation": PartFacts(rows=288, labeled=20)})
    assert not any("chose this epoch" in line for line in printed(capsys, data=enough))
    assert not any("chose this epoch" in line for line in printed(capsys, selected="last"))
    assert not any("chose this epoch" in line for line in printed(capsys, selected="f1"))


def test_results_together_name_how_many_chose_by_few_labels() -> None:
    enough = RESULT.data.model_copy(update={"validation": PartFacts(rows=288, labeled=20)})
    line = few_in_all([RESULT, RESULT.model_copy(update={"data": enough})])
    assert line.startswith("1 of 2 runs chose the epoch by 14 held-out labeled positives: with fewer than 20")
    assert few_in_all([RESULT.model_copy(update={"data": enough})]) == ""


def test_a_table_of_a_user_needs_no_package_that_sums_up_decisions(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registries, "PARTS", {**registries.PARTS, "pubench_absent": "pubench-absent"})
    monkeypatch.setattr(run, "part", lambda hook, what: registries.part("pubench_absent", what))
    plan: Any = SimpleNamespace(data=SimpleNamespace(table=object()))
    assert run.decisions_in(plan, RESULT, Path("results/abc")) is None
    said = " ".join(capsys.readouterr().err.split())
    assert "a summary of the decisions on a table is not installed: pip install pubench-absent" in said
