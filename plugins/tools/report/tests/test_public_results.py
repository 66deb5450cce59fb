"""Finished runs in Python: filtered, as a frame, as a table, and what may be averaged or tested."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from made_results import made_code, made_failure, made_result, made_spec
from pubench_report.grouping import FailedRun
from pubench_report.significance import Friedman, critical_difference, friedman, holm, paired_t, wilcoxon
from pubench_testkit.testing import reference_arrays

from pubench import InvalidRequest, PubenchWarning, Results, load_results
from pubench.running import RunResult
from pubench_core.plugins.info import MetricInfo
from pubench_core.records.files import result_text
from pubench_core.records.store import RecordStore
from pubench_core.results import Code, CriterionResult, Measure, PriorFacts
from pubench_core.specs import BackboneSpec, RunSpec
from pubench_core.specs.fields import short_hash

METRICS = [
    MetricInfo(key="accuracy", name="accuracy", summary="-", load="m:f", needs=frozenset({"truth"}), headline=True),
    MetricInfo(key="loss", name="loss", summary="-", load="m:f", needs=frozenset({"truth"}), higher_is_better=False),
]


@pytest.fixture(autouse=True)
def _two_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the metrics of these runs, accuracy (higher is better) and loss (lower is) are installed, auc is not."""
    monkeypatch.setattr("pubench_report.cells.registry", lambda: SimpleNamespace(infos=lambda kind: METRICS))


def spec(method: str = "nnpu", data: str = "digits", seed: int = 2, **changed: Any) -> RunSpec:
    """A spec; ``changed`` by dotted path with ``__`` for the dots, a hyper-parameter as ``config__lr``."""
    made = made_spec()
    config = {name.removeprefix("config__"): value for name, value in changed.items() if name.startswith("config__")}
    sections: dict[str, dict[str, Any]] = {
        "method": {"key": method, "config": {**made.method.config, **config}},
        "data": {"key": data},
    }
    plain: dict[str, Any] = {"seed": seed}
    for path, value in changed.items():
        section, _, field = path.partition("__")
        if field and section != "config":
            sections.setdefault(section, {})[field] = value
        elif not field:
            plain[path] = value
    updates = {name: getattr(made, name).model_copy(update=values) for name, values in sections.items()}
    return made.model_copy(update={**updates, **plain})


def run(
    accuracy: float | None = 0.5,
    method: str = "nnpu",
    data: str = "digits",
    seed: int = 2,
    *,
    measures: Mapping[str, Any] | None = None,
    **changed: Any,
) -> RunResult:
    """A finished run whose criterion ``last`` was as good on accuracy as half of what ``pa`` chose."""
    of_result = {name: changed.pop(name) for name in ("oracle", "selected", "code", "warnings") if name in changed}
    found = spec(method, data, seed, **changed)
    number = Measure(undefined="no positive row") if accuracy is None else Measure(value=accuracy)
    half = Measure(undefined="no positive row") if accuracy is None else Measure(value=accuracy / 2)
    criteria = {
        "pa": CriterionResult(
            oracle=False,
            epoch=2,
            value=1.25,
            measures={
                "test": {"auc": Measure(value=0.75), "accuracy": number, **(measures or {})},
                "validation": {"pa": Measure(value=1.25)},
            },
        ),
        "last": CriterionResult(oracle=False, epoch=3, measures={"test": {"accuracy": half}}),
    }
    run_id = short_hash(found.model_dump(mode="json"))
    base = {"spec": found, "criteria": criteria, "warnings": ()}
    return RunResult(made_result(run_id, **{**base, **of_result}), Path("results") / run_id)


def without(finished: RunResult, criterion: str) -> RunResult:
    """The run as if it had not tracked a criterion."""
    kept = {name: found for name, found in finished.result.criteria.items() if name != criterion}
    return RunResult(finished.result.model_copy(update={"criteria": kept}), finished.folder)


def failed(method: str = "nnpu", data: str = "digits", seed: int = 2) -> FailedRun:
    found = spec(method, data, seed)
    return FailedRun(method, short_hash(found.model_dump(mode="json")), found, "non-finite", "loss is nan")


def by_seed(method: str, values: Iterable[float | None], data: str = "digits", **more: Any) -> list[RunResult]:
    """One run per value; the seeds are 0, 1, 2 and so on."""
    return [run(value, method, data, seed, **more) for seed, value in enumerate(values)]


# ---------------------------------------------------------------- a sequence


def test_results_are_a_sequence_of_runs() -> None:
    runs = by_seed("nnpu", [0.5, 0.6, 0.7])
    results = Results(runs)
    assert len(results) == 3
    assert list(results) == runs
    assert results[1] is runs[1]
    assert results[-1] is runs[2]
    assert isinstance(results[:2], Results)
    assert list(results[:2]) == runs[:2]
    assert runs[0] in results


def test_what_is_there_is_listed_in_order_of_appearance() -> None:
    results = Results([run(method="vpu", data="digits"), run(method="nnpu", data="toy"), failed("upu")])
    assert results.methods == ("vpu", "nnpu", "upu")
    assert results.data == ("digits", "toy")
    assert results.criteria == ("pa", "last")
    assert results.metrics() == ("accuracy", "auc")
    assert results.metrics("validation") == ("pa",)


def test_results_say_what_they_are() -> None:
    assert repr(Results()) == "Results: no runs"
    lines = repr(Results([*by_seed("nnpu", [0.5, 0.5]), failed("upu", seed=7)])).splitlines()
    assert lines == [
        "Results: 2 runs of 2 methods (nnpu, upu) on 1 data set (digits), seeds 0, 1, 7",
        "failed: upu on digits, seed 7: non-finite: loss is nan",
    ]


def test_two_results_together_have_every_run_once() -> None:
    one, other = run(seed=1), run(seed=2)
    assert list(Results([one]) + Results([one, other])) == [one, other]
    assert len(Results([one], ["a"]) + Results([one], ["b"])) == 2


def test_a_failure_goes_where_the_other_results_have_the_run_finished() -> None:
    assert (Results([failed(seed=2)]) + Results([run(seed=2)])).failures == ()
    assert len((Results([failed(seed=2)]) + Results([failed(seed=2)])).failures) == 1
    assert len((Results([failed(seed=2)]) + Results([run(seed=3)])).failures) == 1


# ---------------------------------------------------------------- where


def test_where_keeps_the_runs_with_these_values() -> None:
    results = Results([*by_seed("nnpu", [0.5, 0.5, 0.5]), *by_seed("vpu", [0.5, 0.5, 0.5], oracle=True)])
    assert [r.result.spec.seed for r in results.where(method="vpu", seed=[0, 2])] == [0, 2]
    assert [r.result.spec.seed for r in results.where(method="vpu", seed=range(1, 5))] == [1, 2]
    assert results.where(oracle=False).methods == ("nnpu",)
    assert len(results.where()) == 6
    assert len(results.where(method="upu")) == 0


def test_where_knows_hyper_parameters_and_values_that_are_not_there() -> None:
    results = Results([run(config__lr=0.1), run(config__lr=0.2, method__preset="quick")])
    assert [r.result.spec.method.config["lr"] for r in results.where(**{"config.lr": 0.2})] == [0.2]
    assert [r.result.spec.method.config["lr"] for r in results.where(preset=None)] == [0.1]


def test_where_keeps_failures_that_fit() -> None:
    results = Results([failed("nnpu", seed=2), failed("vpu", seed=2), run(method="vpu", seed=3)])
    assert [f.name for f in results.where(method="vpu").failures] == ["vpu"]
    assert results.where(epochs=3).failures == ()


def test_where_refuses_a_column_that_there_is_none_of() -> None:
    with pytest.raises(InvalidRequest, match=r"unknown column 'metod'; did you mean 'method'\?"):
        Results([run()]).where(metod="nnpu")


# ---------------------------------------------------------------- a frame


def test_a_frame_has_one_row_per_run_in_order() -> None:
    prior = PriorFacts(given=0.3, true=0.4)
    told = run(0.75, "vpu", seed=3, prior="0.3", mechanism__c=0.2, method__preset="quick", warnings=("odd",))
    told = RunResult(
        told.result.model_copy(update={"data": told.result.data.model_copy(update={"prior": prior})}), told.folder
    )
    frame = Results([run(0.5), told], ["nnpu", "vpu, prior .3"]).to_frame()
    assert len(frame) == 2
    last = frame.iloc[1].to_dict()
    assert last["run_id"] == told.run_id
    expected = {
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
    assert {name: value for name, value in last.items() if name != "run_id"} == expected


def test_measures_are_columns_of_the_parts_that_are_asked_for() -> None:
    results = Results([run(0.5)])

    def measured(parts: Any) -> list[str]:
        return [c for c in results.to_frame(parts).columns if c.startswith(("test_", "validation_"))]

    assert measured("test") == ["test_accuracy", "test_auc"]
    assert measured("validation") == ["validation_pa"]
    assert measured("all") == ["test_accuracy", "test_auc", "validation_pa"]
    assert measured("none") == []
    with pytest.raises(InvalidRequest, match=r"unknown choice of measures 'tests'; did you mean 'test'\?"):
        measured("tests")


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
    with pytest.raises(InvalidRequest, match="unknown criterion 'f1'; known: last, pa"):
        results.to_frame(criteria="f1")


def test_hyper_parameters_are_columns_on_request() -> None:
    results = Results([run(config__lr=0.1), run(seed=3, config__trees=5)])
    assert not [c for c in results.to_frame().columns if c.startswith("config.")]
    frame = results.to_frame(config=True)
    assert frame["config.lr"].tolist() == [0.1, 0.01]
    assert math.isnan(frame["config.trees"][0])
    assert frame["config.trees"][1] == 5
    assert [c for c in results.to_frame(config=["trees"]).columns if c.startswith("config.")] == ["config.trees"]
    with pytest.raises(InvalidRequest, match=r"unknown hyper-parameter 'lrr'; did you mean 'lr'\?"):
        results.to_frame(config=["lrr"])


def test_a_frame_of_no_runs_has_the_columns() -> None:
    frame = Results().to_frame()
    assert len(frame) == 0
    assert {"run_id", "method", "c"} <= set(frame.columns)


# ---------------------------------------------------------------- a table


def test_a_cell_is_mean_and_sample_standard_deviation_over_seeds() -> None:
    table = Results(by_seed("nnpu", [0.6, 0.7, 0.8])).table()
    cell = table.cells["nnpu", "digits"]
    assert cell.mean == pytest.approx(0.7)
    assert cell.std == pytest.approx(0.1)
    assert cell.seeds == 3
    assert str(table).splitlines() == [
        "accuracy (test, percent), mean ± std over seeds, selected by pa; "
        "scheme=case-control, mechanism=scar, c=0.1, validation=0.2",
        "method             digits",
        "nnpu    70.00 ± 10.00 (3)",
    ]


def test_one_seed_has_no_standard_deviation() -> None:
    assert "70.00 (1)" in str(Results([run(0.7)]).table())


def test_the_best_mean_of_a_column_is_marked() -> None:
    results = Results([*by_seed("nnpu", [0.6, 0.7]), *by_seed("vpu", [0.7, 0.8]), *by_seed("upu", [0.7, 0.8])])
    table = results.table()
    assert [row for row in table.rows if table.cells[row, "digits"].best] == ["vpu", "upu"]
    assert "75.00 ± 7.07 (2)*" in str(table)
    assert "65.00 ± 7.07 (2)\n" in str(table)
    assert '<td class="r"><b>75.00 ± 7.07 (2)</b></td>' in table._repr_html_()
    assert "* best of its column" in str(table).splitlines()


def test_means_that_are_printed_alike_are_marked_alike() -> None:
    """The mean of .8003 and .8004 is a bit below or above the half of its last digit."""
    table = Results([*by_seed("nnpu", [0.8003, 0.8004]), *by_seed("vpu", [0.8003, 0.8003])]).table()
    assert [str(table).count(text) for text in ("80.03 ± 0.01 (2)*", "80.03 ± 0.00 (2)*")] == [1, 1]


def test_one_seed_has_no_best() -> None:
    table = Results([run(0.6), run(0.5, "vpu")]).table()
    assert not any(cell.best for cell in table.cells.values())


def test_lower_is_better_where_the_metric_says_so() -> None:
    values = {"nnpu": 0.2, "vpu": 0.3}
    results = [run(method=m, seed=s, measures={"loss": Measure(value=v)}) for m, v in values.items() for s in (2, 25)]
    table = Results(results).table("loss")
    assert [row for row in table.rows if table.cells[row, "digits"].best] == ["nnpu"]
    assert "0.2000 ± 0.0000 (2)*" in str(table)  # no headline metric, so not in percent


def test_nothing_is_marked_where_the_direction_is_not_known() -> None:
    table = Results([run(), run(method="vpu")]).table("auc")
    assert not any(cell.best for cell in table.cells.values())
    assert any("metric auc is not installed" in note for note in table.notes)


def test_an_oracle_is_marked_and_does_not_compete() -> None:
    oracle = [run(0.9, "pn", seed=seed, oracle=True) for seed in (2, 25)]
    results = Results([*by_seed("nnpu", [0.6, 0.6]), *by_seed("vpu", [0.5, 0.5]), *oracle])
    table = results.table()
    assert [row for row in table.rows if table.cells[row, "digits"].best] == ["nnpu"]
    assert "pn (oracle)" in str(table)
    assert "* best of its column, oracle methods apart" in str(table)


def test_a_baseline_is_marked_and_does_not_compete() -> None:
    results = Results([r for m, v in (("nnpu", 0.6), ("vpu", 0.5), ("naive", 0.9)) for r in by_seed(m, [v, v])])
    table = results.table()
    assert [row for row in table.rows if table.cells[row, "digits"].best] == ["nnpu"]
    assert "naive (baseline)" in str(table)
    assert "* best of its column, baselines apart" in str(table)
    assert "naive" not in {pair.method for pair in results.significance().pairs}
    assert {pair.method for pair in results.significance(reference="naive").pairs} == {"nnpu", "vpu"}
    alone = results.where(method=["nnpu", "naive"]).significance()
    assert [(pair.method, pair.reference) for pair in alone.pairs] == [("nnpu", "naive")]


def with_an_oracle() -> Results:
    values = {"nnpu": [0.6, 0.7, 0.65], "vpu": [0.7, 0.76, 0.8], "upu": [0.5, 0.55, 0.45], "pn": [0.9, 0.91, 0.95]}
    runs = [
        run(value, method, data, seed=seed, oracle=method == "pn")
        for data in ("digits", "letter")
        for method in ("pn", "nnpu", "vpu", "upu")
        for seed, value in enumerate(values[method])
    ]
    return Results(runs)


def test_an_oracle_is_neither_ranked_nor_in_the_family_of_tests() -> None:
    results = with_an_oracle()
    found, alone = results.significance(), results.where(oracle=False).significance()
    assert found.reference == "nnpu"  # the first row is an oracle
    assert found.pairs == alone.pairs
    assert found.ranks == alone.ranks
    assert found.ranks is not None
    assert found.ranks.methods == ("nnpu", "vpu", "upu")
    assert "oracle methods are not ranked, and tested only as the reference: pn" in found.notes
    assert not any("oracle" in note for note in alone.notes)


def test_an_oracle_can_be_the_reference() -> None:
    found = with_an_oracle().significance(reference="pn")
    assert {pair.method for pair in found.pairs} == {"nnpu", "vpu", "upu"}
    assert found.ranks is not None
    assert "pn" not in found.ranks.methods


def test_a_method_beside_an_oracle_has_no_pairs_and_says_so() -> None:
    found = with_an_oracle().where(method=["pn", "nnpu"]).significance()
    assert not found.pairs
    assert "no pairs to test" in str(found)
    assert found.no_ranks == "1 method is ranked, and 3 are needed"


def test_an_oracle_criterion_is_marked() -> None:
    oracle = run().result.criteria["pa"].model_copy(update={"oracle": True})
    made = run()
    told = RunResult(made.result.model_copy(update={"criteria": {"f1": oracle}, "selected": "f1"}), made.folder)
    assert "selected by f1 (oracle)" in str(Results([told]).table())


def test_nothing_is_marked_where_methods_have_different_seeds() -> None:
    table = Results([*by_seed("nnpu", [0.6, 0.7]), *by_seed("vpu", [0.7])]).table()
    assert not any(cell.best for cell in table.cells.values())
    assert any("have different seeds: nnpu 0,1, vpu 0" in note for note in table.notes)


def test_a_missing_cell_is_a_dash_with_the_runs_there_are() -> None:
    table = Results([run(0.6), run(0.7, "vpu", "toy")]).table()
    assert str(table).splitlines()[2].split() == ["nnpu", "60.00", "(1)", "-", "(0)"]
    assert table.cells["nnpu", "toy"].seeds == 0


def test_a_failed_run_is_counted_and_named() -> None:
    table = Results([failed(seed=5), *by_seed("nnpu", [0.6, 0.7]), failed("vpu", seed=0)]).table()
    assert table.rows == ("nnpu", "vpu")
    assert "65.00 ± 7.07 (2 of 3)" in str(table)
    assert "- (0 of 1)" in str(table)
    assert "note: vpu on digits, seed 0: non-finite: loss is nan" in str(table).splitlines()
    assert "<p>note: vpu on digits, seed 0: non-finite: loss is nan</p>" in table._repr_html_()


def test_a_seed_without_a_value_is_counted_and_gives_its_reason() -> None:
    table = Results(by_seed("nnpu", [0.6, None, None])).table()
    assert "60.00 (1 of 3)" in str(table)
    assert "nnpu on digits, seed 1, 2: no accuracy: no positive row" in table.notes


def test_runs_with_warnings_are_named() -> None:
    results = Results([run(0.5, warnings=("odd",)), run(0.5, seed=3)])
    assert results.table().notes == ("1 of 2 runs have warnings: nnpu on digits (1); to_frame().warnings has them",)


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
    found = run()
    pa = found.result.criteria["pa"]
    criteria = {"pa": pa.model_copy(update={"measures": {"validation": pa.measures["validation"]}})}
    results = Results([RunResult(found.result.model_copy(update={"criteria": criteria}), found.folder)])
    with pytest.raises(InvalidRequest, match=r"known; table\('pa', part='validation'\) shows what needs none"):
        results.table()
    assert results.table("pa", part="validation").cells["nnpu", "digits"].mean == 1.25


# ---------------------------------------------------------------- what is never averaged


@pytest.mark.parametrize(
    ("one", "other", "columns"),
    [
        ({"mechanism__c": 0.1}, {"mechanism__c": 0.2}, ["digits [c=0.1]", "digits [c=0.2]"]),
        (
            {},
            {"data__scheme": "single-training-set"},
            ["digits [scheme=case-control]", "digits [scheme=single-training-set]"],
        ),
        ({}, {"data__positive": (0, 2)}, ["digits [positive=0]", "digits [positive=0,2]"]),
        ({}, {"mechanism__key": "s2"}, ["digits [mechanism=scar]", "digits [mechanism=s2]"]),
        ({}, {"data__test_fraction": 0.3}, ["digits [test_fraction=0.2]", "digits [test_fraction=0.3]"]),
    ],
)
def test_runs_on_another_problem_are_another_column(
    one: dict[str, Any], other: dict[str, Any], columns: list[str]
) -> None:
    table = Results([run(0.6, seed=1, **one), run(0.7, seed=2, **other)]).table()
    assert list(table.columns) == columns
    assert table.rows == ("nnpu",)
    assert [table.cells["nnpu", column].mean for column in columns] == [0.6, 0.7]


def test_c_is_said_of_every_column_where_data_sets_have_different_ones() -> None:
    table = Results([run(data="digits"), run(data="toy", mechanism__c=0.5)]).table()
    assert table.columns == ("digits [c=0.1]", "toy [c=0.5]")
    assert "c=" not in str(table).splitlines()[0]


def test_what_is_special_to_a_data_set_does_not_tell_columns_apart() -> None:
    table = Results(
        [run(data="digits"), run(data="toy", data__positive=(3,), backbone=BackboneSpec(key="cnn"))]
    ).table()
    assert table.columns == ("digits", "toy")
    assert table.rows == ("nnpu",)


@pytest.mark.parametrize(
    ("other", "rows"),
    [
        ({"config__lr": 0.1}, ["nnpu [lr=0.01]", "nnpu [lr=0.1]"]),
        ({"config__lr": 0.00013293405468165875}, ["nnpu [lr=0.01]", "nnpu [lr=0.0001329]"]),
        ({"config__lr": 0.01000000001}, ["nnpu [lr=0.01]", "nnpu [lr=0.01000000001]"]),
        ({"prior": 0.4}, ["nnpu [prior=true]", "nnpu [prior=0.4]"]),
        ({"backbone__key": "cnn"}, ["nnpu [backbone=mlp]", "nnpu [backbone=cnn]"]),
        ({"prior_scorer": "backbone"}, ["nnpu", "nnpu [prior_scorer=backbone]"]),
        ({"method__calibrate": "off"}, ["nnpu", "nnpu [calibrate=off]"]),
        ({"method__preset": "quick"}, ["nnpu", "nnpu [preset=quick]"]),
        ({"method__preset": "quick", "config__lr": 0.1}, ["nnpu", "nnpu [preset=quick]"]),
    ],
)
def test_another_setup_of_a_method_is_another_row(other: dict[str, Any], rows: list[str]) -> None:
    table = Results([run(0.6, seed=1), run(0.7, seed=2, **other)]).table()
    assert list(table.rows) == rows
    assert [table.cells[row, "digits"].mean for row in rows] == [0.6, 0.7]


def test_a_preset_may_mean_other_values_on_every_data_set() -> None:
    results = Results(
        [
            run(0.5, data=data, seed=seed, method__preset=preset, config__lr=lr)
            for seed in (1, 2)
            for data, preset, lr in (
                ("digits", "quick", 1),
                ("digits", "full", 2),
                ("toy", "quick", 3),
                ("toy", "full", 4),
            )
        ]
    )
    table = results.table()
    assert table.rows == ("nnpu [preset=quick]", "nnpu [preset=full]")
    assert all(len(cell.values) == 2 for cell in table.cells.values())


def test_where_methods_are_told_different_priors_every_row_says_which() -> None:
    table = Results([run(0.6, prior=0.3), run(0.7, "vpu", prior="true")]).table()
    assert table.rows == ("nnpu [prior=0.3]", "vpu [prior=true]")


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
    results = Results([without(run(0.6), "last"), without(run(0.8, seed=3, selected="last"), "pa")])
    with pytest.raises(
        InvalidRequest,
        match=r"several criteria, pa \(1 run\), last \(1 run\), and no one of them was tracked by every run; name",
    ):
        results.table()


def test_runs_that_read_other_arrays_are_refused() -> None:
    one, other = run(0.6), run(0.7, seed=3)
    changed = other.result.model_copy(update={"data": other.result.data.model_copy(update={"digest": "d" * 16})})
    with pytest.raises(InvalidRequest, match=r"digits: runs .* read different arrays"):
        Results([one, RunResult(changed, other.folder)]).table()


def test_runs_of_different_code_are_said_to_be() -> None:
    newer = Code.of({**made_code().parts, "engine": "revision 1"}, {})
    table = Results([run(0.6), run(0.7, seed=3, code=newer)]).table()
    assert table.notes == ("the runs are of different code: engine (2 versions); run the older ones again",)


# ---------------------------------------------------------------- what is refused


def test_an_unknown_metric_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidRequest, match=r"unknown metric on the test part 'acuracy'; did you mean 'accuracy'\?"):
        Results([run()]).table("acuracy")
    with pytest.raises(InvalidRequest, match="unknown metric on the test part 'xyz'; known: accuracy, auc"):
        Results([run()]).table("xyz")


def test_an_unknown_criterion_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidRequest, match="unknown criterion 'macro'; known: last, pa"):
        Results([run()]).table(criterion="macro")


def test_no_runs_make_no_table() -> None:
    with pytest.raises(InvalidRequest, match=r"there are no finished runs to compare$"):
        Results().table()
    with pytest.raises(InvalidRequest, match="compare: 1 failed, the first is nnpu on digits, seed 2: non-finite"):
        Results([failed()]).table()


def test_a_name_is_needed_for_every_run() -> None:
    with pytest.raises(ValueError, match="zip"):
        Results([run()], ["a", "b"])


# ---------------------------------------------------------------- significance


def test_differences_to_the_reference_are_tested_on_every_data_set() -> None:
    rng = np.random.default_rng(0)
    base = rng.uniform(0.5, 0.6, 10)
    results = Results(
        [
            *by_seed("nnpu", base),
            *by_seed("vpu", base + 0.1 + rng.normal(0, 0.01, 10)),
            *by_seed("upu", base - 0.1 + rng.normal(0, 0.01, 10)),
            *by_seed("cvir", rng.uniform(0.5, 0.6, 10)),
        ]
    )
    found = results.significance()
    assert found.reference == "nnpu"
    assert {pair.method: pair.decision for pair in found.pairs} == {
        "vpu": "better",
        "upu": "worse",
        "cvir": "not decided",
    }
    p = [pair.p for pair in found.pairs]
    assert [pair.adjusted for pair in found.pairs] == holm(p)
    assert {pair.n for pair in found.pairs} == {10}
    assert found.no_ranks == "there are values of all methods on 1 data set, and 2 data sets are needed"
    assert [line.split()[1] for line in str(found).splitlines()[2:5]] == ["vpu", "upu", "cvir"]
    assert '<td class="r">better</td>' in found._repr_html_()
    assert found.to_frame().decision.tolist() == ["better", "worse", "not decided"]


def test_lower_is_better_turns_the_decision_round() -> None:
    def runs(method: str, values: Iterable[float]) -> list[RunResult]:
        return [run(0.5, method, seed=k, measures={"loss": Measure(value=v)}) for k, v in enumerate(values)]

    results = Results([*runs("nnpu", [0.5, 0.6, 0.7]), *runs("vpu", [0.1, 0.21, 0.29])])
    (pair,) = results.significance("loss").pairs
    assert pair.difference < 0
    assert pair.decision == "better"


def test_lower_is_better_turns_the_ranks_round() -> None:
    runs = [
        run(0.5, method, data, measures={"loss": Measure(value=value)})
        for method, value in (("a", 0.1), ("b", 0.2), ("c", 0.3))
        for data in ("digits", "toy")
    ]
    ranks = Results(runs).significance("loss").ranks
    assert ranks is not None
    assert ranks.average_ranks == (1.0, 2.0, 3.0)


def test_a_difference_is_decided_by_the_adjusted_p() -> None:
    """Of four methods, one has p = .02, which Holm makes .08."""
    base, noise = np.linspace(0.5, 0.6, 10), np.arange(10) - 4.5
    noise = 0.01 * noise / noise.std(ddof=1)
    shifts = {"vpu": 2.82, "upu": 0.5, "cvir": 0.4, "glws": 0.3}  # t
    runs = [one for m, t in shifts.items() for one in by_seed(m, base + noise + t * 0.01 / math.sqrt(10))]
    pair = Results([*by_seed("nnpu", base), *runs]).significance().pairs[0]
    assert (pair.method, round(pair.p, 2), round(pair.adjusted, 2)) == ("vpu", 0.02, 0.08)
    assert pair.decision == "not decided"


def test_where_nothing_is_decided_more_seeds_are_advised() -> None:
    both = Results([*by_seed("nnpu", [0.5, 0.6, 0.7]), *by_seed("vpu", [0.6, 0.5, 0.9])])
    advice = "nothing is decided over 3 seeds: more seeds (such as 10) tell smaller differences from chance"
    found = both.significance()
    assert found.advice == advice
    assert str(found).splitlines()[3] == advice
    assert advice in found._repr_html_()
    base, noise = np.linspace(0.5, 0.6, 10), 0.001 * (np.arange(10) - 4.5)
    assert Results([*by_seed("nnpu", base), *by_seed("vpu", base + noise + 0.1)]).significance().advice == ""


def test_the_smallest_p_of_an_exact_test_counts_the_methods_that_are_compared() -> None:
    values = [0.5, 0.6, 0.7, 0.8, 0.9, 0.55]
    methods = {m: [value + k * 0.01 * (s + 1) for s, value in enumerate(values)] for k, m in enumerate("abc")}
    runs = [one for method, found in methods.items() for one in by_seed(method, found)]
    for pair in Results(runs).significance(test="wilcoxon").pairs:
        assert (pair.n, pair.p, pair.smallest_p, pair.decision) == (6, 0.03125, 0.0625, "too few pairs")


def test_two_methods_of_the_same_mean_are_neither_better_nor_worse() -> None:
    """One seed that is far worse outweighs thirteen that are a little better; the ranks say that they differ."""
    base = [0.5] * 14
    other = [0.5 + 1 / 128] * 13 + [0.5 - 13 / 128]
    (pair,) = Results([*by_seed("nnpu", base), *by_seed("vpu", other)]).significance(test="wilcoxon").pairs
    assert pair.difference == 0
    assert pair.adjusted < 0.05
    assert pair.decision == "not decided"


def test_only_seeds_that_both_ran_are_pairs() -> None:
    results = Results([*by_seed("nnpu", [0.5, 0.6, 0.7]), *[run(0.9, "vpu", seed=s) for s in (1, 2, 3)]])
    (pair,) = results.significance().pairs
    assert pair.n == 2
    assert pair.difference == pytest.approx(0.9 - 0.65)


def test_one_pair_is_too_few() -> None:
    (pair,) = Results([run(0.5), run(0.9, "vpu")]).significance().pairs
    assert (pair.n, pair.decision) == (1, "too few pairs")
    assert math.isnan(pair.p)
    assert math.isnan(pair.adjusted)
    assert "too few pairs" in str(Results([run(0.5), run(0.9, "vpu")]).significance())


def test_wilcoxon_says_that_five_seeds_decide_nothing() -> None:
    """The smallest two-sided p of five pairs is 2 / 2^5 = 0.0625."""
    values = [0.5, 0.6, 0.7, 0.8, 0.9, 0.55]
    better = [value + 0.01 * (k + 1) for k, value in enumerate(values)]
    five = Results([*by_seed("nnpu", values[:5]), *by_seed("vpu", better[:5])]).significance(test="wilcoxon")
    assert (five.pairs[0].smallest_p, five.pairs[0].decision) == (0.0625, "too few pairs")
    assert "too few pairs (an exact test has no adjusted p below 0.062)" in str(five)
    six = Results([*by_seed("nnpu", values), *by_seed("vpu", better)]).significance(test="wilcoxon")
    assert (six.pairs[0].p, six.pairs[0].decision) == (0.03125, "better")


def test_three_methods_on_two_data_sets_are_ranked() -> None:
    results = Results(
        [
            run(value + shift, method, data, seed)
            for method, value in (("a", 0.5), ("b", 0.6), ("c", 0.7))
            for data, shift in (("digits", 0.0), ("toy", 0.1))
            for seed in (0, 1)
        ]
    )
    found = results.significance()
    assert found.ranks is not None
    assert found.ranks.average_ranks == (3.0, 2.0, 1.0)
    assert found.ranks.data == ("digits", "toy")
    assert not found.ranks.can_decide
    assert "too few data sets for Nemenyi's test" in str(found)


def test_a_data_set_where_a_method_has_no_value_is_left_out_of_the_ranks_and_said_to_be() -> None:
    cells = [(m, d) for m in "abc" for d in ("one", "two", "three") if (m, d) != ("b", "three")]
    found = Results([run(0.5 + 0.1 * "abc".index(m), m, d) for m, d in cells]).significance()
    assert found.ranks is not None
    assert found.ranks.data == ("one", "two")
    assert "no ranks on three: b has no value there" in found.notes


def test_ranks_are_of_means_over_the_seeds_that_all_ran() -> None:
    runs = [run(0.5, "a", d, 0) for d in ("one", "two")] + [run(0.6, "b", d, 0) for d in ("one", "two")]
    runs += [run(0.7, "c", d, 0) for d in ("one", "two")] + [run(1.0, "a", d, 1) for d in ("one", "two")]
    found = Results(runs).significance()
    assert found.ranks is not None
    assert found.ranks.average_ranks == (3.0, 2.0, 1.0)


def test_what_cannot_be_tested_is_refused() -> None:
    results = Results([run(), run(method="vpu")])
    with pytest.raises(InvalidRequest, match=r"unknown reference 'vpuu'; did you mean 'vpu'\?"):
        results.significance(reference="vpuu")
    with pytest.raises(InvalidRequest, match="unknown test 'sign'; known: t, wilcoxon"):
        results.significance(test="sign")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match=r"alpha must be in \(0, 1\), got 5"):
        results.significance(alpha=5)
    with pytest.raises(InvalidRequest, match="two methods are needed for a test, there is nnpu"):
        results.where(method="nnpu").significance()
    with pytest.raises(InvalidRequest, match="metric auc is not installed"):
        results.significance("auc")


# ---------------------------------------------------------------- the tests themselves, against reference vectors


def test_holm_never_lowers_and_leaves_out_what_is_missing() -> None:
    assert holm([0.01, math.nan, 0.03])[::2] == [0.02, 0.03]
    assert math.isnan(holm([0.01, math.nan, 0.03])[1])
    assert holm([]) == []


def test_differences_that_are_all_alike_give_no_nan() -> None:
    assert paired_t([0.5, 0.6], [0.5, 0.6]) == (0.0, 1.0)
    assert paired_t([0.6, 0.7], [0.5, 0.6]) == (math.inf, 0.0)
    assert paired_t([0.5, 0.6], [0.6, 0.7]) == (-math.inf, 0.0)
    assert wilcoxon([0.5, 0.6], [0.5, 0.6]) == (0.0, 1.0)
    with pytest.raises(ValueError, match="2 pairs at least, given 1"):
        paired_t([0.5], [0.4])


def test_methods_that_are_all_alike_are_not_told_apart() -> None:
    found = friedman({m: {"one": 0.5, "two": 0.6} for m in "abc"})
    assert (found.average_ranks, found.chi2, found.p) == ((2.0, 2.0, 2.0), 0.0, 1.0)
    assert not found.differ("a", "b")


def test_means_that_are_equal_but_for_the_last_bit_share_a_rank() -> None:
    """So many decisions of 114 are right: the sums over seeds are equal, the means of shares are not."""
    counts = {"nnpu": (94, 103, 107), "vpu": (97, 100, 107), "upu": (90, 91, 92)}
    shares = {method: [count / 114 for count in found] for method, found in counts.items()}
    means = [sum(shares[method]) / 3 for method in ("nnpu", "vpu")]
    assert means[0] != means[1]
    runs = [one for method, found in shares.items() for data in ("a", "b", "c") for one in by_seed(method, found, data)]
    ranks = Results(runs).significance("accuracy").ranks
    assert ranks is not None
    assert dict(zip(ranks.methods, ranks.average_ranks, strict=True)) == {"nnpu": 1.5, "vpu": 1.5, "upu": 3.0}
    assert ranks.f < math.inf
    best = Results(runs).table("accuracy").cells
    assert [best[method, "a"].best for method in counts] == [True, True, False]


def test_differences_that_are_equal_but_for_the_last_bit_are_ties() -> None:
    """Wilcoxon's test of counts and of the same counts as shares is one test."""
    first, second = [301, 290, 288, 305, 310, 299, 282], [300, 288, 290, 302, 309, 297, 285]
    shares = [[count / 360 for count in counts] for counts in (first, second)]
    assert len({abs(x - y) for x, y in zip(*shares, strict=True)}) > 3  # three different ones of counts
    assert wilcoxon(*shares) == wilcoxon(first, second)
    above = [x - y for x, y in zip(*shares, strict=True)]  # of equal differences, last bits differ here too
    nothing = [0.0] * len(above)
    assert wilcoxon(above, nothing) == wilcoxon(nothing, above) == wilcoxon(first, second)


def test_settings_of_one_data_set_are_not_ranked_as_several_data_sets() -> None:
    methods = {"nnpu": 0.9, "vpu": 0.8, "upu": 0.7}
    runs = [run(value, method, mechanism__c=c) for method, value in methods.items() for c in (0.1, 0.2, 0.3)]
    found = Results(runs).significance("accuracy")
    assert found.ranks is None
    assert found.no_ranks.startswith("several columns are of one data set (digits)")
    two = [run(value, method, data) for method, value in methods.items() for data in ("digits", "toy")]
    assert Results(two).significance("accuracy").ranks is not None


def test_runs_that_decide_every_row_alike_are_counted_in_their_cell() -> None:
    alike = ("all 360 test rows are decided positive",)
    runs = by_seed("nnpu", [0.5, 0.6])
    chosen = runs[0].result.criteria["pa"].model_copy(update={"warnings": alike})
    result = runs[0].result.model_copy(update={"criteria": {**runs[0].result.criteria, "pa": chosen}})
    assert chosen.decided_alike
    table = Results([RunResult(result, runs[0].folder), runs[1]]).table("accuracy")
    assert table.cells["nnpu", "digits"].alike == 1
    assert "55.00 ± 7.07 (2) !1" in str(table)
    assert "!n: n of its runs decide every row alike" in str(table)
    assert "!" not in str(Results(runs).table("accuracy"))


@pytest.mark.parametrize(("methods", "data"), [(3, 4), (11, 3), (14, 9)])  # the latter two are rounded
def test_methods_in_the_same_order_everywhere_give_an_infinite_f(methods: int, data: int) -> None:
    found = friedman({f"m{k}": {str(d): k + d for d in range(data)} for k in range(methods)})
    assert (found.f, found.f_p) == (math.inf, 0.0)
    assert found.differ("m0", f"m{methods - 1}")


def test_the_critical_difference_is_of_the_level_that_is_asked_for() -> None:
    ranked = {m: {str(d): k + d for d in range(4)} for k, m in enumerate("abc")}
    for alpha in (0.05, 0.1):
        assert friedman(ranked, alpha=alpha).critical_difference == critical_difference(3, 4, alpha)
    assert friedman(ranked, alpha=0.1).critical_difference < friedman(ranked).critical_difference


def test_a_difference_of_zero_makes_wilcoxons_p_that_of_the_normal_distribution() -> None:
    above = [0.0, 1.0, 2.0, 3.0, 4.0, -5.0]
    w, p = wilcoxon(above, [0.0] * 6)
    z = (w - 15 / 2) / math.sqrt(5 * 6 * 11 / 24)
    assert (w, p) == (5.0, pytest.approx(2 * NormalDist().cdf(z)))


@pytest.mark.reference
def test_paired_tests_agree_with_the_reference_vectors() -> None:
    """The reference is column 0; ``sig_wilcoxon`` has W, the normal p and the exact p (NaN where there are ties)."""
    arrays = reference_arrays("measures")
    scores = arrays["sig_scores"]
    found = [paired_t(scores[:, k], scores[:, 0]) for k in range(1, scores.shape[1])]
    np.testing.assert_allclose([p for _, p in found], arrays["sig_p"], rtol=0, atol=1e-10)
    assert [math.isinf(t) for t, _ in found] == np.isinf(arrays["sig_t"]).tolist()
    finite = np.isfinite(arrays["sig_t"])
    np.testing.assert_allclose(np.array([t for t, _ in found])[finite], arrays["sig_t"][finite], rtol=1e-10)
    np.testing.assert_allclose(holm([p for _, p in found]), arrays["sig_holm"], rtol=0, atol=1e-10)
    for k, (w, normal, exact) in enumerate(arrays["sig_wilcoxon"], start=1):
        statistic, p = wilcoxon(scores[:, k], scores[:, 0])
        assert statistic == w
        assert p == pytest.approx(normal if math.isnan(exact) else exact, abs=1e-10)


@pytest.mark.reference
@pytest.mark.parametrize("case", ["h1", "h2", "h3", "h4", "h5", "h6"])
def test_holm_agrees_with_the_reference_vectors(case: str) -> None:
    arrays = reference_arrays("measures")
    found = holm(arrays[f"holm_{case}_p"].tolist())
    np.testing.assert_allclose(found, arrays[f"holm_{case}_adj"], rtol=0, atol=1e-10)


@pytest.mark.reference
def test_ranks_agree_with_the_reference_vectors() -> None:
    """``fried_out``: plain chi2 and its p, tie-corrected chi2 and its p, F and its p; higher is better."""
    arrays = reference_arrays("measures")
    scores = arrays["fried_scores"]
    found = friedman(
        {str(k): {str(d): float(scores[d, k]) for d in range(scores.shape[0])} for k in range(scores.shape[1])}
    )
    np.testing.assert_allclose(found.average_ranks, arrays["fried_avg_rank"], rtol=0, atol=1e-10)
    np.testing.assert_allclose([found.chi2, found.p, found.f, found.f_p], arrays["fried_out"][2:], rtol=1e-10)
    assert isinstance(found, Friedman)
    assert found.critical_difference == pytest.approx(arrays["nemenyi_cd_example"][0], abs=1e-6)


# ---------------------------------------------------------------- loading


def stored(folder: Path, *runs: RunResult) -> None:
    for one in runs:
        with RecordStore(folder).write(one.run_id) as place:
            (place / "result.json").write_text(result_text(one.result), encoding="utf-8")


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
        found = spec("nnpu", seed=seed)
        failure = made_failure(short_hash(found.model_dump(mode="json")), spec=found)
        RecordStore(tmp_path).write_failure(failure)
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


def test_a_folder_that_holds_no_records_is_empty(tmp_path: Path) -> None:
    assert len(load_results(tmp_path)) == 0


def test_what_is_no_folder_of_records_is_refused(tmp_path: Path) -> None:
    one = run()
    stored(tmp_path, one)
    with pytest.raises(InvalidRequest, match=r"folder: .*nowhere is not there; expected the folder of records"):
        load_results(tmp_path / "nowhere")
    with pytest.raises(InvalidRequest, match=r"result.json is a file; expected the folder of records"):
        load_results(tmp_path / one.run_id / "result.json")
    with pytest.raises(InvalidRequest, match="is one record; expected the folder that holds it"):
        load_results(tmp_path / one.run_id)


def test_results_are_loaded_filtered_and_compared_without_torch(tmp_path: Path) -> None:
    stored(tmp_path, *by_seed("nnpu", [0.5, 0.6]), *by_seed("vpu", [0.5, 0.7]))
    code = (
        "import sys, pubench\n"
        f"results = pubench.load_results({str(tmp_path)!r}).where(seed=[0, 1])\n"
        "results.to_frame(); print(results.table('accuracy')); results.significance('accuracy')\n"
        "print([name for name in ('torch', 'mlflow', 'torchvision') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_loading_imports_neither_pandas_nor_scipy(tmp_path: Path) -> None:
    stored(tmp_path, run())
    code = (
        f"import sys, pubench; print(pubench.load_results({str(tmp_path)!r}).table('accuracy'))\n"
        "print([name for name in ('torch', 'pandas', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
