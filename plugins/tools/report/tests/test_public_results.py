"""Finished runs in Python: filtered, as a frame, as a table, and what may be averaged or tested."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import made_studies
import numpy as np
import pytest
from made_results import made_code, made_failure, made_result, made_spec
from pubench_report.grouping import FailedRun
from pubench_report.report.tables import MeasureTable
from pubench_report.significance import friedman, holm, paired_t
from pubench_testkit.testing import reference_arrays

from pubench import InvalidRequest, PubenchWarning, Results, load_results
from pubench.running import RunResult
from pubench_core.plugins.info import MetricInfo
from pubench_core.records.store import RecordStore
from pubench_core.results import Code, CriterionResult, Measure, PriorFacts
from pubench_core.specs import RunSpec
from pubench_core.specs.fields import short_hash

METRICS = [
    MetricInfo(key="accuracy", name="accuracy", summary="-", load="m:f", needs=frozenset({"truth"}), headline=1),
    MetricInfo(key="loss", name="loss", summary="-", load="m:f", needs=frozenset({"truth"}), higher_is_better=False),
]


@pytest.fixture(autouse=True)
def _two_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the metrics of these runs, accuracy (higher is better) and loss (lower is) are installed, auc is not."""
    monkeypatch.setattr("pubench_report.cells.registry", lambda: SimpleNamespace(infos=lambda kind: METRICS))


def spec(method: str = "nnpu", data: str = "digits", seed: int = 2, **changed: Any) -> RunSpec:
    """A spec; ``changed``: fields by their path, with ``__`` for the dots."""
    values = made_spec().model_dump()
    for path, value in {"method__key": method, "data__key": data, "seed": seed, **changed}.items():
        *sections, field = path.split("__")
        place = values
        for name in sections:
            place = place[name]
        place[field] = value
    return RunSpec.model_validate(values)


def run(
    accuracy: float | None = 0.5,
    method: str = "nnpu",
    data: str = "digits",
    seed: int = 2,
    *,
    measures: Mapping[str, float] | None = None,
    **changed: Any,
) -> RunResult:
    """A finished run whose criterion ``last`` was as good on accuracy as half of what ``pa`` chose.

    ``measures``: others on the test part; ``changed``: fields of its result, or of its spec.
    """
    of_result = {name: changed.pop(name) for name in ("oracle", "selected", "code", "warnings") if name in changed}
    found = spec(method, data, seed, **changed)
    whole, half = (
        Measure(undefined="no positive row") if accuracy is None else Measure(value=accuracy / parts)
        for parts in (1, 2)
    )
    others = {name: Measure(value=value) for name, value in (measures or {}).items()}
    criteria = {
        "pa": CriterionResult(
            oracle=False,
            epoch=2,
            value=1.25,
            measures={
                "test": {"auc": Measure(value=0.75), "accuracy": whole, **others},
                "validation": {"pa": Measure(value=1.25)},
            },
        ),
        "last": CriterionResult(oracle=False, epoch=3, measures={"test": {"accuracy": half}}),
    }
    run_id = short_hash(found.model_dump(mode="json"))
    base = {"spec": found, "criteria": criteria, "warnings": ()}
    return RunResult(made_result(run_id, **{**base, **of_result}), Path("results") / run_id)


def altered(finished: RunResult, **fields: Any) -> RunResult:
    """The run with other fields of its result."""
    return RunResult(finished.result.model_copy(update=fields), finished.folder)


def chosen_by(finished: RunResult, criterion: str, **fields: Any) -> RunResult:
    """The run as if it had tracked one criterion alone: what ``pa`` chose, with these fields."""
    chosen = finished.result.criteria["pa"].model_copy(update=fields)
    return altered(finished, criteria={criterion: chosen}, selected=criterion)


def failed(method: str = "nnpu", data: str = "digits", seed: int = 2) -> FailedRun:
    found = spec(method, data, seed)
    return FailedRun(method, short_hash(found.model_dump(mode="json")), found, "non-finite", "loss is nan")


def by_seed(method: str, values: Iterable[float | None], data: str = "digits", **more: Any) -> list[RunResult]:
    """One run per value; the seeds are 0, 1, 2 and so on."""
    return [run(value, method, data, seed, **more) for seed, value in enumerate(values)]


def compared(data: Iterable[str] = ("digits",), **values: Iterable[float | None]) -> Results:
    """Runs of methods, on each data set with the same values, one for each seed."""
    return Results([one for key in data for method, of in values.items() for one in by_seed(method, of, key)])


def best_of(table: MeasureTable) -> list[str]:
    """The rows that are marked in the first column."""
    return [row for row in table.rows if table.cells[row, table.columns[0]].mark == "best"]


# ---------------------------------------------------------------- a sequence


def test_results_are_a_sequence_of_runs() -> None:
    runs = by_seed("nnpu", [0.5, 0.6, 0.7])
    results = Results(runs)
    assert len(results) == 3
    assert list(results) == runs
    assert results[-1] is runs[2]
    assert isinstance(results[:2], Results)
    assert list(results[:2]) == runs[:2]


def test_what_is_there_is_listed_in_order_of_appearance() -> None:
    results = Results([run(method="vpu", data="digits"), run(method="nnpu", data="toy"), failed("upu")])
    assert results.methods == ("vpu", "nnpu", "upu")
    assert results.data == ("digits", "toy")
    assert results.criteria == ("pa", "last")
    assert results.metrics() == ("accuracy", "auc")
    assert results.metrics("validation") == ("pa",)


def test_results_say_what_they_are() -> None:
    assert repr(Results()) == "Results: no runs"
    assert repr(Results([*by_seed("nnpu", [0.5, 0.5]), failed("upu", seed=7)])).splitlines() == [
        "Results: 2 runs of 2 methods (nnpu, upu) on 1 data set (digits), seeds 0, 1, 7",
        "failed: upu on digits, seed 7: non-finite: loss is nan",
    ]


def test_two_results_together_have_every_run_once() -> None:
    one, other = run(seed=1), run(seed=2)
    assert list(Results([one]) + Results([one, other])) == [one, other]
    assert len(Results([one], ["a"]) + Results([one], ["b"])) == 2


@pytest.mark.parametrize(("other", "left"), [(run(seed=2), 0), (failed(seed=2), 1), (run(seed=3), 1)])
def test_a_failure_goes_where_the_other_results_have_the_run_finished(other: Any, left: int) -> None:
    assert len((Results([failed(seed=2)]) + Results([other])).failures) == left


# ---------------------------------------------------------------- where


def test_where_keeps_the_runs_with_these_values() -> None:
    results = Results([*by_seed("nnpu", [0.5, 0.5, 0.5]), *by_seed("vpu", [0.5, 0.5, 0.5], oracle=True)])
    assert [r.result.spec.seed for r in results.where(method="vpu", seed=[0, 2])] == [0, 2]
    assert [r.result.spec.seed for r in results.where(method="vpu", seed=range(1, 5))] == [1, 2]
    assert results.where(oracle=False).methods == ("nnpu",)
    assert len(results.where()) == 6
    assert len(results.where(method="upu")) == 0


def test_where_knows_hyper_parameters_and_values_that_are_not_there() -> None:
    results = Results([run(method__config__lr=0.1), run(method__config__lr=0.2, method__preset="quick")])
    assert [r.result.spec.method.config["lr"] for r in results.where(**{"config.lr": 0.2})] == [0.2]
    assert [r.result.spec.method.config["lr"] for r in results.where(preset=None)] == [0.1]


def test_where_keeps_failures_that_fit() -> None:
    results = Results([failed("nnpu", seed=2), failed("vpu", seed=2), run(method="vpu", seed=3)])
    assert [f.name for f in results.where(method="vpu").failures] == ["vpu"]
    assert results.where(epochs=3).failures == ()


# ---------------------------------------------------------------- a frame


def test_a_frame_has_one_row_per_run_in_order() -> None:
    told = run(0.75, "vpu", seed=3, prior="0.3", mechanism__c=0.2, method__preset="quick", warnings=("odd",))
    data = told.result.data.model_copy(update={"prior": PriorFacts(given=0.3, true=0.4)})
    frame = Results([run(0.5), altered(told, data=data)], ["nnpu", "vpu, prior .3"]).to_frame()
    assert len(frame) == 2
    assert frame.iloc[1].to_dict() == {
        "run_id": told.run_id,
        "name": "vpu, prior .3",
        "method": "vpu",
        "data": "digits",
        "mechanism": "scar",
        "c": 0.2,
        "scheme": "case-control",
        "prior": 0.3,
        "positive_rate": pytest.approx(math.nan, nan_ok=True),
        "prior_from": "0.3",
        "prior_true": 0.4,
        "seed": 3,
        "preset": "quick",
        "backbone": "mlp",
        "oracle": False,
        "criterion": "pa",
        "criterion_oracle": False,
        "criterion_value": 1.25,
        "epoch": 2,
        "epochs": 3,
        "seconds": 1.0,
        "warnings": "odd",
        "test_accuracy": 0.75,
        "test_auc": 0.75,
    }


@pytest.mark.parametrize(
    ("parts", "columns"),
    [
        ("test", ["test_accuracy", "test_auc"]),
        ("validation", ["validation_pa"]),
        ("all", ["test_accuracy", "test_auc", "validation_pa"]),
        ("none", []),
    ],
)
def test_measures_are_columns_of_the_parts_that_are_asked_for(parts: Any, columns: list[str]) -> None:
    frame = Results([run(0.5)]).to_frame(parts)
    assert [c for c in frame.columns if c.startswith(("test_", "validation_"))] == columns


def test_a_measure_without_a_value_is_nan() -> None:
    frame = Results([run(None), run(0.5, seed=3)]).to_frame(criteria="all")
    assert frame["test_accuracy"].dtype == np.float64
    assert math.isnan(frame["test_accuracy"][0])
    assert math.isnan(frame[frame.criterion == "last"]["test_auc"].iloc[1])  # it was not measured there


def test_a_frame_has_one_row_per_run_and_criterion_on_request() -> None:
    results = Results([run(0.5), run(0.6, seed=3, selected="last")])
    assert results.to_frame().criterion.tolist() == ["pa", "last"]
    assert results.to_frame().test_accuracy.tolist() == [0.5, 0.3]
    assert results.to_frame(criteria="all").criterion.tolist() == ["pa", "last"] * 2
    assert results.to_frame(criteria="pa").test_accuracy.tolist() == [0.5, 0.6]
    assert results.to_frame(criteria=["last"]).epoch.tolist() == [3, 3]


def test_hyper_parameters_are_columns_on_request() -> None:
    results = Results([run(method__config__lr=0.1), run(seed=3, method__config__trees=5)])
    assert not [c for c in results.to_frame().columns if c.startswith("config.")]
    frame = results.to_frame(config=True)
    assert frame["config.lr"].tolist() == [0.1, 0.01]
    assert math.isnan(frame["config.trees"][0])
    assert frame["config.trees"][1] == 5
    assert [c for c in results.to_frame(config=["trees"]).columns if c.startswith("config.")] == ["config.trees"]


def test_a_frame_of_no_runs_has_the_columns() -> None:
    frame = Results().to_frame()
    assert len(frame) == 0
    assert {"run_id", "method", "c"} <= set(frame.columns)


# ---------------------------------------------------------------- a table


def test_a_cell_is_mean_and_sample_standard_deviation_over_seeds() -> None:
    table = compared(nnpu=[0.6, 0.7, 0.8]).table()
    cell = table.cells["nnpu", "digits"]
    assert cell.mean == pytest.approx(0.7)
    assert cell.std == pytest.approx(0.1)
    assert cell.seeds == 3
    assert str(table).splitlines() == [
        "accuracy (test, percent), mean ± std over seeds, selected by pa; "
        "scheme case-control, mechanism scar, c 0.1, validation 0.2",
        "method  digits (3 seeds)",
        "nnpu       70.00 ± 10.00",
    ]


def test_the_best_mean_of_a_column_is_marked() -> None:
    table = compared(nnpu=[0.6, 0.7], vpu=[0.7, 0.8], upu=[0.7, 0.8]).table()
    assert best_of(table) == ["vpu", "upu"]
    assert "75.00 ± 7.07*" in str(table)
    assert "65.00 ± 7.07+" in str(table)
    assert '<td class="r"><b>75.00 ± 7.07</b></td>' in table._repr_html_()
    assert any(line.startswith("* best, + second of its column") for line in str(table).splitlines())


def test_means_that_are_printed_alike_are_marked_alike() -> None:
    """The mean of .8003 and .8004 is a bit below or above the half of its last digit."""
    text = str(compared(nnpu=[0.8003, 0.8004], vpu=[0.8003, 0.8003]).table())
    assert [text.count(cell) for cell in ("80.03 ± 0.01*", "80.03 ± 0.00*")] == [1, 1]


def test_lower_is_better_where_the_metric_says_so() -> None:
    values = {"a": 0.2, "b": 0.3, "c": 0.4}
    runs = [run(method=m, data=d, measures={"loss": v}) for m, v in values.items() for d in ("digits", "toy")]
    seeds = [run(method=m, seed=3, measures={"loss": v + 0.001 * v}) for m, v in values.items()]
    table = Results([*runs, *seeds]).table("loss")
    assert best_of(table) == ["a"]
    assert "0.2001 ± 0.0001*" in str(table)  # no headline metric, so not in percent
    found = Results([*runs, *seeds]).significance("loss", reference="b")
    assert [(pair.method, pair.decision) for pair in found.pairs[:2]] == [("a", "better"), ("c", "worse")]
    assert found.average.friedman is not None
    assert found.average.friedman.average_ranks == (1.0, 2.0, 3.0)
    assert found.average.friedman.data == ("digits", "toy")
    assert "too few data sets for Nemenyi's test" in str(found)


@pytest.mark.parametrize(
    ("runs", "metric", "note"),
    [
        ([run(0.6), run(0.5, "vpu")], "accuracy", ""),  # one seed
        ([*by_seed("nnpu", [0.6, 0.7]), *by_seed("pn", [0.8, 0.9], oracle=True)], "accuracy", ""),
        ([run(), run(method="vpu")], "auc", "metric auc is not installed"),
        (
            [*by_seed("nnpu", [0.6, 0.7]), *by_seed("vpu", [0.7])],
            "accuracy",
            "digits: not compared for best and second, as it is of one seed: vpu",
        ),
    ],
)
def test_nothing_is_marked_where_methods_cannot_be_compared(runs: list[RunResult], metric: str, note: str) -> None:
    table = Results(runs).table(metric)
    assert not any(cell.mark == "best" for cell in table.cells.values())
    assert note in "; ".join(table.notes)


def test_an_oracle_is_marked_and_does_not_compete() -> None:
    table = Results([*compared(nnpu=[0.6, 0.6], vpu=[0.5, 0.5]), *by_seed("pn", [0.9, 0.9], oracle=True)]).table()
    assert best_of(table) == ["nnpu"]
    assert "pn (oracle)" in str(table)


def test_a_baseline_is_marked_and_does_not_compete() -> None:
    results = compared(nnpu=[0.6, 0.6], vpu=[0.5, 0.5], naive=[0.9, 0.9])
    table = results.table()
    assert best_of(table) == ["nnpu"]
    assert "naive (baseline)" in str(table)
    assert "naive" not in {pair.method for pair in results.significance(reference="nnpu").pairs}
    assert {(pair.method, pair.reference) for pair in results.significance().pairs} == {
        (m, "naive") for m in ("nnpu", "vpu")
    }
    alone = results.where(method=["nnpu", "naive"]).significance()
    assert [(pair.method, pair.reference) for pair in alone.pairs] == [("nnpu", "naive")]


@pytest.fixture(scope="module")
def with_an_oracle() -> Results:
    values = {"nnpu": [0.6, 0.7, 0.65], "vpu": [0.7, 0.76, 0.8], "upu": [0.5, 0.55, 0.45]}
    oracles = [one for data in ("digits", "letter") for one in by_seed("pn", [0.9, 0.91, 0.95], data, oracle=True)]
    return Results([*oracles, *compared(("digits", "letter"), **values)])


def test_an_oracle_is_neither_ranked_nor_in_the_family_of_tests_except_as_the_reference(
    with_an_oracle: Results,
) -> None:
    found, alone = with_an_oracle.significance(), with_an_oracle.where(oracle=False).significance()
    assert found.reference == "nnpu"  # the first row is an oracle
    assert (found.pairs, found.average.friedman) == (alone.pairs, alone.average.friedman)
    assert "oracle methods are not ranked, and tested only as the reference: pn" in found.notes
    assert not any("oracle" in note for note in alone.notes)
    reference = with_an_oracle.significance(reference="pn")
    assert {pair.method for pair in reference.pairs} == {"nnpu", "vpu", "upu"}
    for tests in (found, reference):
        assert tests.average.friedman is not None
        assert tests.average.friedman.methods == ("nnpu", "vpu", "upu")


def test_a_method_beside_an_oracle_has_no_pairs_and_says_so(with_an_oracle: Results) -> None:
    found = with_an_oracle.where(method=["pn", "nnpu"]).significance()
    assert not found.pairs
    assert "no tests: no other method has a value here" in str(found)
    assert found.average.why == "1 method is ranked, and 3 are needed"


def test_a_missing_cell_is_a_dash_with_the_runs_there_are() -> None:
    table = Results([run(0.6), run(0.7, "vpu", "toy")]).table()
    assert str(table).splitlines()[2].split() == ["nnpu", "60.00", "·"]
    assert table.cells["nnpu", "toy"].seeds == 0


def test_a_failed_run_is_counted_and_named() -> None:
    table = Results([failed(seed=5), *by_seed("nnpu", [0.6, 0.7]), failed("vpu", seed=0)]).table()
    assert table.rows == ("nnpu", "vpu")
    assert "65.00 ± 7.07 (2 of 3)" in str(table)
    assert "- (0 of 3)" in str(table)
    assert "note: vpu on digits, seed 0: non-finite: loss is nan" in str(table).splitlines()
    assert "<p>note: vpu on digits, seed 0: non-finite: loss is nan</p>" in table._repr_html_()


@pytest.mark.parametrize(
    ("runs", "shown"),
    [
        ([chosen_by(run(), "f1", oracle=True)], "selected by f1 (oracle)"),
        (by_seed("nnpu", [0.6, None, None]), "60.00 (1 of 3)"),
        (by_seed("nnpu", [0.6, None, None]), "note: nnpu on digits, seed 1, 2: no accuracy: no positive row"),
        (
            [run(warnings=("odd",)), run(seed=3)],
            "note: 1 of 2 runs have warnings: nnpu on digits (1); their records have",
        ),
    ],
)
def test_oracle_criteria_missing_values_and_warnings_are_said(runs: list[RunResult], shown: str) -> None:
    assert shown in str(Results(runs).table())


def test_runs_that_decide_every_row_alike_are_counted_in_their_cell() -> None:
    runs = by_seed("nnpu", [0.5, 0.6])
    collapsed = chosen_by(runs[0], "pa", warnings=("all 360 test rows are decided positive",))
    table = Results([collapsed, runs[1]]).table("accuracy")
    assert table.cells["nnpu", "digits"].alike == 1
    assert "55.00 ± 7.07 !1" in str(table)
    assert "!n: n of the runs decide every row alike" in str(table)
    assert "!" not in str(Results(runs).table("accuracy"))


def test_a_table_can_be_a_frame() -> None:
    frame = Results([*by_seed("nnpu", [0.6, 0.8]), run(0.9, "pn", oracle=True)]).table().to_frame()
    assert frame.columns.tolist() == ["method", "data", "oracle", "mean", "std", "n", "seeds", "alike", "best"]
    assert frame["mean"].tolist() == [pytest.approx(0.7), 0.9]
    assert frame["oracle"].tolist() == [False, True]
    assert math.isnan(frame["std"][1])


def test_html_is_escaped() -> None:
    assert "<b>bold</b>" not in Results([run()], ["<b>bold</b>"]).table()._repr_html_()


def test_another_criterion_and_another_part() -> None:
    results = Results([run(0.6)])
    assert results.table("accuracy", "last").cells["nnpu", "digits"].mean == pytest.approx(0.3)
    assert results.table("pa", part="validation").cells["nnpu", "digits"].mean == 1.25


def test_a_table_of_runs_without_true_labels_is_refused_with_the_part_that_needs_none() -> None:
    results = Results([chosen_by(run(), "pa", measures={"validation": {"pa": Measure(value=1.25)}})])
    with pytest.raises(InvalidRequest, match=r"known; .*\.table\('pa', part='validation'\) compares"):
        results.table()
    assert results.table("pa", part="validation").cells["nnpu", "digits"].mean == 1.25


# ---------------------------------------------------------------- what is never averaged


SCHEMES = ["digits [scheme=case-control]", "digits [scheme=single-training-set]"]


@pytest.mark.parametrize(
    ("other", "rows", "columns"),
    [
        *(
            (other, ["nnpu"], columns)
            for other, columns in (
                ({"mechanism__c": 0.2}, ["digits [c=0.1]", "digits [c=0.2]"]),
                ({"data__scheme": "single-training-set"}, SCHEMES),
                ({"data__positive": (0, 2)}, ["digits [positive=0]", "digits [positive=0,2]"]),
                ({"mechanism__key": "s2"}, ["digits [mechanism=scar]", "digits [mechanism=s2]"]),
                ({"data__test_fraction": 0.3}, ["digits [test_fraction=0.2]", "digits [test_fraction=0.3]"]),
                # a data set's own classes and backbone
                ({"data": "toy", "data__positive": (3,), "backbone__key": "cnn"}, ["digits", "toy"]),
                ({"data": "toy", "mechanism__c": 0.5}, ["digits [c=0.1]", "toy [c=0.5]"]),
            )
        ),
        *(
            (other, rows, ["digits"])
            for other, rows in (
                ({"method__config__lr": 0.1}, ["nnpu [lr=0.01]", "nnpu [lr=0.1]"]),
                ({"method__config__lr": 0.00013293405468165875}, ["nnpu [lr=0.01]", "nnpu [lr=0.0001329]"]),
                ({"method__config__lr": 0.01000000001}, ["nnpu [lr=0.01]", "nnpu [lr=0.01000000001]"]),
                ({"prior": 0.4}, ["nnpu [prior=true]", "nnpu [prior=0.4]"]),
                ({"method": "vpu", "prior": 0.3}, ["nnpu [prior=true]", "vpu [prior=0.3]"]),
                ({"backbone__key": "cnn"}, ["nnpu [backbone=mlp]", "nnpu [backbone=cnn]"]),
                ({"prior_scorer": "backbone"}, ["nnpu", "nnpu [prior_scorer=backbone]"]),
                ({"method__calibrate": "off"}, ["nnpu", "nnpu [calibrate=off]"]),
                ({"method__preset": "quick"}, ["nnpu", "nnpu [preset=quick]"]),
                ({"method__preset": "quick", "method__config__lr": 0.1}, ["nnpu", "nnpu [preset=quick]"]),
            )
        ),
    ],
)
def test_runs_on_another_problem_are_another_column_and_another_setup_is_another_row(
    other: dict[str, Any], rows: list[str], columns: list[str]
) -> None:
    table = Results([run(0.6, seed=1), run(0.7, seed=2, **other)]).table()
    assert (list(table.rows), list(table.columns)) == (rows, columns)
    assert [table.cells[row, column].mean for row in rows for column in columns] == [0.6, 0.7]
    assert "c=" not in str(table).splitlines()[0]  # it is said of every column where it differs


def test_a_preset_may_mean_other_values_on_every_data_set() -> None:
    rates = {("digits", "quick"): 1, ("digits", "full"): 2, ("toy", "quick"): 3, ("toy", "full"): 4}
    runs = [
        run(0.5, data=data, seed=seed, method__preset=preset, method__config__lr=lr)
        for seed in (1, 2)
        for (data, preset), lr in rates.items()
    ]
    table = Results(runs).table()
    assert table.rows == ("nnpu [preset=quick]", "nnpu [preset=full]")
    assert all(len(cell.values) == 2 for cell in table.cells.values())


def test_a_seed_that_is_there_twice_is_refused() -> None:
    one = run(0.6)
    again = RunResult(one.result, Path("elsewhere") / one.run_id)
    with pytest.raises(InvalidRequest, match=r"nnpu on digits: seed 2 is there twice \(results/.* and elsewhere/"):
        Results([one, again]).table()


def test_results_named_by_several_criteria_are_shown_by_the_one_of_most_runs() -> None:
    results = Results([run(0.6), run(0.8, seed=3), run(0.7, seed=4, selected="last")])
    table = results.table()
    assert table.criterion == "pa"
    assert table.cells["nnpu", "digits"].mean == pytest.approx(0.7)
    assert table.notes[0] == ("results are named by several criteria, pa (2 runs), last (1 run); all are shown by pa")
    assert results.table(criterion="pa").notes == ()


def test_where_no_criterion_was_tracked_by_every_run_one_must_be_named() -> None:
    results = Results([chosen_by(run(0.6), "pa"), chosen_by(run(0.8, seed=3), "last")])
    with pytest.raises(
        InvalidRequest,
        match=r"several criteria, pa \(1 run\), last \(1 run\), and no one of them was tracked by every run; name",
    ):
        results.table()


def test_runs_that_read_other_arrays_are_refused() -> None:
    other = run(0.7, seed=3)
    other = altered(other, data=other.result.data.model_copy(update={"digest": "d" * 16}))
    with pytest.raises(InvalidRequest, match=r"digits: runs .* read different arrays"):
        Results([run(0.6), other]).table()


def test_runs_of_different_code_are_said_to_be() -> None:
    newer = Code.of({**made_code().parts, "engine": "revision 1"}, {})
    table = Results([run(0.6), run(0.7, seed=3, code=newer)]).table()
    assert table.notes == ("the runs are of different code: engine (2 versions); run the older ones again",)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("call", "given", "message"),
    [
        ("where", {"metod": "nnpu"}, "unknown column 'metod'; did you mean 'method'?"),
        ("to_frame", {"measures": "tests"}, "unknown choice of measures 'tests'; did you mean 'test'?"),
        ("to_frame", {"criteria": "f1"}, "unknown criterion 'f1'; known: last, pa"),
        ("to_frame", {"config": ["lrr"]}, "unknown hyper-parameter 'lrr'; did you mean 'lr'?"),
        ("table", {"metric": "acuracy"}, "unknown measure on test rows 'acuracy'; did you mean 'accuracy'?"),
        ("table", {"metric": "xyz"}, "unknown measure on test rows 'xyz'; known: accuracy, auc"),
        ("table", {"criterion": "macro"}, "unknown criterion 'macro'; known: last, pa"),
        ("significance", {"reference": "vpuu"}, "unknown reference 'vpuu'; did you mean 'vpu'?"),
        ("significance", {"metric": "auc"}, "metric auc is not installed"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(call: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(message)):
        getattr(Results([run(), run(method="vpu")]), call)(**given)


def test_one_method_is_not_tested() -> None:
    with pytest.raises(InvalidRequest, match="two methods are needed for a test, there is nnpu"):
        Results([run()]).significance()


def test_no_runs_make_no_table() -> None:
    with pytest.raises(InvalidRequest, match=r"there are no finished runs to compare$"):
        Results().table()
    with pytest.raises(InvalidRequest, match="compare: 1 failed, the first is nnpu on digits, seed 2: non-finite"):
        Results([failed()]).table()


# ---------------------------------------------------------------- significance

#: Ten accuracies, and as many differences of mean 0 and deviation 0.01.
BASE = np.linspace(0.5, 0.6, 10)
NOISE = 0.01 * (np.arange(10) - 4.5) / np.std(np.arange(10), ddof=1)


def test_differences_to_the_reference_are_tested_on_every_data_set() -> None:
    found = compared(nnpu=BASE, vpu=BASE + 0.1 + NOISE, upu=BASE - 0.1 + NOISE, cvir=BASE + NOISE).significance()
    assert found.reference == "nnpu"
    assert [(pair.method, pair.decision, pair.n) for pair in found.pairs] == [
        ("vpu", "better", 10),
        ("upu", "worse", 10),
        ("cvir", "not decided", 10),
    ]
    assert [pair.adjusted for pair in found.pairs] == holm([pair.p for pair in found.pairs])
    assert found.average.why == "there are values of all methods on 1 data set, and 2 data sets are needed"
    assert found.advice == ""
    assert [line.split()[1] for line in str(found).splitlines()[2:5]] == ["vpu", "upu", "cvir"]
    assert '<td class="n">better</td>' in found._repr_html_()
    assert found.to_frame().decision.tolist() == ["better", "worse", "not decided"]


def test_a_difference_is_decided_by_the_adjusted_p() -> None:
    """Of four methods, one has p = .02, which Holm makes .08."""
    shifts = {"vpu": 2.82, "upu": 0.5, "cvir": 0.4, "glws": 0.3}  # t
    others = {method: BASE + NOISE + t * 0.01 / math.sqrt(10) for method, t in shifts.items()}
    pair = compared(nnpu=BASE, **others).significance().pairs[0]
    assert (pair.method, round(pair.p, 2), round(pair.adjusted, 2)) == ("vpu", 0.02, 0.08)
    assert pair.decision == "not decided"


def test_where_nothing_is_decided_more_seeds_are_advised() -> None:
    found = compared(nnpu=[0.5, 0.6, 0.7], vpu=[0.6, 0.5, 0.9]).significance()
    advice = "nothing is decided over 3 seeds: more seeds (such as 10) tell smaller differences from chance"
    assert found.advice == str(found).splitlines()[3] == advice
    assert advice in found._repr_html_()


def test_only_seeds_that_both_ran_are_pairs() -> None:
    results = Results([*by_seed("nnpu", [0.5, 0.6, 0.7]), *[run(0.9, "vpu", seed=s) for s in (1, 2, 3)]])
    (pair,) = results.significance().pairs
    assert pair.n == 2
    assert pair.difference == pytest.approx(0.9 - 0.65)


def test_one_pair_is_too_few() -> None:
    found = Results([run(0.5), run(0.9, "vpu")]).significance()
    (pair,) = found.pairs
    assert (pair.n, pair.decision) == (1, "too few pairs")
    assert math.isnan(pair.p)
    assert math.isnan(pair.adjusted)
    assert "too few pairs" in str(found)


def test_a_data_set_where_a_method_has_no_value_is_left_out_of_the_ranks_and_said_to_be() -> None:
    found = (compared(("one", "two"), a=[0.5], b=[0.6], c=[0.7]) + compared(["three"], a=[0.5], c=[0.7])).significance()
    assert found.average.friedman is not None
    assert found.average.friedman.data == ("one", "two")
    assert "left out, so that every cell has values: three (33 % of its cells lack values)" in str(found)


# ---------------------------------------------------------------- the tests themselves, against reference vectors


def test_holm_leaves_out_what_is_missing() -> None:
    assert holm([0.01, math.nan, 0.03])[::2] == [0.02, 0.03]
    assert math.isnan(holm([0.01, math.nan, 0.03])[1])
    assert holm([]) == []


def test_differences_that_are_all_alike_give_no_nan() -> None:
    assert paired_t([0.5, 0.6], [0.6, 0.7]) == (-math.inf, 0.0)
    with pytest.raises(ValueError, match="2 pairs at least, given 1"):
        paired_t([0.5], [0.4])


def test_methods_that_are_all_alike_are_not_told_apart() -> None:
    found = friedman({m: {"one": 0.5, "two": 0.6} for m in "abc"})
    assert (found.average_ranks, found.chi2, found.p) == ((2.0, 2.0, 2.0), 0.0, 1.0)


def test_means_that_are_equal_but_for_the_last_bit_share_a_rank() -> None:
    """So many decisions of 114 are right: the sums over seeds are equal, the means of shares are not."""
    counts = {"nnpu": (94, 103, 107), "vpu": (97, 100, 107), "upu": (90, 91, 92)}
    shares = {method: [count / 114 for count in found] for method, found in counts.items()}
    assert sum(shares["nnpu"]) / 3 != sum(shares["vpu"]) / 3
    results = compared("abc", **shares)
    ranks = results.significance("accuracy").average.friedman
    assert ranks is not None
    assert dict(zip(ranks.methods, ranks.average_ranks, strict=True)) == {"nnpu": 1.5, "vpu": 1.5, "upu": 3.0}
    assert best_of(results.table("accuracy")) == ["nnpu", "vpu"]


@pytest.mark.reference
def test_paired_tests_agree_with_the_reference_vectors() -> None:
    """The reference is column 0."""
    arrays = reference_arrays("measures")
    scores = arrays["sig_scores"]
    found = [paired_t(scores[:, k], scores[:, 0]) for k in range(1, scores.shape[1])]
    np.testing.assert_allclose([t for t, _ in found], arrays["sig_t"], rtol=1e-10)
    np.testing.assert_allclose([p for _, p in found], arrays["sig_p"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(holm([p for _, p in found]), arrays["sig_holm"], rtol=0, atol=1e-10)


@pytest.mark.reference
@pytest.mark.parametrize("case", ["h1", "h2", "h3", "h4", "h5", "h6"])
def test_holm_agrees_with_the_reference_vectors(case: str) -> None:
    arrays = reference_arrays("measures")
    found = holm(arrays[f"holm_{case}_p"].tolist())
    np.testing.assert_allclose(found, arrays[f"holm_{case}_adj"], rtol=0, atol=1e-10)


@pytest.mark.reference
def test_ranks_agree_with_the_reference_vectors() -> None:
    """``fried_out``: plain chi2 and its p, tie-corrected chi2 and its p; higher is better."""
    arrays = reference_arrays("measures")
    found = friedman(
        {str(k): dict(zip("abcdefghijkl", row, strict=True)) for k, row in enumerate(arrays["fried_scores"].T)}
    )
    np.testing.assert_allclose(found.average_ranks, arrays["fried_avg_rank"], rtol=0, atol=1e-10)
    np.testing.assert_allclose([found.chi2, found.p], arrays["fried_out"][2:4], rtol=1e-10)
    assert found.critical_difference == pytest.approx(arrays["nemenyi_cd_example"][0], abs=1e-6)


# ---------------------------------------------------------------- loading


def stored(folder: Path, *runs: RunResult) -> None:
    made_studies.stored(folder, [one.result for one in runs])


def test_records_are_loaded_with_their_folders(tmp_path: Path) -> None:
    stored(tmp_path, *by_seed("nnpu", [0.5, 0.6]))
    results = load_results(tmp_path)
    assert sorted(r.result.spec.seed for r in results) == [0, 1]
    assert all(r.folder == tmp_path / r.run_id and r.reused for r in results)
    assert results.failures == ()
    assert load_results(str(tmp_path)).methods == ("nnpu",)


def test_a_run_that_failed_is_missing_where_another_seed_has_a_result(tmp_path: Path) -> None:
    stored(tmp_path, *by_seed("nnpu", [0.5, 0.6]))
    for seed in (1, 7):  # the first was carried out since
        one = failed(seed=seed)
        RecordStore(tmp_path).write_failure(made_failure(one.run_id, spec=one.spec))
    results = load_results(tmp_path)
    assert [(one.name, one.spec.seed) for one in results.failures] == [("nnpu", 7)]
    assert "55.00 ± 7.07 (2 of 3)" in str(results.table("accuracy"))
    RecordStore(tmp_path).write_failure(made_failure())
    with pytest.warns(PubenchWarning, match=r"left out: 1 failed run of settings .*: tiny on toy \(non-finite\)"):
        assert len(load_results(tmp_path).failures) == 1


def test_a_copy_of_a_record_beside_it_is_left_out_with_a_warning(tmp_path: Path) -> None:
    stored(tmp_path, *by_seed("nnpu", [0.5, 0.6]))
    record = next(tmp_path.glob("*/result.json")).parent
    shutil.copytree(record, tmp_path / "before the change")
    with pytest.warns(PubenchWarning, match=f"left out: .*before the change is a copy of the record {record.name}"):
        assert len(load_results(tmp_path)) == 2
    shutil.rmtree(record)  # a record under another name is still one
    assert len(load_results(tmp_path)) == 2


def test_a_record_that_cannot_be_read_is_left_out_with_a_warning(tmp_path: Path) -> None:
    stored(tmp_path, *by_seed("nnpu", [0.5, 0.6, 0.7]))
    damaged, other = sorted(tmp_path.glob("*/result.json"))[:2]
    damaged.write_text("{")
    other.write_text('{"run_id": "a", "record_version": 1}')
    with pytest.warns(PubenchWarning) as heard:
        assert len(load_results(tmp_path)) == 1
    assert [str(w.message)[:9] for w in heard] == ["left out:"] * 2
    assert any("format 1" in str(w.message) for w in heard)
    assert {w.filename for w in heard} == {__file__}


def test_what_is_no_folder_of_records_is_refused(tmp_path: Path) -> None:
    assert len(load_results(tmp_path)) == 0  # it may have none yet
    one = run()
    stored(tmp_path, one)
    for place, said in (
        ("nowhere", r"folder: .*nowhere is not there; expected the folder of records"),
        (f"{one.run_id}/result.json", r"result.json is a file; expected the folder of records"),
        (one.run_id, "is one record; expected the folder that holds it"),
    ):
        with pytest.raises(InvalidRequest, match=said):
            load_results(tmp_path / place)
