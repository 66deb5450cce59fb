"""``pubench verify`` and ``pubench.verify``: sound records pass, and whatever was changed in one is said."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pubench_verify.reproduction
import pytest
from pubench_study.export import SUMS
from pubench_verify.derived import plan_here
from pubench_verify.difference import differences
from pubench_verify.rerun import SIGNIFICANT, one_sided
from pubench_verify.result import Again

import pubench
from pubench_core.data.cache import sha256_of
from pubench_core.engine.coverage import knowledge_in
from pubench_core.metric import Measurer
from pubench_core.records.files import read_scores
from pubench_core.records.scores import measures_at, measures_of, scores_of
from pubench_core.results import Measure, Result

UPU, PN = "upu", "pn"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Method -> its record: one without and one with true labels."""
    results = tmp_path_factory.mktemp("verify") / "results"
    config = {"epochs": 3, "lr": 0.01}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pubench.PubenchWarning)  # so short a run may decide one-sidedly
        return {
            method: pubench.run(
                method,
                "digits",
                config=config,
                results=results,
                threads=1,
                tracking=False,
                settings={"execution.artifacts": ["scores", "training-scores", "trace"]},
            ).folder
            for method in (UPU, PN)
        }


@pytest.fixture
def copied(recorded: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """``copied(method)``: a copy of a record, alone in a folder of records."""

    def copy(method: str) -> Path:
        return Path(shutil.copytree(recorded[method], tmp_path / "records" / recorded[method].name))

    return copy


def edit(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Changes a file of JSON."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def edit_scores(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Changes the arrays of a record."""
    with np.load(folder / "scores.npz") as stored:
        arrays = dict(stored)
    change(arrays)
    np.savez_compressed(folder / "scores.npz", **arrays)
    edit(folder / "result.json", lambda content: content.update(scores=sha256_of(folder / "scores.npz")[:16]))


def said(folder: Path) -> list[str]:
    """What is wrong, without carrying anything out."""
    return [problem.what for problem in pubench.verify(folder.parent, rerun=0).problems]


def test_sound_records_have_no_problem_and_run_again_to_the_same_bits(recorded: dict[str, Path]) -> None:
    found = pubench.verify(recorded[UPU].parent, rerun=2)
    assert (found.ok, found.records, found.without_scores, found.notes) == (True, 2, 0, ())
    assert {one.run_id for one in found.again} == {folder.name for folder in recorded.values()}
    assert all(one.identical and one.largest == 0 for one in found.again)


def test_one_record_can_be_checked_alone(recorded: dict[str, Path]) -> None:
    found = pubench.verify(recorded[UPU], rerun=0)
    assert (found.ok, found.records) == (True, 1)


def test_folds_of_a_joint_record_are_those_of_its_spec(tmp_path: Path) -> None:
    given: dict[str, Any] = {"config": {"epochs": 2, "lr": 0.01}, "threads": 1, "tracking": False, "save_model": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pubench.PubenchWarning)
        folder = pubench.run(UPU, "breast-cancer", folds=2, results=tmp_path / "results", **given).folder
    assert said(folder) == []
    edit(folder / "result.json", lambda content: content["folds"].reverse())
    (problem,) = said(folder)
    assert problem.startswith("folds is ['")
    (folder / "model-fold-1.safetensors").unlink()
    assert "model-fold-1.safetensors is missing" in said(folder)


# -------------------------------------------------------------------- changed results


def _put(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        for name in path[:-1]:
            content = content[name]
        assert content[path[-1]] != value
        content[path[-1]] = value

    return change


RESULTS: Mapping[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "a measure": (
        _put("criteria", "pa", "measures", "test", "accuracy", "value", value=0.99),
        "criteria.pa.measures.test.accuracy.value is 0.99; its scores give 0.",
    ),
    "a measure of another criterion": (
        _put("criteria", "last", "measures", "validation", "pa", "value", value=0.99),
        "criteria.last.measures.validation.pa.value is 0.99",
    ),
    "the value of a criterion": (
        _put("criteria", "pa", "value", value=0.123),
        "criteria.pa.value is 0.123; its scores",
    ),
    "the flag of an oracle criterion": (
        _put("criteria", "f1", "oracle", value=False),
        "criteria.f1.oracle is False; the installed plugins give True",
    ),
    "the seed": (_put("spec", "seed", value=7), "; its spec gives"),
    "a hyper-parameter": (
        _put("spec", "method", "config", "lr", value=0.5),
        "spec.method.config.lr is 0.5; spec.yaml has 0.01",
    ),
    "the method": (
        _put("spec", "method", "key", value="gone"),
        "its spec does not resolve here: unknown method 'gone'",
    ),
    "the hash of the code": (
        _put("code", "hash", value="0" * 16),
        "code.hash is 0000000000000000; the parts",
    ),
    "a part of the code": (
        _put("code", "parts", "engine", value="revision 0"),
        "it is of other code than is installed (changed: engine)",
    ),
    "the code of a criterion": (
        _put("criteria", "pa", "code", value="0" * 16),
        "criteria.pa.code is 0000000000000000; the installed plugins give",
    ),
    "the data": (_put("code", "parts", "data digits", value="0" * 16), "(changed: data digits)"),
    "the given prior": (_put("data", "prior", "given", value=0.9), "data.prior.given is 0.9; its spec gives 0.49"),
    "the criterion that names it": (
        _put("selected", value="none"),
        "selected is 'none', a criterion that it did",
    ),
    "the run id": (_put("run_id", value="<b>x</b>"), "its folder is called"),
    "the version": (_put("record_version", value=99), "is a record of format 99"),
    "an epoch that was not trained": (
        _put("criteria", "pa", "epoch", value=4),
        "criterion pa chose epoch 4 of 3 epochs",
    ),
    "an epoch before the first": (
        _put("criteria", "pa", "epoch", value=0),
        "criterion pa chose epoch 0 of 3 epochs",
    ),
    "an epoch of other scores": (
        _put("criteria", "pa", "epoch", value=1),
        "criterion pa chose epoch 1, and its scores are those of epoch-3",
    ),
    "that U was calibrated": (
        _put("data", "calibrated", value=True),
        "data.calibrated is True; its spec gives False",
    ),
    "the share told of U": (
        _put("data", "prior", "given_unlabeled", value=0.4),
        "data.prior.given_unlabeled is 0.4; its prior and counts give 0.496084",
    ),
    "a measure that is not there": (
        lambda content: content["criteria"]["pa"]["measures"]["test"].pop("auc"),
        "criteria.pa.measures.test.auc.value is no value; its scores give",
    ),
}


@pytest.mark.parametrize("what", RESULTS)
def test_a_changed_result_is_found(copied: Callable[[str], Path], what: str) -> None:
    change, expected = RESULTS[what]
    folder = copied(UPU)
    edit(folder / "result.json", change)
    assert any(expected in text for text in said(folder)), said(folder)


def test_a_measure_has_an_interval_besides_its_value() -> None:
    one = {"m": Measure(value=0.5, interval=(0.4, 0.6)).model_dump()}
    assert not list(differences(one, one, "gives"))
    for interval in ((0.4, 0.7), (0.3, 0.6), None):
        (apart,) = differences(one, {"m": Measure(value=0.5, interval=interval).model_dump()}, "gives")
        assert (apart.path, apart.recorded, apart.now) == ("m.interval", (0.4, 0.6), interval)


def test_an_oracle_that_says_it_is_none_is_found(copied: Callable[[str], Path]) -> None:
    folder = copied(PN)
    edit(folder / "result.json", _put("oracle", value=False))
    assert said(folder) == ["oracle is False; the installed plugins give True"]


def test_a_record_that_says_that_it_kept_no_scores_is_not_believed(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    (folder / "scores.npz").unlink()
    for name in ("spec.yaml", "result.json"):
        text = (folder / name).read_text()
        (folder / name).write_text(re.sub(r'"scores",\s*|- scores\n\s*', "", text))
    assert any("scores.npz is missing" in line for line in said(folder))


def test_measures_of_a_criterion_that_is_called_undefined_are_read_by_nobody(
    copied: Callable[[str], Path], pubench_in: Callable[[Path], Any]
) -> None:
    folder = copied(UPU)
    edit(folder / "result.json", _put("criteria", "pa", "measures", "test", "accuracy", "value", value=0.9987))
    edit(folder / "result.json", lambda content: content["criteria"]["pa"].update(undefined="x"))
    assert any("an undefined criterion must have no" in text for text in said(folder))
    copied(PN)
    run = pubench_in(folder.parent.parent)
    for words in (["verify", "records", "--rerun", "0"], ["site", "records"], ["study", "report", "records"]):
        done = run(*words)
        assert "99.87" not in done.stdout, words
        assert "an undefined criterion must have no" in done.stdout + done.stderr, words
    pages = (folder.parent.parent / "site").rglob("*.html")
    assert not [page.name for page in pages if "99.87" in page.read_text()]


def test_whether_a_criterion_is_defined_is_derived(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    nothing = {"oracle": True, "undefined": "no labeled validation positive", "code": ""}

    def undefine(content: dict[str, Any]) -> None:
        content["criteria"]["f1"] = nothing | {"code": content["criteria"]["f1"]["code"]}

    edit(folder / "result.json", undefine)
    assert said(folder) == ["criteria.f1.undefined is no labeled validation positive; its scores give no value"]


def test_a_criterion_with_the_state_that_another_chose_is_found(copied: Callable[[str], Path]) -> None:
    """The epoch, the state and all that was measured there of the criterion that reads true labels."""
    folder = copied(UPU)
    scores = read_scores(folder)
    labeled = scores["validation_labeled"]
    result = json.loads((folder / "result.json").read_text())
    best, state = result["criteria"]["pa"]["snapshot"], "epoch-1"
    arrays = {f"{part}_scores_{state}": scores[f"{part}_scores_{best}"].copy() for part in ("test", "validation")}
    arrays[f"validation_scores_{state}"] = np.where(labeled, 1.0, np.linspace(-1, 0.1, len(labeled)))
    edit_scores(folder, lambda a: a.update(arrays))
    edit(folder / "result.json", lambda content: content["criteria"]["f1"].update(epoch=1, snapshot=state))
    assert any(re.match(r"criterion pa is \S+ in the state that it chose, and \S+ in epoch-1", t) for t in said(folder))


def test_records_that_are_better_than_their_reruns_every_time_are_a_problem() -> None:
    again = [Again(str(n), False, 0.015, 1.0, recorded_better=True) for n in range(12)]
    words, chance = one_sided(again) or ("", 1.0)
    assert words == "12 of 12 records have a higher test accuracy than their rerun (p = 0.00049)"
    assert chance < SIGNIFICANT
    assert (one_sided([*again[:6], *(replace(one, recorded_better=False) for one in again[6:])]) or ("", 0))[1] == 1
    assert one_sided([Again("a", True, 0, 1.0)]) is None


# -------------------------------------------------------------------- changed scores


def _state(arrays: Mapping[str, Any], part: str) -> str:
    return next(name for name in arrays if name.startswith(f"{part}_scores_"))


def _states(arrays: Mapping[str, Any]) -> list[str]:
    return [name.removeprefix("test_scores_") for name in arrays if name.startswith("test_scores_")]


def _perfect(arrays: dict[str, Any]) -> None:
    name = _state(arrays, "test")
    arrays[name] = np.where(arrays["test_labels"] == 1, 1.0, -1.0).astype(arrays[name].dtype)


def _alike(arrays: dict[str, Any]) -> None:
    arrays[_state(arrays, "test")] = np.ones_like(arrays["test_labels"], dtype=np.float32)


def _not_finite(arrays: dict[str, Any]) -> None:
    arrays[_state(arrays, "test")] = np.full(len(arrays["test_rows"]), np.nan, np.float32)


SCORES: Mapping[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "better": (_perfect, "its scores give 1"),
    "all alike": (_alike, "its scores give ['all 360 test rows are decided positive"),
    "not finite": (_not_finite, "has values that are not finite"),
    "other labels": (lambda a: a.update(test_labels=1 - a["test_labels"]), "positive test rows, its result"),
    "an array that is gone": (lambda a: a.pop("test_rows"), "scores.npz has no test_rows"),
    "a state that is gone": (lambda a: [a.pop(n) for n in list(a) if "_scores_" in n], "has no scores of the epoch"),
    "no column": (lambda a: a.update(test_rows=np.array(3)), "test_rows is not a column of numbers"),
    "texts": (lambda a: a.update({_state(a, "test"): np.full(180, "x")}), "is not a column of numbers"),
    "labels that are none": (
        lambda a: a.update(test_labels=a["test_labels"] + 6),
        "test_labels has other labels than 0 and 1",
    ),
    "too few": (
        lambda a: a.update({_state(a, "validation"): a[_state(a, "validation")][:-1]}),
        "rows, validation_rows",
    ),
}


@pytest.mark.parametrize("what", SCORES)
def test_changed_scores_are_found(copied: Callable[[str], Path], what: str) -> None:
    change, expected = SCORES[what]
    folder = copied(UPU)
    edit_scores(folder, change)
    assert any(expected in text for text in said(folder)), said(folder)


def test_scores_that_give_the_same_measures_are_found_by_running_again(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)

    def doubled(arrays: dict[str, Any]) -> None:  # neither decisions nor ranks change
        arrays[_state(arrays, "test")] = arrays[_state(arrays, "test")] * (1 + 1e-9)

    edit_scores(folder, doubled)
    assert not [text for text in said(folder) if "accuracy" in text or "auc" in text]
    found = pubench.verify(folder.parent, rerun=1)
    assert [problem.what.partition(",")[0] for problem in found.problems] == ["carried out again"]
    assert "on the same machine with the same versions" in found.problems[0].what


def _elsewhere(folder: Path) -> None:
    """Says that the run was computed on another processor."""
    edit(folder / "environment.json", _put("cpu", value="another processor"))


def _scaled(folder: Path, criterion: str, change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
    """Changes the test scores of the epoch that a criterion chose, and every measure of them as its plugin gives it."""
    state = json.loads((folder / "result.json").read_text())["criteria"][criterion]["snapshot"]
    name = f"test_scores_{state}"
    edit_scores(folder, lambda a: a.update({name: change(a[name], a["test_labels"]).astype(a[name].dtype)}))


def _with_measures(folder: Path, changed: set[str]) -> None:
    """Puts the measures of its scores into a record, and that the decisions by these criteria are not all alike."""
    result = Result.model_validate_json((folder / "result.json").read_bytes())
    arrays = read_scores(folder)
    plan = plan_here(result, Path("."))
    knowledge = knowledge_in(arrays, result)
    measurer, names = Measurer(plan.metrics), list(result.metrics)
    scores = {name: scores_of(arrays, one.snapshot) for name, one in result.criteria.items()}
    measured = {name: measures_of(scores[name], knowledge, names, measurer) for name in scores}
    at_prior = {
        name: measures_at(one.threshold, scores[name], knowledge, names, measurer)
        for name, one in result.criteria.items()
    }

    def put(content: dict[str, Any]) -> None:
        for name, parts in measured.items():
            content["criteria"][name]["measures"]["test"] = {
                key: measure.model_dump(mode="json") for key, measure in parts["test"].items()
            }
            content["criteria"][name]["at_prior"]["test"] = {
                key: measure.model_dump(mode="json") for key, measure in at_prior[name]["test"].items()
            }
        for name in changed:
            content["criteria"][name]["warnings"] = []

    edit(folder / "result.json", put)


def test_a_perfect_criterion_is_found_by_running_again_whatever_machine_is_named(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    recorded = json.loads((folder / "result.json").read_text())
    states = {name: one["snapshot"] for name, one in recorded["criteria"].items()}
    other = next(name for name, state in states.items() if state != states[recorded["selected"]])
    _scaled(folder, other, lambda scores, truth: np.where(truth == 1, 1.0, -1.0))
    _with_measures(folder, {name for name, state in states.items() if state == states[other]})
    assert said(folder) == []
    _elsewhere(folder)
    found = pubench.verify(folder.parent, rerun=1)
    assert "though hardware are others" in found.problems[0].what


def test_the_criterion_that_names_the_result_is_compared_whatever_epoch_it_chooses_now(
    copied: Callable[[str], Path],
) -> None:
    folder, state = copied(UPU), "epoch-2-perfect"
    before = json.loads((folder / "result.json").read_text())["criteria"]["pa"]
    assert before["epoch"] != 2

    def perfect(arrays: dict[str, Any]) -> None:
        truth, validation = arrays["test_labels"], arrays[f"validation_scores_{before['snapshot']}"]
        arrays |= {f"test_scores_{state}": np.where(truth == 1, 1.0, -1.0), f"validation_scores_{state}": validation}

    edit_scores(folder, perfect)
    edit(folder / "result.json", lambda content: content["criteria"]["pa"].update(epoch=2, snapshot=state))
    _with_measures(folder, {"pa"})
    assert said(folder) == []
    _elsewhere(folder)
    (problem,) = pubench.verify(folder.parent, rerun=1).problems
    assert problem.what.endswith("though hardware are others")


def test_on_another_machine_measures_may_differ_a_little_and_scores_at_will(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    for criterion in ("pa", "last"):
        _scaled(folder, criterion, lambda scores, truth: scores * 2)

    def without_thresholds(content: dict[str, Any]) -> None:
        for criterion in content["criteria"].values():
            del criterion["threshold"], criterion["at_prior"]

    assert ".at_prior." in said(folder)[0], "the threshold is as it was"
    edit(folder / "result.json", without_thresholds)  # as in an older record
    assert [problem.what.partition(",")[0] for problem in pubench.verify(folder.parent).problems] == [
        "carried out again"
    ]
    _elsewhere(folder)
    found = pubench.verify(folder.parent, rerun=1)
    assert found.ok
    assert (found.again[0].identical, found.again[0].largest) == (False, 0)


def test_permuted_labels_with_measures_of_their_own_are_found_without_running_again(
    copied: Callable[[str], Path],
) -> None:
    """The labels that fit the scores best: as many of each class as there were."""
    folder = copied(UPU)
    state = json.loads((folder / "result.json").read_text())["criteria"]["pa"]["snapshot"]

    def fit(arrays: dict[str, Any]) -> None:
        labels, scores = np.sort(arrays["test_labels"]), arrays[f"test_scores_{state}"]
        arrays["test_labels"] = np.empty_like(labels)
        arrays["test_labels"][np.argsort(scores, kind="stable")] = labels

    edit_scores(folder, fit)
    _with_measures(folder, set())
    assert json.loads((folder / "result.json").read_text())["criteria"]["pa"]["measures"]["test"]["auc"]["value"] == 1
    assert said(folder) == ["scores.npz: test_labels are not those that its spec draws from digits"]


def test_other_test_labels_are_found_by_running_again_whatever_machine_is_named(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    edit_scores(folder, lambda a: a.update(test_labels=a["test_labels"][::-1]))
    _elsewhere(folder)
    found = pubench_verify.reproduction.reproduce(folder)
    assert found.other_rows == ("test_labels",)
    assert found.verdict.endswith("differ, test_labels among them")


def test_counts_and_priors_are_those_of_the_data(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    edit(folder / "result.json", _put("data", "train", "labeled", value=7))
    edit(folder / "result.json", _put("data", "prior", "true", value=0.3))
    edit(folder / "result.json", _put("data", "prior", "given", value=0.3))
    problems = said(folder)
    assert any(text.startswith("data.train.labeled is 7; drawn from digits it is") for text in problems)
    assert any(text.startswith("data.prior.true is 0.3; drawn from digits it is 0.49") for text in problems)


def test_a_result_is_named_by_the_criterion_of_its_spec(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    edit(folder / "result.json", _put("selected", value="last"))
    assert said(folder) == ["selected is last; its spec gives pa"]


def test_records_may_differ_in_the_size_of_the_validation_part_alone(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pubench.PubenchWarning)
        for validation in (0.2, 0.3):
            pubench.run(
                "upu", "digits", validation=validation, config={"epochs": 1}, results=tmp_path / "results",
                tracking=False,
            )  # fmt: skip
    found = pubench.verify(tmp_path / "results", rerun=0)
    assert (found.records, found.problems) == (2, ())


@pytest.mark.parametrize("name", ["test_rows", "validation_rows"])
def test_scores_of_other_rows_are_found_without_running_again(copied: Callable[[str], Path], name: str) -> None:
    folder = copied(UPU)
    edit_scores(folder, lambda a: a.update({name: a[name][::-1]}))
    assert said(folder) == [f"scores.npz: {name} are not those that its spec draws from digits"]


def test_rows_of_a_mechanism_that_needs_a_posterior_are_compared_on_the_test_part(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pubench.PubenchWarning)
        made = pubench.run(
            "upu", "digits", mechanism="s4", config={"epochs": 1}, results=tmp_path / "results", tracking=False
        )
    assert said(made.folder) == []
    edit_scores(made.folder, lambda a: a.update(validation_rows=a["validation_rows"][::-1]))
    assert said(made.folder) == []
    edit_scores(made.folder, lambda a: a.update(test_rows=a["test_rows"][::-1]))
    assert said(made.folder) == ["scores.npz: test_rows are not those that its spec draws from digits"]


def test_unlabeled_rows_of_a_table_are_those_of_the_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3)).round(3)
    labeled = np.where((x[:, 0] > 0.3) & (rng.random(300) < 0.5), 1, 0)
    table = np.column_stack([x, labeled])
    np.savetxt(tmp_path / "own.csv", table, "%g", ",", header="a,b,c,label", comments="")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pubench.PubenchWarning)
        made = pubench.run(
            "upu", pubench.data(tmp_path / "own.csv", labeled="label"), prior=0.4, config={"epochs": 1},
            results=tmp_path / "results", tracking=False,
        )  # fmt: skip
    assert said(made.folder) == []
    edit_scores(made.folder, lambda a: a.update(unlabeled_rows=a["unlabeled_rows"][::-1]))
    assert said(made.folder) == ["scores.npz: unlabeled_rows are not those that its spec draws from own.csv"]
    (tmp_path / "own.csv").rename(tmp_path / "elsewhere.csv")
    found = pubench.verify(made.folder, rerun=1)
    assert (found.ok, found.carried_out, found.notes) == (True, 0, ("no run is carried out again: data are not here",))
    (missing,) = found.unchecked.values()
    assert missing == f"{tmp_path / 'own.csv'} is not here (a relative path counts from the current folder)"


def test_a_false_number_of_epochs_is_found_by_running_again(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    edit(folder / "result.json", _put("epochs", value=5))
    assert said(folder) == ["criterion last chose epoch 3 of 5 epochs"]
    edit(folder / "result.json", _put("criteria", "last", "epoch", value=5))
    assert said(folder) == []
    found = pubench.verify(folder.parent, rerun=1)
    assert [p.what for p in found.problems] == [
        "carried out again, it gives the same scores, and criteria.last.epoch is 5; another run gives 3"
    ]
    assert (found.again, found.carried_out, found.to_dict()["carried_out"]) == ((), 1, 1)


def test_nothing_is_carried_out_again_where_every_record_has_a_problem_and_that_is_said(
    copied: Callable[[str], Path],
) -> None:
    folder = copied(UPU)
    edit(folder / "result.json", RESULTS["a measure"][0])
    for rerun, notes in ((0, ()), (1, ("no run is carried out again: every record has a problem already",))):
        found = pubench.verify(folder.parent, rerun=rerun)
        assert (found.carried_out, found.notes) == (0, notes)
    copied(PN)
    found = pubench.verify(folder.parent, rerun=1)
    assert (found.carried_out, found.notes) == (1, ())


def one_sample(results: Path, method: str, calibrate: str) -> Path:
    """A record of one-sample data whose prior is given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pubench.PubenchWarning)
        return pubench.run(
            method, "digits", scheme="one-sample", positive_rate=0.3, calibrate=calibrate, config={"epochs": 1},
            results=results, tracking=False,
        ).folder  # fmt: skip


def test_the_share_told_of_u_is_what_the_prior_and_the_labels_leave_unless_u_is_as_it_is_on_purpose(
    tmp_path: Path,
) -> None:
    folder = one_sample(tmp_path / "results", "nnpu", "on")
    assert said(folder) == []
    edit(folder / "result.json", _put("data", "calibrated", value=False))
    assert said(folder) == ["data.calibrated is False; its spec gives True"]
    folder = one_sample(tmp_path / "others", "nnpu", "off")
    assert said(folder) == []
    edit(folder / "result.json", lambda content: content["data"]["prior"].pop("given_unlabeled"))
    assert said(folder) == []
    folder = one_sample(tmp_path / "more", "pn", "off")
    assert said(folder) == []
    prior = json.loads((folder / "result.json").read_text())["data"]["prior"]["given"]
    edit(folder / "result.json", _put("data", "prior", "given_unlabeled", value=prior))
    (problem,) = said(folder)
    assert problem.startswith(f"data.prior.given_unlabeled is {prior:.6g}; its prior and counts give")


def test_no_record_chooses_the_data_that_it_is_checked_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pull request could bring data in which a feature is the label."""
    rng = np.random.default_rng(0)
    for root in ("here", "theirs"):
        labels = np.arange(4601) % 2
        features = rng.random((4601, 57)).round(3)
        if root == "theirs":
            features[:, 0] = labels
        (tmp_path / root / "spambase").mkdir(parents=True)
        np.savetxt(tmp_path / root / "spambase" / "spambase.data", np.column_stack([features, labels]), "%g", ",")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pubench.PubenchWarning)
        made = pubench.run(
            "upu", "spambase", config={"epochs": 1}, results=tmp_path / "results", data_root=tmp_path / "theirs",
            tracking=False,
        )  # fmt: skip
    assert pubench.verify(made.folder, rerun=1, data_root=tmp_path / "theirs").ok
    found = pubench.verify(made.folder, rerun=1, data_root=tmp_path / "nowhere")
    assert (found.ok, found.without_scores, found.carried_out) == (True, 0, 0)
    assert found.unchecked == {made.run_id: "data set spambase is not here"}
    assert pubench.verify(made.folder, rerun=1, data_root=tmp_path / "theirs").unchecked == {}
    monkeypatch.setenv("PUBENCH_DATA", str(tmp_path / "here"))
    found = pubench.verify(made.folder, rerun=1)
    assert [problem.what for problem in found.problems] == [
        "it is of other code than is installed (changed: data spambase)"
    ]


# -------------------------------------------------------------------- files


def _emptied(name: str, folder: Path) -> None:
    (folder / name).write_bytes(b"")


def _linked(name: str, folder: Path) -> None:
    elsewhere = folder.parent.parent / name
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(elsewhere)


def _linked_folder(folder: Path) -> None:
    elsewhere = folder.parent.parent / folder.name
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)


FILES: Mapping[str, tuple[Callable[[Path], Any], str]] = {
    "result.json": (lambda f: (f / "result.json").unlink(), "result.json is missing"),
    "spec.yaml": (lambda f: (f / "spec.yaml").unlink(), "spec.yaml is missing"),
    "environment.json": (lambda f: (f / "environment.json").unlink(), "environment.json is missing"),
    "scores.npz": (lambda f: (f / "scores.npz").unlink(), "scores.npz is missing"),
    "training-scores.npz": (lambda f: (f / "training-scores.npz").unlink(), "training-scores.npz is missing"),
    "half of result.json": (lambda f: _cut(f / "result.json"), "result.json cannot be read"),
    "half of spec.yaml": (lambda f: _cut(f / "spec.yaml"), "spec.yaml cannot be read"),
    "half of scores.npz": (lambda f: _cut(f / "scores.npz"), "scores.npz cannot be read"),
    "half of environment.json": (lambda f: _cut(f / "environment.json"), "environment.json cannot be read"),
    "a spec too deep to read": (lambda f: (f / "spec.yaml").write_text("[" * 20_000), "spec.yaml cannot be read"),
    **{
        f"{name} without content": (partial(_emptied, name), f"{name} cannot be read")
        for name in ("result.json", "spec.yaml", "environment.json", "scores.npz", "training-scores.npz")
    },
    **{
        f"{name} as a link": (partial(_linked, name), f"{name} is a link to a file elsewhere")
        for name in ("result.json", "spec.yaml", "environment.json", "scores.npz", "training-scores.npz")
    },
    "a link to a folder": (_linked_folder, "it is a link to a folder elsewhere"),
    "threads that nothing ran with": (
        lambda f: edit(f / "environment.json", _put("threads", value=64)),
        "threads is 1; environment.json has 64",
    ),
    "another name": (lambda f: f.rename(f.with_name("f" * 16)), f"its folder is called {'f' * 16}"),
}


def _cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize("what", FILES)
def test_a_file_that_is_gone_or_damaged_is_found(copied: Callable[[str], Path], what: str) -> None:
    change, expected = FILES[what]
    folder = copied(UPU)
    change(folder)
    problems = said(folder)
    assert any(expected in text for text in problems), problems


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("result.json", "its folder is called"),
        ("spec.yaml", "; spec.yaml has "),
        ("scores.npz", "its scores give"),
        ("training-scores.npz", "criteria.pa.threshold is"),
    ],
)
def test_a_file_of_another_run_is_found(
    copied: Callable[[str], Path], recorded: dict[str, Path], name: str, words: str
) -> None:
    folder = copied(UPU)
    shutil.copy(recorded[PN] / name, folder)
    assert any(words in text for text in said(folder)), said(folder)


# -------------------------------------------------------------------- lists of checksums


def _listed(folder: Path) -> Path:
    """Writes the list of checksums of a folder of records."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    (folder / SUMS).write_text("".join(lines))
    return folder / SUMS


def test_files_are_compared_with_the_list(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    _listed(folder.parent)
    found = pubench.verify(folder.parent, rerun=0)
    assert (found.ok, found.checksums) == (True, 6)
    (folder / "trace.csv").write_text("epoch\n")
    (folder / "notes.txt").write_text("x")
    assert sorted(said(folder)) == [
        "notes.txt is not listed in SHA256SUMS",
        "trace.csv is not the file that SHA256SUMS lists",
    ]
    shutil.rmtree(folder)
    copied(PN)
    assert any("result.json is listed in SHA256SUMS and not there" in text for text in said(folder))


def test_a_list_names_nothing_outside_of_its_folder(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    sums = _listed(folder.parent)
    sums.write_text(f"{sums.read_text()}{'0' * 64}  ../secret\n{'0' * 64}  /etc/passwd\nnothing\n")
    assert [text.partition(" is ")[0] for text in said(folder)] == ["line 7", "line 8", "line 9"]


def test_a_list_of_checksums_makes_no_record_whole(copied: Callable[[str], Path]) -> None:
    """Whoever leaves scores out can change every measure."""
    folder = copied(UPU)
    (folder / "scores.npz").unlink()
    edit(folder / "result.json", RESULTS["a measure"][0])
    _listed(folder.parent)
    found = pubench.verify(folder.parent, rerun=1)
    assert [problem.what for problem in found.problems] == ["scores.npz is missing"]
    assert (found.without_scores, found.carried_out) == (1, 0)


# -------------------------------------------------------------------- the command


def test_the_command_says_a_line_per_problem(
    recorded: dict[str, Path], copied: Callable[[str], Path], pubench_in: Callable[[Path], Any]
) -> None:
    folder = copied(UPU)
    run = pubench_in(folder.parent.parent)
    sound = run("verify", "records", "--rerun", "1")
    assert sound.returncode == 0, sound.stderr
    assert sound.stdout.splitlines()[-1].startswith(
        "1 record, 0 problems; measures derived again from the scores of 1;"
    )
    assert "the same scores to the last bit" in sound.stdout
    edit_scores(
        folder, lambda a: a.update({f"test_scores_{s}": a[f"test_scores_{s}"] * (1 + 1e-9) for s in _states(a)})
    )
    other = run("verify", "records", "--rerun", "1")
    assert (other.returncode, len(other.stdout.splitlines())) == (1, 2)
    assert other.stdout.endswith("; 1 run carried out again\n")
    edit(folder / "result.json", RESULTS["a measure"][0])
    wrong = run("verify", "records", "--rerun", "1")
    assert wrong.returncode == 1
    assert wrong.stderr.splitlines() == ["no run is carried out again: every record has a problem already"]
    assert wrong.stdout.startswith(f"{folder.name}: criteria.pa.measures.test.accuracy.value is 0.99;")
    assert len(wrong.stdout.splitlines()) == 2
    plain = run("verify", "records", "--rerun", "0", "--format", "json")
    assert (plain.returncode, json.loads(plain.stdout)["ok"]) == (1, False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere is not a folder; expected the folder of records"),
        (["."], ". holds no records"),
        (["site"], "site holds no records; the records of a site are in its folder records"),
        (["site", "--rerun", "-1"], "should be greater than or equal to 0"),
    ],
)
def test_a_wrong_request_is_one_line(
    tmp_path: Path, pubench_in: Callable[[Path], Any], arguments: list[str], words: str
) -> None:
    (tmp_path / "site" / "records").mkdir(parents=True)
    done = pubench_in(tmp_path)("verify", *arguments)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert words in done.stderr


def test_numbers_out_of_bounds_are_refused(recorded: dict[str, Path]) -> None:
    with pytest.raises(pubench.InvalidRequest, match="must be numbers of 0 or more"):
        pubench.verify(recorded[UPU], rerun=-1)
