"""Every honest way to a record, and every check of it: none is refused.

Records that were made or asked for in different ways stand in one folder each, so that a check reads all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from altered import edit_json
from printed import Run
from pubench_report.report.gather import gather
from pubench_report.report.model import model_of
from pubench_study.export import files_of, pack
from pubench_verify.reproduction import reproduced, spec_again

import pubench
from pubench_core.records.record import read_record
from pubench_core.records.store import RecordStore

pytestmark = [
    pytest.mark.filterwarnings("ignore::pubench.PubenchWarning"),  # so short a run may decide one-sidedly
    pytest.mark.usefixtures("forked_trainings"),
]

#: The smallest data set with true labels.
DATA = "breast-cancer"
SHORT: Any = {"config": {"epochs": 2, "lr": 0.01}, "threads": 1, "tracking": False}
#: Views: what may be asked of a run that is stored.
VIEWS: dict[str, dict[str, Any]] = {
    "criterion f1": {"criterion": "f1"},
    "criterion last": {"criterion": "last"},
    "criterion pauc": {"criterion": "pauc"},
    "goal rank": {"goal": "rank"},
    "goal decide": {"goal": "decide"},
    "goal review": {"goal": "review:50"},
    "decision prior": {"decision": "prior"},
}
SAVED: dict[str, Any] = {"save_model": True}
FOLDS: dict[str, Any] = {"folds": 2}
LAST, PRIOR = VIEWS["criterion last"], VIEWS["decision prior"]
#: Chain of requests for one run; the seed of the next is another one.
CHAINS: dict[str, list[dict[str, Any]]] = {
    "plain": [{}],
    "again": [{}, {}],
    **{f"{name}, then plain": [VIEWS[name], {}] for name in ("criterion last", "goal review", "decision prior")},
    "all views": [{}, *VIEWS.values(), {}],
    "saved model": [SAVED],
    "saved model, then last": [SAVED, LAST],
    "plain, then saved model": [{}, SAVED],
    "saved model of another epoch": [SAVED, SAVED | LAST],
    "folds": [FOLDS],
    "folds, then last": [FOLDS, FOLDS | LAST],
    "folds, then decision prior": [FOLDS, FOLDS | PRIOR],
    "folds, saved model": [FOLDS | SAVED],
    "folds, refit, saved model": [FOLDS | SAVED | {"refit": "all"}],
    "training scores": [{"artifacts": ["scores", "trace", "training-scores"]}],
}
#: Of a table without true labels, oracle criteria are not tracked. How requests follow each other is tried on DATA.
OF_TABLES: dict[str, list[dict[str, Any]]] = {
    "all views": [{}, *(view for name, view in VIEWS.items() if "f1" not in name), {}],
    "saved model, then last": [SAVED, LAST],
    "folds, then last": [FOLDS, FOLDS | LAST],
    "folds, refit, saved model": CHAINS["folds, refit, saved model"],
    "training scores": CHAINS["training scores"],
}
METRIC = """
from pubench_core import MetricInfo, hookimpl

@hookimpl
def pubench_metrics():
    return [MetricInfo(key="own-metric", name="own", summary="share", load="own_metric:share", needs=frozenset())]

def share(view):
    return float((view.scores > 0).mean())
"""
STUDY = """
name: {name}
methods: [upu, pusb]
data: [breast-cancer]
seeds: [200]
settings: {{method: {{config: {{epochs: 2}}}}, selection: {{criterion: {criterion}}}}}
"""


@pytest.fixture(scope="module")
def place(
    tmp_path_factory: pytest.TempPathFactory, pubench_in: Callable[[Path], Run], make_distribution: Callable[..., Path]
) -> Path:
    """``moved``, ``tables``: folders of records, of all chains. ``advice``: of the table."""
    place = tmp_path_factory.mktemp("honest")
    run = pubench_in(place)

    def do(*words: Any, **options: Any) -> None:
        done = run(*words, **options)
        assert done.returncode == 0, (words, done.stdout, done.stderr)

    rng = np.random.default_rng(0)
    x = rng.normal(size=(240, 3)).round(3)
    labeled = np.where((x[:, 0] > 0.2) & (rng.random(240) < 0.6), 1, 0)
    np.savetxt(place / "own.csv", np.column_stack([x, labeled]), "%g", ",", header="a,b,c,label", comments="")
    own = pubench.data(place / "own.csv", labeled="label")
    for seed, chain in enumerate(CHAINS.values(), 1):
        for request in chain:
            pubench.run("upu", DATA, seed=seed, results=place / "made", **{**SHORT, **request})
    for seed, chain in enumerate(OF_TABLES.values(), 1):
        for request in chain:
            pubench.run("upu", own, prior=0.4, seed=seed, results=place / "tables", **{**SHORT, **request})
    for view in ({}, LAST):
        pubench.compare(["upu", "pusb"], data=DATA, seeds=[100], results=place / "made", **{**SHORT, **view})
    site = place / "site"
    site.mkdir()
    make_distribution(site, "own-metric", {"own_metric": METRIC})
    words = ("--data", DATA, "--set", "epochs=2", "--set", "lr=0.01", "--threads", "1", "--results", "made")
    do("tune", "upu", *words, "--trials", 2)
    for seed in (1, 102):  # measured from stored scores, and by the run
        do("run", "--method", "upu", *words, "--no-tracking", "--seed", seed, env={"PYTHONPATH": str(site)})
    for name, criterion in (("first", "pa"), ("second", "last")):
        (place / f"{name}.yaml").write_text(STUDY.format(name=name, criterion=criterion))
        do("study", "run", f"{name}.yaml", "--threads", "1", "--results", "made")
    # no time to compare methods: fits of bagged trees, and the model that the folder has for `predict`
    pubench.advise(place / "own.csv", label="label", prior=0.4, out=place / "advice", threads=1)
    older(place / "made")
    (place / "made").rename(place / "moved")  # as somebody who tidies up
    return place


def older(results: Path) -> None:
    """Makes a record what versions before decisions at the prior wrote."""

    def earlier(content: dict[str, Any]) -> None:
        for criterion in content["criteria"].values():
            criterion.pop("threshold", None)
            criterion.pop("at_prior", None)
        content["data"]["prior"].pop("given_unlabeled", None)

    done = next(p.parent for p in sorted(results.glob("*/result.json")) if '"seed": 102' in p.read_text())
    edit_json(done / "result.json", earlier)


def records(results: Path) -> list[Path]:
    return sorted(path.parent for path in results.glob("*/result.json"))


# -------------------------------------------------------------------- the checks, each of all records


@pytest.mark.parametrize("results", ["moved", "tables", "advice", "advice/fits"])
def test_verify_has_nothing_against_them(place: Path, results: str) -> None:
    found = pubench.verify(place / results, rerun=0)
    assert (found.problems, found.unchecked) == ((), {})
    assert found.records - found.without_scores == found.records == len(records(place / results)) > 0
    own_metric = "metric own-metric is not installed, so its values cannot be derived again"
    named = [note for note in found.notes if note == own_metric or "its folder is called model" in note]
    assert named == {"moved": [own_metric], "advice": list(found.notes)}.get(results, [])


@pytest.mark.parametrize("results", ["moved", "tables"])
def test_reproduce_gives_the_same_bits(place: Path, results: str) -> None:
    for folder in records(place / results):
        record = read_record(folder)
        found = reproduced(record, spec_again(record.result, lambda text: None))
        assert found.confirmed, (folder, str(found))


def test_a_board_takes_them(place: Path) -> None:
    stored = {record.folder: record.result for record in RecordStore(place / "moved").all()[0]}
    files = ((f"{folder.name}/{path.name}", path.read_bytes()) for folder in stored for path in files_of(folder))
    pack(place / "mine.zip", "mine", files)
    found = pubench.verify(place / "mine.zip")
    assert (found.problems, found.records) == ((), len(stored))
    assert {one.run_id for one in found.again} <= {result.run_id for result in stored.values()}
    methods = {result.spec.method.key for result in stored.values()}
    assert len(found.again) >= len(methods) == 2


def test_sites_and_reports_show_them(place: Path) -> None:
    assert pubench.site(place / "moved", place / "site-of-all").exists()
    for name, criterion in (("first", "pa"), ("second", "last")):  # each its own criterion of the same records
        model = model_of(gather(None, place / "moved", name), "accuracy", None)
        assert (model.criterion, len(model.gathered.done)) == (criterion, 2)
    for results in ("moved", "tables"):
        loaded = pubench.load_results(place / results)
        assert len(loaded) >= 5
