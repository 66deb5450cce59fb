"""What the README claims, recomputed from committed rows by code of its own: none of the code that wrote it is used."""

from __future__ import annotations

import csv
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from math import sqrt
from pathlib import Path

import pytest
from printed import Done
from repository import ROOT

RESULTS = ROOT / "benchmarks" / "results"
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def rows(pattern: str) -> Iterator[dict[str, str]]:
    """Rows of clean commits."""
    for path in RESULTS.glob(pattern):
        with path.open(newline="") as file:
            yield from (row for row in csv.DictReader(file) if not row["commit"].endswith("-dirty"))


def said(pattern: str) -> tuple[float, ...]:
    match = re.search(pattern, README)
    assert match is not None, pattern
    return tuple(map(float, match.groups()))


Measures = dict[tuple[str, str, str, str], dict[str, str]]


@pytest.fixture(scope="module")
def usual() -> list[dict[str, str]]:
    """Runs with every default of PU-Bench's case-control protocol, the newest engine revision last."""
    found = [
        row
        for row in rows("study-*.csv")
        if (row["scheme"], row["prior"], row["settings"]) == ("case-control", "true", "validation.fraction=0.01")
        and not row["draw"]
        and row["preset"] in ("", "pubench")
    ]
    return sorted(found, key=lambda row: row["revision"])


@pytest.fixture(scope="module")
def conventional(usual: list[dict[str, str]]) -> Measures:
    """(data, method, criterion, seed) -> row."""
    mine = (row for row in usual if (row["mechanism"], row["c"]) == ("scar", "0.1") and row["accuracy"])
    return {(row["data"], row["method"], row["criterion"], row["seed"]): row for row in mine}


def test_points_that_choosing_an_epoch_costs(conventional: Measures) -> None:
    decided = {
        (row["data"], row["method"], row["seed"]): float(row["accuracy_at_prior"])
        for row in rows("decisions.csv")
        if row["criterion"] == "pa"
    }
    at_0: dict[str, list[float]] = defaultdict(list)
    at_prior: dict[str, list[float]] = defaultdict(list)
    for data in ("spambase", "20news", "connect-4"):
        for method in {key[1] for key in conventional if key[0] == data} - {"pn"}:
            best = {key[3]: row for key, row in conventional.items() if key[:3] == (data, method, "f1")}
            if len(best) < 3 or any(int(row["epochs"]) == 1 for row in best.values()):
                continue
            chosen = [float(row["accuracy"]) for key, row in conventional.items() if key[:3] == (data, method, "pa")]
            at_0[data].append(
                statistics.mean(float(row["accuracy"]) for row in best.values()) - statistics.mean(chosen)
            )
            both = [
                float(row["accuracy"]) - decided[data, method, seed]
                for seed, row in best.items()
                if (data, method, seed) in decided
            ]
            at_prior[data] += [statistics.mean(both)] if len(both) >= 3 else []
    costs = sorted(statistics.mean(points) for points in at_0.values())
    most = max(statistics.mean(points) for points in at_prior.values() if points)
    lowest, highest, prior = said(r"costs (\d+) to (\d+) points on average at 0, at most (\d+) at the prior")
    assert (lowest, highest, prior) == (round(costs[0]), round(costs[-1]), round(most))


def test_data_sets_on_which_bagged_trees_rank_first(usual: list[dict[str, str]]) -> None:
    auc: dict[tuple[str, str, str], dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for criterion in ("last", "pa"):  # the last epoch where pa has no value
        for row in usual:
            if row["criterion"] == criterion and row["seed"] in ("2", "25", "42") and row["auc"]:
                auc[row["data"], row["mechanism"], row["c"]][row["method"]][row["seed"]] = float(row["auc"])
    behind: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (data, mechanism, c), methods in auc.items():
        means = {
            m: statistics.mean(of.values()) for m, of in methods.items() if len(of) == 3 and m not in ("pn", "naive")
        }
        bagged = means.pop("pu-bagging", None)
        if (
            bagged is not None
            and means
            and (mechanism, c) in {("scar", "0.1"), ("sar-lbe-a", "0.05"), ("sar-lbe-a", "0.5")}
        ):
            behind[data][mechanism].append(max(means.values()) - bagged)
    judged = [by for by in behind.values() if len(by) == 2]
    first = [by for by in judged if max(map(max, by.values())) <= 0.5]
    assert said(r"bagged trees rank first on (\d+) of (\d+) data sets") == (len(first), len(judged))


def test_published_cells_that_the_released_code_does_not_give() -> None:
    path = ROOT / "plugins" / "tools" / "report" / "src" / "pubench_report" / "published" / "pubench2026.csv"
    with path.open(newline="") as file:
        printed = {(row["method"], row["data"]): (row["mean"], row["printed"]) for row in csv.DictReader(file)}
    cells: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows("released.csv"):
        if row["standardized"] == "False":
            cells[row["method"] if row["method"] != "lbe" else "lbe-pu", row["data"]].append(100 * float(row["f1"]))
    assert cells.keys() <= printed.keys()
    judged, apart = 0, 0
    for cell, values in cells.items():
        if len(values) >= 3:
            theirs, deviation = map(float, printed[cell])
            error = sqrt(statistics.variance(values) / len(values) + deviation**2 / 10)
            judged, apart = judged + 1, apart + (abs(statistics.mean(values) - theirs) > 2 * error)
    assert said(r"(\d+) of (\d+) published cells are not what the released code gives") == (apart, judged)


def test_what_the_figure_says(conventional: Measures) -> None:
    def mean(method: str, criterion: str) -> tuple[float, int]:
        found = [float(r["accuracy"]) for key, r in conventional.items() if key[:3] == ("spambase", method, criterion)]
        return statistics.mean(found), len(found)

    methods = {key[1] for key in conventional if key[0] == "spambase"}
    assert said(r"\*\*(\d+) methods on Spambase") == (len(methods),)
    whole = {m: mean(m, "pa")[0] for m in methods - {"pn", "naive"} if mean(m, "pa")[1] == 10}
    first = max(whole, key=lambda method: whole[method])
    assert said(rf"`{first}` is first \(([\d.]+) %\)") == (round(whole[first], 1),)
    assert said(r"rows as negative, has ([\d.]+) %") == (round(mean("naive", "pa")[0], 1),)
    lost = {method: mean(method, "f1")[0] - value for method, value in whole.items()}
    worst = max(lost, key=lambda method: lost[method])
    assert said(rf"the choice costs `{worst}` (\d+) points") == (round(lost[worst]),)


def test_the_printed_run_is_that_of_the_processor_that_is_named(pubench: Callable[..., Done]) -> None:
    named = re.search(r"These numbers are of an `(.+?)` processor", README)
    assert named is not None
    cpu = Path("/proc/cpuinfo")
    if not cpu.exists() or f": {named[1]}\n" not in cpu.read_text():
        pytest.skip(f"the printed numbers are of a processor {named[1]}")
    block = re.search(r"```text\n(.+?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    done = pubench("run", "--method", "nnpu", "--data", "digits", "--c", 0.1, "--no-tracking")
    assert done.returncode == 0, done.stderr
    lines = [line for line in block[1].splitlines() if line != "..."]
    assert len(lines) == 8
    assert [line for line in lines if line not in done.stdout.splitlines()] == []
