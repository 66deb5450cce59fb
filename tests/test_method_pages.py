"""The page of every method says what the method says of itself, and what was measured."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from repository import ROOT, script

from pubench_cli.describe import describe
from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.plugins.registry import Entry, registry

RESULTS = ROOT / "benchmarks" / "results"
METHODS = [entry for entry in registry().entries("method") if entry.status == "ok"]
#: Columns of a study's rows, and what they hold under PU-Bench's main comparison.
CONVENTIONAL = {
    "criterion": "f1", "mechanism": "scar", "c": "0.1", "scheme": "case-control", "prior": "true",
    "preset": "pubench", "settings": "validation.fraction=0.01",
}  # fmt: skip
#: Columns that files of rows have: of runs, of costs.
MARKS = {"criterion", "training_seconds"}


@cache
def all_stored() -> dict[str, list[dict[str, str]]]:
    """method -> its raw rows in every file."""
    found: dict[str, list[dict[str, str]]] = {}
    for path in sorted(RESULTS.glob("*.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(row.get("method", ""), []).append(row)
    return found


def stored(method: str, column: str) -> list[dict[str, str]]:
    """The raw rows of a method in every file that has such a column."""
    return [row for row in all_stored().get(method, []) if column in row]


MEASURED = [entry for entry in METHODS if any(MARKS & row.keys() for row in all_stored().get(entry.key, ()))]


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    return script("docs/method_pages.py")


@pytest.fixture(scope="module")
def page_of(pages: ModuleType) -> Callable[[Entry], str]:
    """The page of a method, which is made of all stored rows: once for all tests."""
    entries = {entry.key: entry for entry in METHODS}
    made = cache(lambda key: str(pages.page(describe(entries[key]))))
    return lambda entry: made(entry.key)


@pytest.mark.parametrize("entry", METHODS, ids=lambda entry: entry.key)
def test_a_page_has_reference_docstring_hyperparameters_and_presets(
    page_of: Callable[[Entry], str], entry: Entry
) -> None:
    described, page = describe(entry), page_of(entry)
    assert page.startswith(f"# {described['name']}\n")
    if described["reference"] is not None:  # the supervised oracle has none
        assert described["reference"]["title"] in page
    assert described["follows"].replace("|", "\\|") in page
    for row in described["hyper_parameters"]:
        assert f"| {row['name']} |" in page
        assert row["meaning"].replace("|", "\\|") in page
        assert not re.search(r"[\[<]|typing", row["values"])  # words, not types of Python
    for name in described["presets"]:
        assert f"**`{name}`**" in page


def test_the_index_links_every_method(pages: ModuleType) -> None:
    index = pages.index([describe(entry) for entry in METHODS])
    for entry in METHODS:
        assert f"({entry.key}.md)" in index


# -------------------------------------------------------------------- what was measured


def is_current(row: dict[str, str]) -> bool:
    """Whether a row is of the present engine revision."""
    return row.get("revision") == str(ENGINE_REVISION)


def section(page: str) -> str:
    """What a page says was measured."""
    _, found, rest = page.partition("\n## Measured\n")
    assert found, "the page has no section 'Measured'"
    return rest.partition("\n## ")[0].strip()


@pytest.mark.parametrize("entry", [one for one in MEASURED if "pubench" in one.info.presets], ids=lambda one: one.key)
def test_a_page_has_mean_deviation_and_number_of_seeds_of_every_data_set(
    page_of: Callable[[Entry], str], entry: Entry
) -> None:
    measured = section(page_of(entry))
    table = measured.split("\n\n")[1]  # after the protocol's words
    values: dict[str, dict[str, dict[str, float]]] = {}  # data -> measure -> seed -> value
    current: dict[str, dict[str, bool]] = {}  # data -> seed -> whether the row is of the present engine revision
    rows = stored(entry.key, "study")
    rows = [{**row, "settings": row["settings"].removeprefix("precision=tf32 ")} for row in rows]  # PU-Bench has TF32
    mine = [row for row in rows if [row.get(name) for name in CONVENTIONAL] == list(CONVENTIONAL.values())]
    for row in sorted(mine, key=is_current):  # the last row of a run counts
        current.setdefault(row["data"], {})[row["seed"]] = is_current(row)
        for measure in ("accuracy", "f1", "auc"):
            values.setdefault(row["data"], {}).setdefault(measure, {})[row["seed"]] = float(row[measure])
    assert values
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    marks = {data: "" if all(current[data].values()) else " †" for data in values}
    assert [line[0] for line in lines] == [f"`{data}`{marks[data]}" for data in sorted(values)]
    for (_, n, *cells), (_, measures) in zip(lines, sorted(values.items()), strict=True):
        assert int(n) == len(measures["accuracy"])
        for cell, seeds in zip(cells, measures.values(), strict=True):
            numbers = list(seeds.values())
            expected = [np.mean(numbers), np.std(numbers, ddof=1)] if len(numbers) > 1 else numbers
            assert [float(number) for number in cell.split(" ± ")] == pytest.approx(expected, abs=0.00501)


def older(runs: int) -> str:
    """What a page says when all of these runs are of rows that name no engine revision."""
    what = f"older engine revision (now {ENGINE_REVISION})"
    return f"†: {runs} of {runs} runs are of an {what}."


ACCURACY = (
    "method,data,seed,prior,criterion,selected,accuracy,f1,auc,run_id,commit,machine,scheme,mechanism,c,preset,"
    "settings,study\n"
)
COST = "next_to,method,round,seconds,training_seconds,threads,commit,machine\n"


def test_the_words_of_a_protocol_are_those_of_its_rows(pages: ModuleType, tmp_path: Path) -> None:
    rows = [
        ("digits", 2, "true", "f1", 90, "case-control"),
        ("digits", 25, "true", "f1", 92, "case-control"),
        ("digits", 42, "true", "f1", 97, "case-control"),
        ("letter", 2, "0.4", "pa", 80, "single-training-set"),
    ]
    text = "".join(
        f"pusb,{data},{seed},{prior},{criterion},True,{accuracy},50,,{data}{seed},abc,a machine,{scheme},scar,0.1,"
        "pubench,x=1,some\n"
        for data, seed, prior, criterion, accuracy, scheme in rows
    )
    (tmp_path / "some.csv").write_text(ACCURACY + text)
    (tmp_path / "cost.csv").write_text(
        COST
        + "".join(
            f"pusb,{m},{s},{s if m == 'pusb' else 2},1,2,abc,a machine\n" for s in (3, 5) for m in ("pusb", "nnpu")
        )
    )
    (tmp_path / "of-another-script.csv").write_text("what,seconds\npusb,1\n")
    entry = next(entry for entry in METHODS if entry.key == "pusb")
    assert section(pages.page(describe(entry), tmp_path)).split("\n\n") == [
        "Case-control, SCAR, c = 0.1, preset `pubench`, epoch by validation `f1` (oracle), true prior, `x=1`. "
        "Test measures in percent, mean ± sample standard deviation over the seeds:",
        "| data | seeds | `accuracy` (oracle) | `f1` (oracle) | `auc` (oracle) |\n"
        "| --- | ---: | ---: | ---: | --- |\n"
        "| `digits` † | 3 | 93.00 ± 3.61 | 50.00 ± 0.00 | undefined |",
        "Raw rows: `some.csv` in `benchmarks/results/`; commit `abc`; a machine. " + older(3),
        "<details markdown><summary>Other settings: 1</summary>",
        "Single-training-set, SCAR, c = 0.1, preset `pubench`, epoch by validation `pa`, prior given as 0.4, `x=1`. "
        "Test measures in percent, mean ± sample standard deviation over the seeds:",
        "| data | seeds | `accuracy` (oracle) | `f1` (oracle) | `auc` (oracle) |\n"
        "| --- | ---: | ---: | ---: | --- |\n"
        "| `letter` † | 1 | 80.00 | 50.00 | undefined |",
        "Raw rows: `some.csv` in `benchmarks/results/`; commit `abc`; a machine. " + older(1),
        "</details>",
        "Cost on `fashion-mnist`, preset `pubench`, 2 CPU threads: 4.00 ± 1.41 s per epoch, training and scoring "
        "together, 2.00 times that of `nnpu` next to it. An epoch is what the method calls one. "
        "Raw rows: `cost.csv` in `benchmarks/results/`; commit `abc`; a machine.",
    ]


def test_a_method_without_rows_says_so(pages: ModuleType, tmp_path: Path) -> None:
    assert section(pages.page(describe(METHODS[0]), tmp_path)) == pages.UNMEASURED
