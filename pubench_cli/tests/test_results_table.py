"""The table at the end of a run, from results that a real run seldom gives."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from pubench_cli import results
from pubench_cli.console import out
from pubench_core.plugins.registry import registry

MEASURES = {"accuracy": 0.75, "precision": 0.5, "recall": 1.0, "f1": 2 / 3, "macro-f1": 0.7, "auc": 0.875, "mcc": 0.1}


def entry(epoch: int, value: float | None, *, oracle: bool = False) -> dict[str, Any]:
    return {"oracle": oracle, "epoch": epoch, "value": value, "test": dict(MEASURES)}


RESULT: dict[str, Any] = {
    "spec": {
        "method": {"key": "nnpu"},
        "data": {"key": "digits", "scheme": "case-control"},
        "mechanism": {"key": "scar", "c": 0.1},
        "seed": 2,
    },
    "oracle": False,
    "selected": "pauc",
    "test": dict(MEASURES),
    "criteria": {"pa": entry(1, 1.25), "pauc": entry(3, 0.5), "f1": entry(2, 0.6, oracle=True), "last": entry(4, None)},
    "data": {
        "train": {"labeled": 57, "unlabeled": 1149, "unlabeled_positive": 570, "unlabeled_negative": 579},
        "prior": {"true": 0.4961, "told": 0.4961},
    },
    "epochs": 4,
    "seconds": {"total": 1.26, "training": 0.9, "evaluation": 0.2, "per_epoch": 0.274, "per_epoch_training": 0.225},
    "peak_memory": {"bytes": 3 * 2**20, "what": "peak resident during the run"},
    "device": "cpu",
    "threads": 1,
}


@pytest.fixture(autouse=True)
def _fresh_console() -> Any:
    out.cache_clear()
    yield
    out.cache_clear()


def printed(capsys: pytest.CaptureFixture[str], folder: Path | None = Path("results/abc"), **changed: Any) -> list[str]:
    result = {**copy.deepcopy(RESULT), **changed}
    results.print_result(result, folder, registry())
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_measures_are_per_cent_and_the_chosen_criterion_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys)
    assert lines[2].split() == ["pa", "1", "1.2500", "75.00", "50.00", "100.00", "66.67", "70.00", "87.50"]
    assert [line[0] for line in lines[2:6]] == [" ", ">", " ", " "]
    assert lines[4].split()[:2] == ["f1", "(oracle)"]


def test_a_measure_without_a_value_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    criteria = copy.deepcopy(RESULT["criteria"])
    criteria["pauc"]["test"]["auc"] = None
    assert printed(capsys, criteria=criteria)[3].split()[-1] == "-"


def test_an_undefined_criterion_gives_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    criteria = copy.deepcopy(RESULT["criteria"])
    criteria["pa"] = {"oracle": False, "undefined": "no labeled validation positive"}
    line = printed(capsys, criteria=criteria)[2]
    assert " ".join(line.split()) == "pa undefined: no labeled validation positive"


def test_a_told_prior_that_is_not_the_true_one_is_shown_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    data = copy.deepcopy(RESULT["data"])
    assert "(true" not in printed(capsys)[0]
    data["prior"]["told"] = 0.4
    assert printed(capsys, data=data)[0].endswith("prior 0.400 (true 0.496)")


def test_an_oracle_is_marked_in_the_title_and_below(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, oracle=True)
    assert lines[0].startswith("nnpu (oracle) on digits")
    assert "oracle: this method was granted the true labels" in lines


def test_costs_and_the_record_come_last(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys)
    costs = " ".join(lines[6:])
    for words in (
        "4 epochs",
        "1.3 s in all",
        "0.27 s per epoch",
        "0.23 s training",
        "3 MiB peak resident",
        "1 threads",
    ):
        assert words in costs
    assert lines[-1] == "record: results/abc"


def test_a_result_that_could_not_be_recorded_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, folder=None)[-1] == "record: none could be written"


def test_a_folder_with_brackets_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, folder=Path("my [bold]results[/]/abc"))[-1] == "record: my [bold]results[/]/abc"
