"""``pubench verify`` and ``pubench.verify``: sound records pass, and whatever was changed in one is said."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from altered import edit_json, edit_scores, list_checksums, own_table, put
from pubench_study.export import SUMS
from pubench_study.plan import FrozenPlan, PlannedRun
from pubench_verify.findings import Again, differences
from pubench_verify.record import plan_here
from pubench_verify.reproduction import SIGNIFICANT, drawn, one_sided
from refusals import error_line

import pubench
from pubench_core.errors import RecordError
from pubench_core.metric import Measurer
from pubench_core.records import files
from pubench_core.records.files import read_scores
from pubench_core.records.scores import knowledge_in, measures_at, measures_of, scores_of
from pubench_core.results import Measure, Result

pytestmark = [
    pytest.mark.filterwarnings("ignore::pubench.PubenchWarning"),  # so short a run may decide one-sidedly
    pytest.mark.filterwarnings("ignore:Duplicate name"),
    pytest.mark.usefixtures("forked_trainings"),
]
#: Seconds that a record of a stranger may take, on a busy machine; one of these took minutes, or never ended.
SECONDS = 30.0
ALIASES = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)
UPU, PN, OWN = "upu", "pn", "own"
SHORT: Any = {"config": {"epochs": 1}, "tracking": False}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Method -> its record: one without and one with true labels; and one of a user table."""
    given: Any = {"config": {"epochs": 3, "lr": 0.01}, "threads": 1, "tracking": False}
    given["settings"] = {"execution.artifacts": ["scores", "training-scores", "trace"]}
    place = tmp_path_factory.mktemp("verify")
    of_digits = {name: pubench.run(name, "digits", results=place / "results", **given).folder for name in (UPU, PN)}
    own = pubench.data(own_table(place / "own.csv"), "labeled", truth="truth")
    return of_digits | {OWN: pubench.run(UPU, own, prior=0.5, results=place / "own", **SHORT).folder}


@pytest.fixture
def copied(recorded: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """``copied(method)``: a copy of a record, alone in a folder of records."""

    def copy(method: str) -> Path:
        return Path(shutil.copytree(recorded[method], tmp_path / "records" / recorded[method].name))

    return copy


def edit(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Changes the result of a record."""
    edit_json(folder / "result.json", change)


def criteria_of(folder: Path) -> dict[str, Any]:
    """Criterion -> what the result of a record says of it."""
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())["criteria"]
    return found


def said(folder: Path) -> list[str]:
    """What is wrong, without carrying anything out."""
    return [problem.what for problem in pubench.verify(folder.parent, rerun=0).problems]


def test_folds_of_a_joint_record_are_those_of_its_spec(tmp_path: Path) -> None:
    given: Any = {"config": {"epochs": 2, "lr": 0.01}, "threads": 1, "tracking": False, "save_model": True}
    folder = pubench.run(UPU, "breast-cancer", folds=2, results=tmp_path / "results", **given).folder
    assert said(folder) == []
    value = criteria_of(folder)["pa"]["value"]
    edit(folder, put("criteria.pa.value", value + 0.01))
    assert said(folder)[0].startswith("criteria.pa.value is ")
    edit(folder, put("criteria.pa.value", value))
    edit(folder, lambda content: content["folds"].reverse())
    (problem,) = said(folder)
    assert problem.startswith("folds is ['")
    (folder / "model-fold-1.safetensors").unlink()
    assert "model-fold-1.safetensors is missing" in said(folder)


# -------------------------------------------------------------------- changed results


ACCURACY = "criteria.pa.measures.test.accuracy.value"
#: Every single field and array is altered in ``test_verify_altered.py``; these are the words, next to those of
#: ``test_submission.py``.
RESULTS: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (
        lambda content: content["criteria"]["pa"]["measures"]["test"].pop("auc"),
        "criteria.pa.measures.test.auc.value is no value; its scores give",
    ),
    (put("criteria.pa.epoch", 4), "criterion pa chose epoch 4 of 3 epochs"),  # was not trained
    (put("criteria.pa.epoch", 1), "criterion pa chose epoch 1, and its scores are those of epoch-3"),
    (put("selected", "none"), "selected is 'none', a criterion that it did"),
    (put("selected", "last"), "selected is last; its spec gives pa"),
    (put("oracle", True), "oracle is True; the installed plugins give False"),
    (put("spec.method.key", "gone"), "its spec does not resolve here: unknown method 'gone'"),
    (put("code.hash", "0" * 16), "code.hash is 0000000000000000; the parts"),
    (put("code.parts.engine", "revision 0"), "it is of other code than is installed (changed: engine)"),
    (put("data.prior.given", 0.9), "data.prior.given is 0.9; its spec gives 0.49"),
    (put("run_id", "<b>x</b>"), "its folder is called"),
    # what only the author knows must be possible
    (put("seconds.total", -5.0), "result.json is damaged (seconds.total: Input should be greater than or equal to 0"),
    (lambda content: content.update(at_once=-5), "is damaged (at_once: Input should be greater than or equal to 1"),
    (put("finished_at", "yesterday"), "result.json is damaged (finished_at: String should match pattern"),
    (put("finished_at", "20٢6-11-26T12:00:00Z"), "result.json is damaged (finished_at: String should match pattern"),
    (put("device", "gpu"), "result.json is damaged (device: String should match pattern"),
]


def test_a_measure_has_an_interval_besides_its_value() -> None:
    one = {"m": Measure(value=0.5, interval=(0.4, 0.6)).model_dump()}
    assert not list(differences(one, one, "gives"))
    for interval in ((0.4, 0.7), (0.3, 0.6), None):
        (apart,) = differences(one, {"m": Measure(value=0.5, interval=interval).model_dump()}, "gives")
        assert (apart.path, apart.recorded, apart.now) == ("m.interval", (0.4, 0.6), interval)


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
    edit(folder, put(ACCURACY, 0.9987))
    edit(folder, lambda content: content["criteria"]["pa"].update(undefined="x"))
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

    edit(folder, undefine)
    assert said(folder) == ["criteria.f1.undefined is no labeled validation positive; its scores give no value"]


def test_records_that_are_better_than_their_reruns_every_time_are_a_problem() -> None:
    again = [Again(str(n), "", recorded_better={"accuracy": True}) for n in range(12)]
    words, chance = one_sided(again) or ("", 1.0)
    assert words == "12 of 12 records have a higher test accuracy than their rerun (p = 0.00049)"
    assert chance < SIGNIFICANT
    worse = {"accuracy": False, "auc": True}
    half = one_sided([*again[:6], *(replace(one, recorded_better=worse) for one in again[6:])])
    assert half == ("6 of 6 records have a higher test auc than their rerun (p = 0.031)", pytest.approx(2 / 2**6))
    assert one_sided([Again("a", "", identical=True)]) is None


# -------------------------------------------------------------------- changed scores


def replaced(part: str, make: Callable[[Any, Any], Any]) -> Callable[[dict[str, Any]], None]:
    """Scores of a part in one state. ``make(scores, labels)``: of them and the test labels."""

    def change(arrays: dict[str, Any]) -> None:
        name = next(name for name in arrays if name.startswith(f"{part}_scores_"))
        arrays[name] = make(arrays[name], arrays["test_labels"])

    return change


SCORES: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (
        replaced("test", lambda scores, truth: np.ones_like(scores)),
        "its scores give ['all 360 test rows are decided positive",
    ),
    (replaced("test", lambda scores, truth: scores * np.nan), "has values that are not finite"),
    (replaced("test", lambda scores, truth: np.full(180, "x")), "is not a column of numbers"),
    (replaced("validation", lambda scores, truth: scores[:-1]), "rows, validation_rows"),
    (lambda a: [a.pop(n) for n in list(a) if "_scores_" in n], "has no scores of the epoch"),
    (lambda a: a.pop("test_rows"), "scores.npz has no test_rows"),
    (lambda a: a.update(test_rows=np.array(3)), "test_rows is not a column of numbers"),
    (lambda a: a.update(test_labels=1 - a["test_labels"]), "positive test rows, its result"),
    (lambda a: a.update(test_labels=a["test_labels"] + 6), "test_labels has other labels than 0 and 1"),
]


def _elsewhere(folder: Path) -> None:
    """Says that the run was computed on another processor."""
    edit_json(folder / "environment.json", put("cpu", "another processor"))


def _scaled(folder: Path, criterion: str, change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
    """Changes the test scores of the epoch that a criterion chose, and every measure of them as its plugin gives it."""
    name = f"test_scores_{criteria_of(folder)[criterion]['snapshot']}"
    edit_scores(folder, lambda a: a.update({name: change(a[name], a["test_labels"]).astype(a[name].dtype)}))


def _with_measures(folder: Path, changed: set[str]) -> None:
    """Puts the measures of its scores into a record, and that the decisions by these criteria are not all alike."""
    result = Result.model_validate_json((folder / "result.json").read_bytes())
    arrays = read_scores(folder)
    plan = plan_here(result, Path("."))
    knowledge = knowledge_in(arrays, result)
    measurer, names = Measurer(plan.metrics), list(result.metrics)

    def remeasured(content: dict[str, Any]) -> None:
        for name, one in result.criteria.items():
            scores = scores_of(arrays, one.snapshot)
            for field, measured in (
                ("measures", measures_of(scores, knowledge, names, measurer)),
                ("at_prior", measures_at(one.threshold, scores, knowledge, names, measurer)),
            ):
                plain = {key: measure.model_dump(mode="json") for key, measure in measured["test"].items()}
                content["criteria"][name][field]["test"] = plain
        for name in changed:
            content["criteria"][name]["warnings"] = []

    edit(folder, remeasured)


def test_a_perfect_criterion_is_found_by_running_again_whatever_machine_is_named(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    states = {name: one["snapshot"] for name, one in criteria_of(folder).items()}
    other = next(name for name, state in states.items() if state != states["pa"])
    _scaled(folder, other, lambda scores, truth: np.where(truth == 1, 1.0, -1.0))
    _with_measures(folder, {name for name, state in states.items() if state == states[other]})
    assert said(folder) == []
    _elsewhere(folder)
    found = pubench.verify(folder.parent, rerun=1)
    assert found.problems[0].what.endswith("more than environment.cpu can explain")


def test_the_criterion_that_names_the_result_is_compared_whatever_epoch_it_chooses_now(
    copied: Callable[[str], Path],
) -> None:
    folder, state = copied(UPU), "epoch-2-perfect"
    before = criteria_of(folder)["pa"]
    assert before["epoch"] != 2

    def perfect(arrays: dict[str, Any]) -> None:
        truth, validation = arrays["test_labels"], arrays[f"validation_scores_{before['snapshot']}"]
        arrays |= {f"test_scores_{state}": np.where(truth == 1, 1.0, -1.0), f"validation_scores_{state}": validation}

    edit_scores(folder, perfect)
    edit(folder, lambda content: content["criteria"]["pa"].update(epoch=2, snapshot=state))
    _with_measures(folder, {"pa"})
    assert said(folder) == []
    _elsewhere(folder)
    (problem,) = pubench.verify(folder.parent, rerun=1).problems
    assert problem.what.endswith("more than environment.cpu can explain")


def test_on_another_machine_measures_may_differ_a_little_and_scores_at_will(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    for criterion in ("pa", "last"):
        _scaled(folder, criterion, lambda scores, truth: scores * 2)

    def without_thresholds(content: dict[str, Any]) -> None:
        for criterion in content["criteria"].values():
            del criterion["threshold"], criterion["at_prior"]

    assert ".at_prior." in said(folder)[0], "the threshold is as it was"
    edit(folder, without_thresholds)  # as in an older record
    (problem,) = pubench.verify(folder.parent).problems
    assert problem.what.startswith("carried out again,")
    _elsewhere(folder)
    found = pubench.verify(folder.parent, rerun=1)
    assert found.ok
    assert (found.again[0].identical, "test measures within 0" in found.again[0].what) == (False, True)


def test_permuted_labels_with_measures_of_their_own_are_found_without_running_again(
    copied: Callable[[str], Path],
) -> None:
    """The labels that fit the scores best: as many of each class as there were."""
    folder = copied(UPU)
    state = criteria_of(folder)["pa"]["snapshot"]

    def fit(arrays: dict[str, Any]) -> None:
        labels, scores = np.sort(arrays["test_labels"]), arrays[f"test_scores_{state}"]
        arrays["test_labels"] = np.empty_like(labels)
        arrays["test_labels"][np.argsort(scores, kind="stable")] = labels

    edit_scores(folder, fit)
    _with_measures(folder, set())
    assert criteria_of(folder)["pa"]["measures"]["test"]["auc"]["value"] == 1
    assert said(folder) == ["scores.npz: test_labels are not those that its spec draws from digits"]


def test_records_may_differ_in_the_size_of_the_validation_part_alone(tmp_path: Path) -> None:
    for validation in (0.2, 0.3):
        pubench.run(UPU, "digits", validation=validation, results=tmp_path / "results", **SHORT)
    found = pubench.verify(tmp_path / "results", rerun=0)
    assert (found.records, found.problems) == (2, ())


@pytest.mark.parametrize(
    ("method", "name", "data"),
    [(UPU, "test_rows", "digits"), (UPU, "validation_rows", "digits"), (OWN, "unlabeled_rows", "own.csv")],
)
def test_scores_of_other_rows_are_found_without_running_again(
    copied: Callable[[str], Path], method: str, name: str, data: str
) -> None:
    folder = copied(method)
    edit_scores(folder, lambda a: a.update({name: a[name][::-1]}))
    assert f"scores.npz: {name} are not those that its spec draws from {data}" in said(folder)


def test_rows_of_a_mechanism_that_needs_a_posterior_are_compared_on_the_test_part(tmp_path: Path) -> None:
    made = pubench.run(UPU, "digits", mechanism="s4", results=tmp_path / "results", **SHORT)
    assert said(made.folder) == []
    edit_scores(made.folder, lambda a: a.update(validation_rows=a["validation_rows"][::-1]))
    assert said(made.folder) == []
    edit_scores(made.folder, lambda a: a.update(test_rows=a["test_rows"][::-1]))
    assert said(made.folder) == ["scores.npz: test_rows are not those that its spec draws from digits"]


def test_a_scaled_prior_is_derived(tmp_path: Path) -> None:
    folder = pubench.run("nnpu", "digits", prior="scaled:1.2", results=tmp_path / "results", **SHORT).folder
    assert said(folder) == []
    prior = json.loads((folder / "result.json").read_text())["data"]["prior"]
    edit(folder, put("data.prior.given", prior["true"]))
    assert f"data.prior.given is {prior['true']:.6g}; its spec gives {1.2 * prior['true']:.6g}" in said(folder)


def test_known_negatives_are_in_no_fold_of_an_honest_joint_record(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(200, 2)).round(3)
    label = np.select([x[:, 0] > 0.5, x[:, 0] < -1], [1, -1], 0)
    np.savetxt(tmp_path / "own.csv", np.column_stack([x, label]), "%g", ",", header="x,y,label", comments="")
    own = pubench.data(tmp_path / "own.csv", "label", known_negative="-1", positive_value="1")
    for folds in (None, 2):
        pubench.run(UPU, own, prior=0.5, folds=folds, results=tmp_path / "results", **SHORT)
    assert pubench.verify(tmp_path / "results", rerun=0).problems == ()


def moved(folder: Path, table: Path) -> str:
    """Names another place of the table that a record read."""
    own = json.loads((folder / "result.json").read_text())["spec"]["data"]["own"]["path"]
    for name in ("result.json", "spec.yaml"):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace(own, str(table)))
    return str(table)


@pytest.mark.parametrize("gone", ["gone.csv", "/dev/zero", "pipe", "/proc/self/environ", "."])
def test_a_table_that_is_not_here_hides_no_forged_measure(
    copied: Callable[[str], Path], tmp_path: Path, gone: str
) -> None:
    """Neither is a file read that only a stranger's spec names."""
    folder = copied(OWN)
    os.mkfifo(tmp_path / "pipe")
    path = moved(folder, tmp_path / gone)  # an absolute one stays as it is
    found = pubench.verify(folder.parent)
    assert (found.problems, found.carried_out, found.without_scores) == ((), 0, 0)
    assert found.notes == ("no run is carried out again: data are not here",)
    (why,) = found.unchecked.values()
    assert path in why
    edit(folder, put(ACCURACY, 0.9987))
    edit(folder, put("criteria.pa.measures.test.f1.value", 0.9987))
    assert [text.partition(";")[0] for text in said(folder)] == [
        f"{ACCURACY} is 0.9987",
        "criteria.pa.measures.test.f1.value is 0.9987",
    ]


def test_a_table_that_is_another_one_is_a_problem_and_nothing_of_it_is_printed(
    copied: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = copied(OWN)
    (tmp_path / "own.csv").write_text("a secret")
    path = moved(folder, tmp_path / "own.csv")
    assert said(folder) == [f"its spec does not resolve here: {path} is not the table that the run read"]


def test_measures_of_a_metric_that_is_not_named_are_a_problem(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)

    def unname(content: dict[str, Any]) -> None:
        del content["metrics"]["auc"]
        content["spec"]["evaluation"]["metrics"].remove("auc")
        content["criteria"]["pa"]["measures"]["test"]["auc"]["value"] = 0.9987

    edit(folder, unname)
    spec = folder / "spec.yaml"
    spec.write_text(spec.read_text().replace("  - auc\n", "", 1))
    assert "it has measures of auc, a metric that it does not name" in said(folder)


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("upu", ""),
        ("mine", ""),
        ("upu [lr=0.01, epochs=3]", ""),
        ("nnpu", "upu (called nnpu)"),
        ("nnpu [lr=0.01]", "upu (called nnpu [lr=0.01])"),
        ("upu [lr=0.5]", "upu (called upu [lr=0.5])"),
        ("mine [epochs=3, lr=0.5]", "upu (called mine [epochs=3, lr=0.5])"),
    ],
)
def test_names_of_a_plan_follow_from_the_specs(copied: Callable[[str], Path], row: str, shown: str) -> None:
    folder = copied(UPU)
    result = Result.model_validate_json((folder / "result.json").read_bytes())
    run = PlannedRun(run_id=folder.name, row=row, facts={}, resolved=result.spec.model_dump(mode="json"))
    plan = FrozenPlan(plan_version=1, name="s", sha256="0" * 64, made_at="", versions={}, runs=(run,))
    path = folder.parent / "studies" / "s" / "plan.json"
    path.parent.mkdir(parents=True)
    path.write_text(plan.model_dump_json())
    assert said(folder) == ([f"in the plan of study s it is {shown}"] if shown else [])
    path.unlink()
    os.mkfifo(path)
    (problem,) = pubench.verify(folder.parent, rerun=0).problems
    assert str(problem).endswith("plan.json cannot be read (it is not a regular file)")


def test_one_run_of_each_method_is_drawn_before_a_second_of_any() -> None:
    records = {Path(f"upu-{n}"): "upu" for n in range(50)} | {Path(name): name for name in ("nnpu", "vpu")}
    for seed in range(20):
        order = drawn(records, random.Random(seed))
        assert sorted(order) == sorted(records)
        assert {records[path] for path in order[:3]} == {"upu", "nnpu", "vpu"}
    firsts = {drawn(records, random.Random(seed))[0] for seed in range(200)}
    assert len(firsts) > 30


def test_a_false_number_of_epochs_is_found_by_running_again(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    edit(folder, put("epochs", 5))
    assert said(folder) == ["criterion last chose epoch 3 of 5 epochs"]
    edit(folder, put("criteria.last.epoch", 5))
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
    edit(folder, put(ACCURACY, 0.99))
    for rerun, notes in ((0, ()), (1, ("no run is carried out again: every record has a problem already",))):
        found = pubench.verify(folder.parent, rerun=rerun)
        assert (found.carried_out, found.notes) == (0, notes)
    copied(PN)
    found = pubench.verify(folder.parent, rerun=1)
    assert (found.carried_out, found.notes) == (1, ())


def one_sample(results: Path, method: str, calibrate: str) -> Path:
    """A record of one-sample data whose prior is given."""
    given: Any = {"scheme": "one-sample", "positive_rate": 0.3, "calibrate": calibrate, "results": results, **SHORT}
    return pubench.run(method, "digits", **given).folder


def test_the_share_told_of_u_is_what_the_prior_and_the_labels_leave_unless_u_is_as_it_is_on_purpose(
    tmp_path: Path,
) -> None:
    folder = one_sample(tmp_path / "results", "nnpu", "on")
    assert said(folder) == []
    edit(folder, put("data.calibrated", False))
    assert said(folder) == ["data.calibrated is False; its spec gives True"]
    folder = one_sample(tmp_path / "others", "nnpu", "off")
    assert said(folder) == []
    edit(folder, lambda content: content["data"]["prior"].pop("given_unlabeled"))
    assert said(folder) == []
    folder = one_sample(tmp_path / "more", "pn", "off")
    assert said(folder) == []
    prior = json.loads((folder / "result.json").read_text())["data"]["prior"]["given"]
    edit(folder, put("data.prior.given_unlabeled", prior))
    (problem,) = said(folder)
    assert problem.startswith(f"data.prior.given_unlabeled is {prior:.6g}; its prior and counts give")


def test_no_record_chooses_the_data_that_it_is_checked_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pull request could bring data in which a feature is the label."""
    rng = np.random.default_rng(0)
    labels, features = np.arange(506) % 2, rng.random((506, 13)).round(3)
    leaking = np.column_stack([labels, features[:, 1:]])
    for root, x in (("here", features), ("theirs", leaking)):
        (tmp_path / root / "housing").mkdir(parents=True)
        np.savetxt(tmp_path / root / "housing" / "housing.data", np.column_stack([x, labels]), "%g")
    made = pubench.run(UPU, "housing", results=tmp_path / "results", data_root=tmp_path / "theirs", **SHORT)
    found = pubench.verify(made.folder, rerun=1, data_root=tmp_path / "theirs")
    assert (found.ok, found.unchecked) == (True, {})
    found = pubench.verify(made.folder, rerun=1, data_root=tmp_path / "nowhere")
    assert (found.ok, found.without_scores, found.carried_out) == (True, 0, 0)
    assert found.unchecked == {made.run_id: "data set housing is not here"}
    monkeypatch.setenv("PUBENCH_DATA", str(tmp_path / "here"))
    assert said(made.folder) == ["it is of other code than is installed (changed: data housing)"]


# -------------------------------------------------------------------- files, and what strangers make of them


def _cut(name: str, folder: Path) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])


def _linked(name: str, folder: Path) -> None:
    """``name``: of a file, or empty for the folder itself."""
    elsewhere = folder.parent.parent / (name or folder.name)
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(elsewhere)


def _sums(line: str) -> Callable[[Path], None]:
    def write(record: Path) -> None:
        (record.parent / SUMS).write_text(f"{'0' * 64}  {line}\n")

    return write


def _listed(make: Callable[[Path], object], line: str = "z") -> Callable[[Path], None]:
    """A file ``z`` next to the record, and a line of the list of checksums."""

    def act(record: Path) -> None:
        make(record.parent / "z")
        _sums(line)(record)

    return act


def _grown(size: int) -> Callable[[Path], None]:
    def grow(path: Path) -> None:
        with path.open("ab") as file:
            file.truncate(size)  # of holes

    return grow


def _as_pipe(name: str) -> Callable[[Path], None]:
    def make(record: Path) -> None:
        (record / name).unlink()
        os.mkfifo(record / name)

    return make


def _with_array(shape: str, dtype: str = "<f8", content: bytes = b"") -> Callable[[Path], None]:
    """A header may say anything."""

    def put(record: Path) -> None:
        header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
        array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content
        with zipfile.ZipFile(record / "scores.npz", "a") as archive:
            archive.writestr("more.npy", array)

    return put


LARGE = "it has more than 67,108,864 bytes"
OF_A_RECORD = ("result.json", "spec.yaml", "environment.json", "scores.npz", "training-scores.npz")
FILES: list[tuple[Callable[[Path], object], str]] = [
    *((lambda f, name=name: (f / name).unlink(), f"{name} is missing") for name in OF_A_RECORD),  # type: ignore[misc]
    *((_as_pipe(name), f"{name} is missing") for name in OF_A_RECORD[:4]),
    *((partial(_cut, name), f"{name} cannot be read") for name in OF_A_RECORD[:4]),
    *((lambda f, name=name: (f / name).write_bytes(b""), f"{name} cannot be read") for name in OF_A_RECORD),  # type: ignore[misc]
    *((partial(_linked, name), f"{name} is a link to a file elsewhere") for name in OF_A_RECORD),
    *((lambda f, name=name: _grown(1 << 36)(f / name), LARGE) for name in OF_A_RECORD[:3]),  # type: ignore[misc]
    (partial(_linked, ""), "it is a link to a folder elsewhere"),
    (lambda f: (f / "spec.yaml").write_text("[" * 20_000), "spec.yaml cannot be read"),  # too deep
    (lambda f: edit_json(f / "environment.json", put("threads", 64)), "threads is 1; environment.json has 64"),
    (lambda f: (f / "spec.yaml").write_text(ALIASES), "by aliases, which pubench never writes"),
    (lambda f: (f / "spec.yaml").write_text("!!python/object/apply:os.system [ls]"), "cannot be read"),
    (_listed(lambda z: z.symlink_to("/dev/zero")), "z is listed in SHA256SUMS and a link"),
    (_listed(os.mkfifo), "z is listed in SHA256SUMS and cannot be read (it is not a regular file)"),
    (_listed(lambda z: z.symlink_to("/etc"), "z/passwd"), "passwd is listed in SHA256SUMS and a link"),
    (_listed(_grown(1 << 40)), "z is listed in SHA256SUMS and cannot be read (it has more than 4,294,967,296 bytes)"),
    (_sums("z\0z"), "line 1 is not a checksum and a path in this folder"),
    (_sums("z" * 5000), "line 1 is not a checksum and a path in this folder"),
    (_with_array("(1,)", content=b"x" * 80), "it is damaged"),
    (_with_array("(2, 5)", content=b"x" * 80), "more is not a column of numbers"),
    (_with_array("(1,)", "|O", b"x" * 8), "more is not a column of numbers"),
]
CHANGES: list[tuple[Callable[[Path], object], str]] = [
    *((partial(edit, change=change), words) for change, words in RESULTS),
    *((partial(edit_scores, change=change), words) for change, words in SCORES),
    *FILES,
]


@pytest.mark.parametrize(("change", "words"), CHANGES, ids=[words for _, words in CHANGES])
def test_a_changed_file_is_a_line_in_bounded_time(
    copied: Callable[[str], Path], change: Callable[[Path], object], words: str
) -> None:
    folder = copied(UPU)
    change(folder)
    started = time.monotonic()
    found = pubench.verify(folder.parent, rerun=1)
    assert any(words in problem.what for problem in found.problems), [str(problem) for problem in found.problems]
    assert (found.again, time.monotonic() - started < SECONDS) == ((), True)


@pytest.mark.parametrize(
    ("numpy", "share", "ok"), [("1.0", 0.1, True), ("1.0", 0.3, False), (np.__version__, 0.1, False)]
)
def test_another_numpy_may_have_drawn_the_resamples_of_an_interval(
    copied: Callable[[str], Path], numpy: str, share: float, ok: bool
) -> None:
    def moved(result: Any) -> None:
        measure = result["criteria"]["pa"]["measures"]["validation"]["pu-f1"]
        low, high = measure["interval"]
        measure["interval"] = [low - share * (high - low), high]

    folder = copied(UPU)
    edit_json(folder / "environment.json", lambda facts: facts["packages"].update(numpy=numpy))
    edit(folder, moved)
    assert pubench.verify(folder.parent, rerun=0).ok is ok


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


def test_no_memory_is_taken_for_more_arrays_or_bytes_than_a_record_has(
    copied: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = copied(UPU)
    np.savez_compressed(record / "scores.npz", zeros=np.zeros(200_000))
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(np, "frombuffer", None)  # nothing is unpacked
    with pytest.raises(RecordError, match=r"holds 1 arrays of 1,600,128 bytes; at most 10,000 and 1,048,576 are read"):
        read_scores(record)
    monkeypatch.setattr(files, "MOST_ARRAYS", 1)
    np.savez(record / "scores.npz", a=np.zeros(1), b=np.zeros(1))
    with pytest.raises(RecordError, match="holds 2 arrays"):
        read_scores(record)


# -------------------------------------------------------------------- lists of checksums


def test_files_are_compared_with_the_list(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    list_checksums(folder.parent)
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
    assert any("result.json is listed in SHA256SUMS and cannot be read (No such file" in text for text in said(folder))


def test_a_list_names_nothing_outside_of_its_folder(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    sums = list_checksums(folder.parent)
    sums.write_text(f"{sums.read_text()}{'0' * 64}  ../secret\n{'0' * 64}  /etc/passwd\nnothing\n")
    assert [text.partition(" is ")[0] for text in said(folder)] == ["line 7", "line 8", "line 9"]


def test_a_list_of_many_wrong_lines_is_told_in_a_few(copied: Callable[[str], Path]) -> None:
    folder = copied(UPU)
    sums = list_checksums(folder.parent)
    listed = sums.read_text()
    sums.write_text(listed + "x\n" * 1000)
    assert said(folder)[-1] == "and 980 more lines are wrong"
    assert len(said(folder)) == 21
    sums.write_text(listed + "x\n" * 800_000)
    assert said(folder) == ["it has 800,006 lines; at most 100,000 are read"]


def test_a_list_of_checksums_makes_no_record_whole(copied: Callable[[str], Path]) -> None:
    """Whoever leaves scores out can change every measure."""
    folder = copied(UPU)
    (folder / "scores.npz").unlink()
    edit(folder, put(ACCURACY, 0.99))
    list_checksums(folder.parent)
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
    last = sound.stdout.splitlines()[-1]
    assert last.startswith("1 record, 0 problems; measures derived again from the scores of 1;")
    assert "the same scores to the last bit" in sound.stdout
    edit_scores(folder, lambda a: a.update({n: a[n] * (1 + 1e-9) for n in a if n.startswith("test_scores_")}))
    other = run("verify", "records", "--rerun", "1")
    assert (other.returncode, len(other.stdout.splitlines())) == (1, 2)
    assert other.stdout.endswith("; 1 run carried out again\n")
    edit(folder, put(ACCURACY, 0.99))
    wrong = run("verify", "records", "--rerun", "1")
    assert wrong.returncode == 1
    assert wrong.stderr.splitlines() == ["no run is carried out again: every record has a problem already"]
    assert wrong.stdout.startswith(f"{folder.name}: {ACCURACY} is 0.99;")
    assert len(wrong.stdout.splitlines()) == 2
    plain = run("verify", "records", "--rerun", "0", "--format", "json")
    assert (plain.returncode, json.loads(plain.stdout)["ok"]) == (1, False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere is not there; expected records, a submission or a board"),
        (["."], ". holds no records"),
        (["site"], "site holds no records; the records of a site are in its folder records"),
        (["site", "--rerun", "-1"], "should be greater than or equal to 0"),
        (["site", "--with", "board@2026.12"], "site is no submission (.zip), which alone is ranked on a board"),
    ],
)
def test_a_wrong_request_is_one_line(
    tmp_path: Path, pubench_within: Callable[..., Any], arguments: list[str], words: str
) -> None:
    (tmp_path / "site" / "records").mkdir(parents=True)
    assert words in error_line(pubench_within("verify", *arguments))


def test_numbers_out_of_bounds_are_refused(recorded: dict[str, Path]) -> None:
    with pytest.raises(pubench.InvalidRequest, match="rerun must be 0 or more"):
        pubench.verify(recorded[UPU], rerun=-1)
