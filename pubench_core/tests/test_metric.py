"""What a metric says reaches the record: its value, interval, warnings and details, on every part that knows enough.

This module is also the plugin that offers the metrics.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pubench_core import MetricInfo, PriorInfo, hookimpl
from pubench_core.engine.criteria import Installed
from pubench_core.engine.identity import code_of
from pubench_core.errors import PluginError, RunFailed, Undefined
from pubench_core.metric import Knowledge, Measurer, MetricPlugin, MetricValue, MetricView, Scored, measure
from pubench_core.plugins.events import EpochFinished
from pubench_core.plugins.registry import GROUP, Registry
from pubench_core.records.files import read_scores
from pubench_core.records.scores import knowledge_in, scores_name
from pubench_core.results import Estimate, Measure, RunResult

pytestmark = pytest.mark.usefixtures("one_thread")


#: More than the validation part of the sample problem, fewer than its test part.
FEW = 100


def bounded(view: MetricView) -> MetricValue:
    """Share of positive decisions, with everything that a metric can say."""
    found = view.decisions.mean()
    return MetricValue(
        np.float32(found),  # type: ignore[arg-type]
        interval=(np.float64(found / 2), np.float64(1.0)),
        warnings=("a small part", "in two lines"),
        details={
            "curve": np.array([[0.0, 0.5], [np.nan, np.inf]]),
            "rows": np.int64(len(view.scores)),
            "one": np.float32(0.5),
            "sure": np.bool_(True),
            "by class": {0: (1, 2), 1: [np.array(3)]},
            "nothing": None,
            "path": Path("a/b"),
        },
    )


def error(view: MetricView) -> float:
    """Share of wrong decisions: lower is better."""
    return float((view.decisions != (view.truth == 1)).mean())


def broken(view: MetricView) -> float:
    raise ZeroDivisionError("division by zero")


def nobody(view: MetricView) -> float:
    raise Undefined("nobody knows")


def curious(view: MetricView) -> float:
    return float(view.truth.mean())


def missing(view: MetricView) -> float:
    return float("nan")


def fragile(view: MetricView) -> float:
    """Fails on many rows."""
    if len(view.scores) > FEW:
        raise MemoryError(f"{len(view.scores)} rows")
    return float(view.decisions.mean())


def labeled_share(view: MetricView) -> float:
    return float(view.decisions[view.labeled].mean())


@hookimpl
def pubench_metrics() -> list[MetricInfo]:
    def info(key: str, function: str, **more: Any) -> MetricInfo:
        return MetricInfo(key=key, name=key, summary="a test double", load=f"{__name__}:{function}", **more)

    truth = frozenset({"truth"})
    return [
        info("bounded", "bounded", criterion=True),
        info("error", "error", needs=truth, higher_is_better=False, criterion=True),
        info("broken", "broken", criterion=True),
        info("nobody", "nobody", criterion=True),
        info("curious", "curious"),
        info("fragile", "fragile", criterion=True),
        info("missing", "missing"),
        info("labeled-share", "labeled_share", needs=frozenset({"labeled"}), assumes=frozenset({"SCAR"})),
    ]


Do = Callable[..., RunResult]


# ---------------------------------------------------------------- one metric on one part


def plugin(function: Any, key: str = "m", **more: Any) -> MetricPlugin:
    return MetricPlugin(MetricInfo(key=key, name=key, summary="s", load="a:b", **more), function, "0" * 16)


def measured(function: Any, scored: Scored | None = None, **more: Any) -> Measure:
    scored = scored or Scored.of(np.array([1.0, -1.0, 2.0]))
    return Measurer({"m": plugin(function, **more)}).measure("m", scored)


def test_a_metric_may_return_a_plain_number() -> None:
    assert measured(lambda view: 0.25) == Measure(value=0.25)
    assert measured(lambda view: np.float32(0.25)) == Measure(value=0.25)
    assert measured(lambda view: True) == Measure(value=1.0)


def test_everything_that_a_metric_says_is_in_its_measure_as_plain_data() -> None:
    found = measured(bounded)
    assert found.value == pytest.approx(2 / 3)
    assert type(found.value) is float
    assert found.interval == (pytest.approx(1 / 3), 1.0)
    assert found.warnings == ("a small part", "in two lines")
    assert found.details == {
        "curve": [[0.0, 0.5], [None, None]],
        "rows": 3,
        "one": 0.5,
        "sure": True,
        "by class": {"0": [1, 2], "1": [3]},
        "nothing": None,
        "path": "a/b",
    }
    assert Measure.model_validate_json(found.model_dump_json()) == found


def test_an_undefined_metric_says_why_and_is_asked_again_elsewhere() -> None:
    measurer = Measurer({"m": plugin(nobody)})
    scored = Scored.of(np.array([1.0]))
    assert measurer.measure("m", scored) == measurer.measure("m", scored) == Measure(undefined="nobody knows")
    assert measurer.failed == {}


def test_a_metric_sees_what_it_declared_and_no_more() -> None:
    scored = Scored.of(np.array([1.0, -1.0]), truth=np.array([1, 0], dtype=np.int8), labeled=np.array([0]))
    info = MetricInfo(key="m", name="m", summary="s", load="a:b", needs=frozenset({"labeled"}))
    view = MetricView(scored, info)
    assert view.labeled.tolist() == [0]
    assert view.scores.tolist() == [1.0, -1.0]
    assert view.decisions.tolist() == [True, False]
    of_prior = ("prior", "prior_interval", "unlabeled_prior", "unlabeled_prior_interval")
    for name in ("truth", "counts", "curve", "one_sample", *of_prior):
        with pytest.raises(PluginError, match=r"metric 'm' reads \w+ without declaring it in needs"):
            getattr(view, name)
    with pytest.raises(PluginError, match="metric 'm' needs labeled, which this part does not have"):
        _ = MetricView(Scored.of(np.array([1.0])), info).labeled
    with pytest.raises(PluginError, match="metric 'm' reads labeled without"):
        _ = MetricView(scored, plugin(nobody).info).positive_purity


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, frozenset()),
        ({"truth": np.array([1])}, {"truth"}),
        ({"labeled": np.array([0]), "unlabeled": np.array([0]), "prior": 0.5}, {"labeled", "prior"}),
        ({"scheme": "case-control"}, {"scheme"}),
    ],
)
def test_a_part_knows_what_it_was_given(known: dict[str, Any], expected: frozenset[str]) -> None:
    knowledge = Knowledge(**known)
    assert knowledge.known == expected
    assert plugin(nobody, needs=frozenset(expected), assumes=frozenset({"prior"})).fits(knowledge)
    assert plugin(nobody, needs=frozenset({"truth"})).fits(knowledge) == ("truth" in expected)


def test_what_metrics_share_cannot_be_made_writable() -> None:
    truth, rows = np.array([1, 0, 1, 0], dtype=np.int8), np.arange(2)
    scored = Scored.of(np.array([0.3, -1.0, 2.0, 0.1]), truth=truth, labeled=rows, unlabeled=rows)
    shared = [scored.scores, scored.decisions, *scored.curve, scored.knowledge.truth, scored.knowledge.labeled]
    for array in (*shared, scored.knowledge.unlabeled, Scored.of(np.zeros(0)).scores):
        assert array is not None
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_a_score_of_zero_is_a_negative_decision() -> None:
    assert Scored.of(np.array([-1.0, 0.0, 1e-300])).decisions.tolist() == [False, False, True]


def view_of(**known: Any) -> MetricView:
    known = {"labeled": np.arange(20), "unlabeled": np.arange(20, 100), "prior": 0.4, **known}
    info = plugin(nobody, needs=frozenset({"labeled", "prior", "scheme"}), assumes=frozenset({"prior"})).info
    return MetricView(Scored.of(np.linspace(-1, 1, 100), **known), info)


@pytest.mark.parametrize(
    ("scheme", "purity", "share"),
    [
        ("case-control", 1.0, 0.4),
        ("two-sample", 0.5, 0.4),
        ("one-sample", 1.0, 0.25),  # (40 - 20) of 80
        ("single-training-set", 0.5, 0.375),  # (40 - 10) of 80
    ],
)
def test_the_share_of_positives_in_u_follows_from_the_prior_and_the_counts(
    scheme: Any, purity: float, share: float
) -> None:
    view = view_of(scheme=scheme, positive_purity=purity, prior_interval=(0.1, 0.6))
    assert view.unlabeled_prior == pytest.approx(share)
    assert view.prior_interval == (0.1, 0.6)
    ends = view.unlabeled_prior_interval
    expected = (
        (0.1, 0.6) if scheme in ("case-control", "two-sample") else ((10 - 20 * purity) / 80, (60 - 20 * purity) / 80)
    )
    assert ends == pytest.approx((max(expected[0], 0), expected[1]))
    assert view_of(scheme=scheme).unlabeled_prior_interval is None


def test_a_prior_that_the_counts_contradict_leaves_no_share() -> None:
    assert view_of(scheme="one-sample", prior=0.2).unlabeled_prior == pytest.approx(0, abs=1e-12)
    with pytest.raises(Undefined, match=r"prior 0\.1 and 20 labeled of 100 rows contradict each other"):
        _ = view_of(scheme="one-sample", prior=0.1).unlabeled_prior
    with pytest.raises(Undefined, match="no unlabeled row"):
        _ = view_of(scheme="one-sample", unlabeled=np.array([], dtype=np.int64)).unlabeled_prior


def test_what_was_not_said_of_a_part_is_neutral() -> None:
    view = view_of(scheme="case-control")
    assert (view.positive_purity, view.threshold, view.thorough, view.prior_interval) == (1.0, 0.0, False, None)
    asked = view_of(scheme="case-control", threshold=0.5, thorough=True)
    assert (asked.threshold, asked.thorough) == (0.5, True)
    assert asked.decisions.tolist() == (asked.scores > 0.5).tolist()


@pytest.mark.parametrize(("scheme", "interval"), [("case-control", (0.1, 0.3)), ("one-sample", (0.28, 0.44))])
def test_the_interval_of_an_estimated_prior_is_of_the_population(scheme: Any, interval: tuple[float, float]) -> None:
    estimate = Estimate(estimator="e", share=0.2, interval=(0.1, 0.3), seconds=0.0)
    assert estimate.prior_interval(20, 100, scheme) == pytest.approx(interval)
    assert Estimate(estimator="e", share=0.2, seconds=0.0).prior_interval(20, 100, scheme) is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), MetricValue(float("-inf"))])
def test_a_value_that_is_not_finite_is_the_metric_s_fault(value: Any) -> None:
    info = plugin(nobody).info
    with pytest.raises(PluginError, match="it must raise Undefined if it has no value"):
        measure(lambda view: value, info, Scored.of(np.array([1.0])))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (broken, "ZeroDivisionError: division by zero"),
        (missing, "PluginError: metric 'm' returned nan; it must raise Undefined if it has no value"),
        (curious, "PluginError: metric 'm' reads truth without declaring it in needs"),
        (lambda view: "high", "ValueError: could not convert string to float"),
        (lambda view: None, "TypeError"),
        (lambda view: np.array([1.0, 2.0]), "TypeError"),
    ],
)
def test_a_metric_that_fails_has_no_value_and_is_not_applied_again(function: Any, reason: str) -> None:
    calls: list[int] = []

    def counted(view: MetricView) -> Any:
        calls.append(1)
        return function(view)

    measurer = Measurer({"m": plugin(counted), "other": plugin(lambda view: 0.5, "other")})
    for _ in range(3):
        found = measurer.measure_all(["m", "other"], Scored.of(np.array([1.0])))
        assert found["m"].value is None
        assert found["m"].undefined.startswith(f"metric 'm' failed and has no value: {reason}")
        assert found["other"] == Measure(value=0.5)
    assert len(calls) == 1
    assert set(measurer.failed) == {"m"}


@pytest.mark.parametrize(
    ("hook", "kind", "before", "after"),
    [
        ("pubench_metrics", MetricInfo, "", "needs=frozenset({'labeled'})"),
        ("pubench_metrics", MetricInfo, "", "higher_is_better=False"),
        ("pubench_priors", PriorInfo, "inputs='scores'", "inputs='features'"),
    ],
)
def test_what_the_info_record_decides_is_part_of_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: str, kind: Any, before: str, after: str
) -> None:
    """Otherwise a stored record answers with an epoch, a part or a share that nobody would choose or measure now."""
    monkeypatch.syspath_prepend(tmp_path)
    here = tmp_path.name
    (tmp_path / f"{here}_code.py").write_text("def m(view):\n    return 0.5\n")
    codes = []
    for name, fields in ((f"{here}_before", before), (f"{here}_after", after)):
        (tmp_path / f"{name}.py").write_text(
            f"from pubench_core import {kind.__name__}, hookimpl\n\n\n@hookimpl\ndef {hook}():\n"
            f"    return [{kind.__name__}(key='m', name='m', summary='s', load='{here}_code:m', {fields})]\n"
        )
        registry = Registry([EntryPoint("m", name, GROUP)])
        info = registry.find(kind, "m")
        of_metric = kind is MetricInfo
        codes.append(Installed.of(registry).usable["m"].code if of_metric else code_of([info], registry).hash)
    assert codes[0] != codes[1]


# ---------------------------------------------------------------- in the record of a run


def test_a_metric_is_measured_at_the_epoch_that_each_criterion_chose(do: Do) -> None:
    outcome = do("epochs=8", "lr=0.01", "method.key=nnpu")
    arrays, result = read_scores(outcome.folder), outcome.result
    assert len({criterion.snapshot for criterion in result.criteria.values()}) > 1
    knowledge = knowledge_in(arrays, result)
    for name, criterion in result.criteria.items():
        for part in ("test", "validation"):
            scores, truth = arrays[scores_name(part, criterion.snapshot)], knowledge[part].truth
            assert truth is not None
            assert criterion.measures[part]["error"].value == ((scores > 0) != (truth == 1)).mean()
        if name != "last":
            assert criterion.measures["validation"][name].value == criterion.value


def test_a_metric_that_fails_costs_its_own_value_and_nothing_else(do: Do, tmp_path: Path) -> None:
    result = do().result
    healthy = do("evaluation.metrics=[f1, auc, pa]", f"execution.results={tmp_path / 'apart'}").result
    assert healthy.warnings == ()
    for name, criterion in result.criteria.items():
        for part, measures in criterion.measures.items():
            for key in ("broken", "missing", "curious"):
                assert measures[key].value is None
                assert measures[key].undefined.startswith(f"metric '{key}' failed and has no value: ")
            assert measures["nobody"].undefined == "nobody knows"
            for key, found in measures.items():
                if key in ("f1", "auc", "pa"):
                    assert found == healthy.criteria[name].measures[part][key]
                    assert found.value is not None
    failed = [line.split("'")[1] for line in result.warnings]
    assert sorted(failed) == ["broken", "curious", "fragile", "missing"]


# ---------------------------------------------------------------- as a criterion


def test_the_smallest_value_is_the_best_one_where_lower_is_better(do: Do) -> None:
    events: list[EpochFinished] = []
    words = ("epochs=5", "lr=0.003", "patience=null", "selection.criterion=error", "method.key=nnpu")
    outcome = do(*words, display=SimpleNamespace(pubench_epoch_finished=lambda event: events.append(event)))
    series = [event.criteria["error"] for event in events]
    assert len(series) == 5
    numbers = [value for value in series if value is not None]
    assert min(numbers) < max(numbers)
    chosen = outcome.result.chosen
    assert outcome.result.selected == "error"
    assert chosen.oracle
    assert (chosen.epoch, chosen.value) == (series.index(min(numbers)) + 1, min(numbers))
    assert chosen.measures["validation"]["error"].value == chosen.value
    assert outcome.result.criteria["pa"].value == max(event.criteria["pa"] or 0.0 for event in events)


def test_a_failing_criterion_among_others_chooses_nothing(do: Do) -> None:
    result = do("selection.criteria=[pa, broken, nobody, last]").result
    assert result.criteria["broken"].undefined.startswith("metric 'broken' failed and has no value")
    assert result.criteria["nobody"].undefined == "nobody knows"
    for name in ("broken", "nobody"):
        assert (result.criteria[name].epoch, result.criteria[name].measures) == (None, {})
    assert result.chosen.epoch == 1


def test_a_failing_metric_that_names_the_result_is_the_failure_of_the_run(do: Do, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="ZeroDivisionError: division by zero") as failed:
        do("selection.criterion=broken")
    assert failed.value.cause == "error"
    (record,) = (tmp_path / "results" / "failed").glob("*/failure.json")
    assert "division by zero" in json.loads(record.read_text())["traceback"]


def test_a_selected_metric_that_fails_at_the_end_costs_no_result(do: Do) -> None:
    result = do("selection.criterion=fragile").result
    assert result.data.test is not None
    assert result.data.validation.rows < FEW < result.data.test.rows
    assert result.chosen.value is not None
    assert result.chosen.measures["test"]["fragile"].value is None
    assert result.chosen.measures["test"]["f1"].value is not None
    assert [line for line in result.warnings if "'fragile'" in line] == [
        "metric 'fragile' failed and has no value: MemoryError: 114 rows"
    ]
