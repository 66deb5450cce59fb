"""From a study file to its frozen plan: which runs it has, and what is refused before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pubench_study.cache import StudyCache, cache_of
from pubench_study.grid import cells_of
from pubench_study.plan import FrozenPlan, read_plan, write_plan
from pubench_study.planning import freeze
from pubench_study.state import Digests, Expected, by_length, states_of
from pubench_study.study_file import StudyFolder, find_study, folder_of, protocols, read_study
from refusals import refusal

from pubench_cli.yaml_layers import assigned
from pubench_core.data.dataset import DataRoot
from pubench_core.engine.resolve import resolve
from pubench_core.errors import Hint, RecordError, RequestError
from pubench_core.plugins.info import MethodInfo, PriorInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.store import RecordStore

Freeze = Callable[..., FrozenPlan]
SMALLEST: dict[str, Any] = {
    "name": "x",
    "methods": ["nnpu", "upu"],
    "data": ["digits"],
    "mechanisms": ["scar"],
    "c": [0.1],
    "seeds": [2, 25],
}


@pytest.fixture
def root(tmp_path: Path) -> DataRoot:
    return DataRoot(tmp_path, "a test", offline=True)


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """``file(c=[0.1, 0.5])``: the smallest study, with that instead."""

    def write(**changes: Any) -> Path:
        fields = {name: value for name, value in {**SMALLEST, **changes}.items() if value is not None}
        path = tmp_path / "study.yaml"
        path.write_text(yaml.safe_dump(fields, sort_keys=False))
        return path

    return write


@pytest.fixture
def frozen(file: Callable[..., Path], root: DataRoot) -> Freeze:
    def make(**changes: Any) -> FrozenPlan:
        return freeze(read_study(file(**changes)), registry(), root)[0]

    return make


def rows(plan: FrozenPlan, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(run.facts.get(name) for name in names) for run in plan.runs]


# -------------------------------------------------------------------- which runs


def test_the_smallest_study_is_every_combination_of_its_lists(frozen: Freeze) -> None:
    plan = frozen()
    assert rows(plan, "method", "data", "mechanism", "c", "scheme", "prior", "seed") == [
        ("nnpu", "digits", "scar", 0.1, "case-control", "true", 2),
        ("upu", "digits", "scar", 0.1, "case-control", "true", 2),
        ("nnpu", "digits", "scar", 0.1, "case-control", "true", 25),
        ("upu", "digits", "scar", 0.1, "case-control", "true", 25),
    ]
    assert len({run.run_id for run in plan.runs}) == 4


def test_a_planned_run_is_the_run_that_the_same_request_makes(frozen: Freeze) -> None:
    run = frozen(seeds=[7]).runs[0]
    same = resolve([assigned("data.key=digits", "method.key=nnpu", "mechanism.c=0.1", "seed=7")], registry())
    assert run.run_id == same.run_id


def test_a_preset_may_be_one_that_the_methods_of_another_block_have(frozen: Freeze) -> None:
    block = {"methods": ["puet"], "data": ["digits"], "seeds": [2]}
    plan = frozen(presets=["wang", "quick"], methods=["nnpu"], seeds=[2], include=[block])
    assert [run.method for run in plan.runs] == ["nnpu", "puet"]


def test_all_methods_are_those_that_are_installed_each_with_the_first_preset_it_has(frozen: Freeze) -> None:
    plan = frozen(methods="all", presets=["wang", "pubench"], seeds=1)
    infos = {info.key: info for info in registry().infos(MethodInfo)}
    expected = {key: next((n for n in ("wang", "pubench") if n in info.presets), None) for key, info in infos.items()}
    assert {run.facts["method"]: run.facts["preset"] for run in plan.runs} == expected


def test_methods_may_have_names_overrides_and_grids(frozen: Freeze) -> None:
    methods = [
        "nnpu",
        {"key": "nnpu", "name": "slow", "config": {"lr": 1e-5}, "preset": "quick"},
        {"key": "upu", "grid": {"lr": [0.1, 0.01], "batch_size": [32, 64]}},
    ]
    plan = frozen(methods=methods, seeds=[2])
    assert [run.row for run in plan.runs] == [
        "nnpu",
        "slow",
        *(f"upu [lr={lr}, batch_size={size}]" for lr in (0.1, 0.01) for size in (32, 64)),
    ]
    assert plan.runs[1].spec.method.config["lr"] == 1e-5
    assert plan.runs[-1].spec.method.config["batch_size"] == 64
    named = frozen(methods={"nnpu": None, "slow": {"key": "nnpu", "config": {"lr": 1e-5}}}, seeds=[2])
    assert [(run.row, run.spec.method.key) for run in named.runs] == [("nnpu", "nnpu"), ("slow", "nnpu")]


def test_entries_of_one_method_are_told_apart_by_what_they_set(frozen: Freeze) -> None:
    methods: list[Any] = [
        {"key": "nnpu", "config": {"epochs": 1, "lr": 0.1}},
        {"key": "nnpu", "config": {"epochs": 2, "lr": 0.1}, "grid": {"batch_size": [32, 64]}},
        "nnpu",
        {"key": "upu", "config": {"epochs": 1}},
    ]
    plan = frozen(methods=methods)
    named = [
        "nnpu [epochs=1, lr=0.1]",
        "nnpu [epochs=2, lr=0.1, batch_size=32]",
        "nnpu [epochs=2, lr=0.1, batch_size=64]",
        "nnpu",
        "upu",
    ]
    assert list(dict.fromkeys(run.row for run in plan.runs)) == named
    assert {run.row for run in frozen(methods=methods, exclude=[{"method": "nnpu"}]).runs} == {"upu"}
    one_out = frozen(methods=methods, exclude=[{"method": "nnpu [epochs=1, lr=0.1]"}])
    assert {run.row for run in one_out.runs} == {*named[1:]}


def test_draws_are_from_the_ranges_that_methods_declare_and_always_the_same(frozen: Freeze) -> None:
    first, again = (frozen(methods=["nnpu"], seeds=[2, 25], draws=4) for _ in range(2))
    drawn = [(run.draw, run.facts["seed"], run.spec.method.config["lr"]) for run in first.runs]

    assert drawn == [(run.draw, run.facts["seed"], run.spec.method.config["lr"]) for run in again.runs]
    assert [number for number, seed, _ in drawn if seed == 2] == [0, 1, 2, 3]
    by_draw = {number: {lr for other, _, lr in drawn if other == number} for number in range(4)}
    assert all(len(values) == 1 for values in by_draw.values())  # the same for every seed
    assert by_draw[0] == {frozen(methods=["nnpu"]).runs[0].spec.method.config["lr"]}
    assert len(set.union(*by_draw.values())) == 4
    assert all(10**-4.5 <= lr <= 10**-2.5 for number in (1, 2, 3) for lr in by_draw[number])
    other = frozen(methods=["nnpu"], seeds=[2], draws={"number": 4, "seed": 1, "with_default": False})
    assert not {run.spec.method.config["lr"] for run in other.runs} & set.union(*by_draw.values())
    fixed = frozen(methods=[{"key": "nnpu", "config": {"lr": 0.5}}], seeds=[2], draws=3)
    assert {run.spec.method.config["lr"] for run in fixed.runs} == {0.5}  # what is given is not drawn


def test_include_adds_lists_and_exclude_leaves_combinations_out(frozen: Freeze) -> None:
    plan = frozen(
        c=[0.1, 0.5],
        include=[{"data": ["breast-cancer"], "seeds": [99], "methods": ["vpu"], "c": [0.3]}],
        exclude=[{"method": "upu", "c": 0.5}, {"seed": [25]}],
    )
    assert rows(plan, "method", "data", "c", "seed") == [
        ("nnpu", "digits", 0.1, 2),
        ("upu", "digits", 0.1, 2),
        ("nnpu", "digits", 0.5, 2),
        ("vpu", "breast-cancer", 0.3, 99),
    ]


def test_lists_may_stand_in_include_alone(frozen: Freeze) -> None:
    plan = frozen(data=None, include=[{"data": ["breast-cancer"]}, {"data": ["digits"], "seeds": [9]}], seeds=[2])
    assert rows(plan, "data", "seed") == [
        ("breast-cancer", 2),
        ("breast-cancer", 2),
        ("digits", 9),
        ("digits", 9),
    ]


def test_a_bare_true_is_the_true_prior(frozen: Freeze) -> None:
    assert [run.run_id for run in frozen(priors=[True, 0.4]).runs] == [
        run.run_id for run in frozen(priors=["true", 0.4]).runs
    ]


def test_single_runs_are_written_as_run_files(frozen: Freeze) -> None:
    run = {"method": {"key": "nnpu", "config": {"epochs": 3}}, "data": "breast-cancer", "mechanism": {"c": 0.4}}
    plan = frozen(methods=None, data=None, mechanisms=None, c=None, seeds=None, runs=[run])
    assert [(r.row, r.spec.data.key, r.spec.mechanism.c, r.spec.seed) for r in plan.runs] == [
        ("nnpu", "breast-cancer", 0.4, 2)
    ]


def test_settings_hold_for_every_run_and_a_method_wins_over_them(frozen: Freeze) -> None:
    settings = {"validation": {"fraction": 0.05}, "method": {"config": {"epochs": 7}}, "selection": {"criterion": "oa"}}
    methods = ["nnpu", {"key": "upu", "config": {"epochs": 3}}]
    plan = frozen(settings=settings, methods=methods, seeds=[2])
    assert {run.spec.validation.fraction for run in plan.runs} == {0.05}
    assert {run.spec.selection.criterion for run in plan.runs} == {"oa"}
    assert [run.spec.method.config["epochs"] for run in plan.runs] == [7, 3]


def test_settings_give_the_value_of_an_axis_without_a_list(frozen: Freeze) -> None:
    settings = {"mechanism": {"key": "sar-lbe-a", "c": 0.3}, "data": {"scheme": "single-training-set"}, "prior": 0.4}
    plan = frozen(settings=settings, mechanisms=None, c=None, seeds=[7])
    assert rows(plan, "mechanism", "c", "scheme", "prior") == [("sar-lbe-a", 0.3, "single-training-set", 0.4)] * 2
    assert [(r.spec.mechanism.key, r.spec.mechanism.c, r.spec.prior) for r in plan.runs] == [
        ("sar-lbe-a", 0.3, 0.4)
    ] * 2
    of_settings = {"settings": {"method": "nnpu", "data": "digits"}, "runs": [{"seed": 5}, {"seed": 6}]}
    plan = frozen(methods=None, data=None, mechanisms=None, c=None, seeds=None, **of_settings)
    assert [(r.row, r.spec.seed) for r in plan.runs] == [("nnpu", 5), ("nnpu", 6)]


def test_a_method_may_have_a_prior_of_its_own(frozen: Freeze) -> None:
    plan = frozen(methods=["nnpu", {"key": "upu", "prior": 0.3}], seeds=[2])
    assert [(r.row, r.spec.prior, r.facts["prior"]) for r in plan.runs] == [("nnpu", "true", "true"), ("upu", 0.3, 0.3)]


def test_a_table_of_ones_own_has_its_labels_and_is_there_once_per_seed(frozen: Freeze, tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    lines = [f"{k},{k % 7},{int(k % 5 == 0)}" for k in range(60)]
    table.write_text("\n".join(["a,b,s", *lines]))
    own = {"own": {"path": str(table), "label_col": "s"}}
    plan = frozen(data=[own], c=[0.1, 0.5], priors=[0.3], methods=["nnpu"])
    assert rows(plan, "method", "data", "mechanism", "seed") == [
        ("nnpu", str(table), "given", 2),
        ("nnpu", str(table), "given", 25),
    ]
    named = frozen(data=[{"key": "mine", **own}], priors=[0.3], methods=["nnpu"], seeds=[2])
    assert rows(named, "data", "mechanism") == [("mine", "given")]


def test_a_study_with_both_kinds_of_schemes_has_both_numbers_of_labeled_rows(frozen: Freeze) -> None:
    both = {"c": [0.3], "positive_rates": [0.1, 0.2], "methods": ["nnpu"], "seeds": [2]}
    expected = [("one-sample", None, 0.1), ("one-sample", None, 0.2), ("case-control", 0.3, None)]
    plan = frozen(schemes=["one-sample", "case-control"], **both)
    assert rows(plan, "scheme", "c", "positive_rate") == expected
    plan = frozen(schemes=["one-sample"], include=[{"schemes": ["case-control"]}], **both)
    assert rows(plan, "scheme", "c", "positive_rate") == expected


def test_a_multiple_that_is_no_prior_is_left_out_and_said(frozen: Freeze) -> None:
    plan = frozen(priors=["true", "scaled:1.2", "scaled:3"], methods=["nnpu"], seeds=[2])
    assert rows(plan, "prior") == [("true",), ("scaled:1.2",)]
    assert len(plan.excluded) == 1
    assert "3.0 times the share of positives, 0.4958, is no prior: 1.487 is not below 1" in plan.excluded[0].reason


def test_every_installed_estimator_is_meant_by_all(frozen: Freeze) -> None:
    plan = frozen(priors=["true", "estimated:all"], methods=["nnpu"], seeds=[2])
    estimators = [f"estimated:{info.key}" for info in registry().infos(PriorInfo)]
    assert [prior for (prior,) in rows(plan, "prior")] == ["true", *estimators]
    said = [cell.reason for cell in plan.excluded]
    assert said == ([] if estimators else ["no estimator of the class prior is installed"])


# -------------------------------------------------------------------- shipped protocols


EVERY_METHOD = len(registry().infos(MethodInfo))


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("quick", EVERY_METHOD * 2 * 2),
        ("conventional", EVERY_METHOD * 8 * 10),
        ("label-ratio", EVERY_METHOD * 8 * 14 * 10),
        ("selection-bias", EVERY_METHOD * 8 * 4 * 2 * 10),
        ("pu-bench", 18 * 8 * 20),
    ],
)
def test_a_shipped_protocol_has_the_published_number_of_runs(name: str, runs: int) -> None:
    assert len(cells_of(find_study(name).spec, registry())) == runs


def test_protocols_say_what_they_are_and_name_results_by_no_criterion_that_reads_true_labels() -> None:
    for name, path in protocols().items():
        spec = read_study(path).spec
        assert spec.name == name
        assert spec.description
        for block in (spec, *spec.include):
            chosen = {**spec.settings.get("selection", {}), **block.settings.get("selection", {})}
            assert chosen.get("criterion", "pa") in ("pa", "pauc", "last"), name


# -------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"methods": ["nnpuu"]}, "did you mean 'nnpu'"),
        ({"data": ["digit"]}, "did you mean 'digits'"),
        ({"methods": [{"key": "nnpu", "config": {"lrr": 1}}]}, "did you mean 'lr'"),
        ({"methods": [{"key": "nnpu", "ranges": {"lr": 0.1}}]}, "must be a list of values, or {log: [low, high]}, got"),
        ({"methods": [{"key": "nnpu", "ranges": {"lr": {"log": [1, 0.1]}}}]}, "two numbers above 0, the smaller first"),
        ({"c": [0.1, 2]}, "mechanism.c"),
        ({"c": []}, "c: the list is empty"),
        ({"methods": []}, "methods: the list is empty"),
        ({"data": None}, "data: no list is given"),
        ({"seeds": 11}, "seeds must be a number from 1 to 10"),
        ({"seeds": [2, 2]}, "is the same run as"),
        ({"methods": ["nnpu", "nnpu"]}, "is the same run as"),
        ({"priors": [1.5]}, "1.5 is outside (0, 1)"),
        ({"exclude": [{"method": "vpu"}]}, "matches no run"),
        ({"exclude": [{"metod": "upu"}]}, "there is no 'metod'"),
        ({"exclude": [{"data": "digits"}]}, "exclude leaves no run"),
        ({"metods": ["nnpu"]}, "has no field 'metods'; did you mean 'methods'?"),
        ({"name": "My Study"}, "lower-case letters"),
        ({"name": None}, "study.yaml: name is missing; name must be lower-case letters"),
        ({"methods": ["puet"], "draws": 3}, "draws: puet declares no ranges to draw from"),
        ({"methods": [{"key": "nnpu", "grid": {"lr": 0.1}}]}, "grid.lr must be a list of values"),
        ({"presets": ["quik"], "methods": [{"key": "nnpu", "preset": "quik"}]}, "did you mean 'quick'"),
        ({"settings": {"selection": {"criterion": "f2"}}}, "f2"),
        ({"runs": [{"data": "digits"}]}, "each names its method"),
        *(
            ({"presets": presets}, "no method of the study has: unknown preset 'pubnech'; did you mean")
            for presets in (["pubnech"], ["quick", "pubnech"])
        ),
        # how many rows are labeled, in the words of the schemes
        ({"schemes": ["one-sample"]}, "c: the study's schemes (one-sample) take positive_rates, not c; give pos"),
        ({"positive_rates": [0.2]}, "(case-control) take c, not positive_rates; give c instead, or name one-sample or"),
        ({"schemes": ["two-sample"], "c": None, "include": [{"c": [0.1]}]}, "c: the study's schemes (two-sample)"),
        (
            {"schemes": ["two-sample"], "include": [{"schemes": ["case-control"], "c": [0.3]}]},
            "(two-sample) take positive_rates",
        ),
        # what a run lacks, as a study file writes it
        (
            {"settings": {"epochs": 3}},
            "a run has no field 'epochs'; it is a hyper-parameter of nnpu, written method: {config: {epochs: 3}}",
        ),
        ({"settings": {"sharpness": 3}}, "a run has no field 'sharpness'; known: backbone, checked, data"),
        (
            {"priors": ["unknown"]},
            "nnpu needs the class prior, and priors: [unknown] gives none; take the true one (priors: [true]), or give "
            "what you believe (priors: [0.3])",
        ),
        # entries that name nothing
        ({"methods": {"a": 1}}, "methods.a must be a mapping, got 1"),
        ({"methods": {"key": "upu"}}, "methods.key must be a mapping, got 'upu'"),
        ({"mechanisms": {"a": 1}}, "mechanisms.a must be a mapping, got 1"),
        ({"data": {"digits": 1}}, "data.digits must be a mapping, got 1"),
        ({"methods": {"a\n b": 1}}, "methods.a b must be a mapping, got 1"),
        *(
            ({"data": data}, "data: each must have a key, or own with the path of a table")
            for data in ("", [""], [{}], [{"own": 3}])
        ),
    ],
)
def test_bad_input_is_one_line_before_anything_runs(frozen: Freeze, changes: dict[str, Any], said: str) -> None:
    line = refusal(lambda: frozen(**changes))
    assert said in line
    assert "study.yaml" in line


# -------------------------------------------------------------------- on disk


@pytest.fixture
def planned(file: Callable[..., Path], root: DataRoot, tmp_path: Path) -> tuple[StudyFolder, FrozenPlan, StudyCache]:
    source = read_study(file())
    plan, cache = freeze(source, registry(), root)
    folder = StudyFolder(tmp_path / "results", plan.name)
    write_plan(folder, source, plan)
    cache.write(folder)
    return folder, plan, cache


Planned = tuple[StudyFolder, FrozenPlan, StudyCache]


def test_a_plan_is_read_as_it_was_written(planned: Planned) -> None:
    folder, plan, cache = planned
    assert read_plan(folder) == plan
    assert cache_of(plan, folder, registry()) == cache
    folder.cache.unlink()
    assert cache_of(plan, folder, registry()) == cache
    assert folder_of(folder.results, None).path == folder.path == folder_of(folder.results, "x").path


@pytest.mark.parametrize(
    "change",
    [
        {"run_id": "../../elsewhere"},  # a record outside of its folder
        *({"resolved": some} for some in ({}, {"data": None}, {"data": {"key": "a"}, "method": {"key": "b"}})),
    ],
)
def test_a_plan_whose_runs_name_nothing_is_damaged(planned: Planned, change: dict[str, Any]) -> None:
    folder, _, _ = planned
    content = json.loads(folder.plan.read_text())
    content["runs"][0] |= change
    folder.plan.write_text(json.dumps(content))
    with pytest.raises(RecordError, match=r"plan\.json is damaged \(runs\.0"):
        read_plan(folder)


def test_a_plan_of_another_version_or_damaged_is_refused(planned: Planned) -> None:
    folder, _, _ = planned
    text = folder.plan.read_text()
    folder.plan.write_text(text.replace('"plan_version": 1', '"plan_version": 2'))
    with pytest.raises(RecordError, match="is of version 2; this version of pubench reads version 1"):
        read_plan(folder)
    folder.plan.write_text(text[:200])
    with pytest.raises(RecordError, match="is damaged"):
        read_plan(folder)


def test_an_older_plan_is_kept(planned: Planned, file: Callable[..., Path], root: DataRoot) -> None:
    folder, plan, _ = planned
    changed = read_study(file(c=[0.2]))
    write_plan(folder, changed, freeze(changed, registry(), root)[0])
    assert FrozenPlan.model_validate_json((folder.path / "plan-1.json").read_text()) == plan


def test_a_run_of_the_plan_that_is_no_longer_understood_is_named(planned: Planned) -> None:
    folder, plan, _ = planned
    first = plan.runs[0]
    config = {**first.resolved["method"]["config"], "surrogate": "gone"}
    resolved = {**first.resolved, "method": {**first.resolved["method"], "config": config}}
    older = first.model_copy(update={"resolved": resolved})
    message = r"reject 'nnpu on digits, c 0.1, seed 2' of the plan \(.*surrogate.*gone"
    with pytest.raises(RequestError, match=message) as told:
        cache_of(plan.model_copy(update={"runs": (older,)}), folder, registry())
    assert told.value.hint == Hint("plan again")


def test_a_run_of_the_plan_that_would_now_be_another_is_refused(planned: Planned) -> None:
    folder, plan, _ = planned
    other = plan.runs[0].model_copy(update={"run_id": "0" * 16})
    with pytest.raises(
        RequestError, match=r"reject 'nnpu on digits, c 0.1, seed 2' of the plan \(run \w+ of the plan now resolves to"
    ):
        cache_of(plan.model_copy(update={"runs": (other,)}), folder, registry())


# -------------------------------------------------------------------- order


def test_the_longest_runs_go_first_and_unknown_ones_before_them(planned: Planned, root: DataRoot) -> None:
    folder, plan, cache = planned
    states = states_of(plan.runs, cache, RecordStore(folder.results), Digests(registry(), root))
    expected = Expected.of(states)
    assert expected.seconds(plan.runs[0]) is None
    expected.add(plan.runs[0], 10.0)
    expected.add(plan.runs[1], 50.0)
    expected.add(plan.runs[1], 70.0)
    ordered = by_length([state.run for state in states], expected)
    assert [run.row for run in ordered] == ["upu", "upu", "nnpu", "nnpu"]
    assert expected.seconds(plan.runs[2]) == 10.0
