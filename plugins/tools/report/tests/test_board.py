"""The front page of a site: what it says of the committed rows, checked by hand, and that its script says the same."""

from __future__ import annotations

import csv
import html
import json
import math
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from browser import browser, faults, needs_browser
from made_studies import made_run, stored
from pubench_report.ranking import (
    Ranking,
    changes,
    compared_seeds,
    counted_in,
    headline,
    not_told_apart,
    ranking_of,
    resampling,
)
from pubench_report.report.gather import gather
from pubench_report.report.model import Model, model_of

import pubench
from pubench_core.results import CriterionResult

ROOT = Path(__file__).parents[4]
#: Files of the leaderboard with runs of its first setting; ``tests/test_docs.py`` builds the board of all files.
NAMES = ("classics", "conventional", "conventional-13", "methods-2", "methods-3", "methods-4", "spambase-raw")
ROWS = [ROOT / "benchmarks" / "results" / f"study-{name}.csv" for name in NAMES]
#: Largest front page, in bytes.
BUDGET = 250_000


#: Names of data sets, by their key.
SOURCES = {"imdb": "IMDb", "spambase": "Spambase"}


@pytest.fixture(scope="module")
def index(made_once: Callable[..., Path]) -> Path:
    """The front page of the committed rows, decided at 0."""
    return made_once("leaderboard-at-0", lambda folder: pubench.site(ROWS, folder, measure="accuracy")) / "index.html"


def text_of(page: Path, element: str) -> str:
    """What a front page says of ranks, of which the file itself has the setting alone."""
    if element != "setting":
        values = re.search(r'id="values">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
        first = json.loads(values[1])["settings"][0]  # type: ignore[index]
        return " ".join(first["shown"][first["measure"]][first["criterion"]][element].split())
    found = re.search(rf'id="{element}"[^>]*>(.*?)</', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return html.unescape(" ".join(found[1].split()))


def made(tmp_path: Path, values: dict[tuple[str, str], list[float]], alike: tuple[str, ...] = ()) -> Model:
    """A model of accuracies by seed. ``alike``: methods whose runs decide every row alike."""
    runs = []
    for (method, data), of in values.items():
        for seed, value in zip((2, 25, 42), of, strict=False):
            runs.append(
                made_run(method, data, seed, {"pa": value, "f1": value}, alike=("pa",) if method in alike else ())
            )
    return model_of(gather(None, stored(tmp_path / "results", runs), None), "accuracy", "pa")


def standing(model: Model) -> Ranking:
    (setting,) = model.settings
    return model.ranking(setting, model.measure, "pa")


# -------------------------------------------------------------------- points below the best, by hand


def test_points_below_the_best_are_means_over_data_sets(tmp_path: Path) -> None:
    found = standing(
        made(
            tmp_path,
            {
                ("nnpu", "imdb"): [0.90, 0.80], ("nnpu", "spambase"): [0.60, 0.60],
                ("vpu", "imdb"): [0.80, 0.80], ("vpu", "spambase"): [0.70, 0.72],
                ("upu", "imdb"): [0.50, 0.50],
            },
        )
    )  # fmt: skip
    # best: .85 on imdb, .71 on spambase; nnpu is 0 and 11 below, vpu 5 and 0; upu lacks a data set
    assert [(place.row, place.rank) for place in found.places] == [("vpu", 1), ("nnpu", 2)]
    assert [round(place.below, 6) for place in found.places] == [2.5, 5.5]
    assert sum(place.first for place in found.places) == pytest.approx(1)
    assert all(place.low <= place.below <= place.high for place in found.places)
    names = {"vpu": "VPU", "nnpu": "nnPU"}
    said = headline(found, names, SOURCES)[0]
    assert said == "VPU comes closest to the best of each data set: 2.5 points below it on average."


def test_a_method_that_is_best_everywhere_is_called_best(tmp_path: Path) -> None:
    values = {("nnpu", "imdb"): [0.90, 0.80], ("vpu", "imdb"): [0.80, 0.75], ("upu", "imdb"): [0.90, 0.80]}
    names = {"nnpu": "nnPU", "vpu": "VPU", "upu": "uPU"}
    on_one = headline(standing(made(tmp_path / "one", values)), names, SOURCES)
    assert on_one[0] == "nnPU and uPU are best on IMDb; VPU, the second, is 7.5 points below."
    assert on_one[1].startswith("Over resampled seeds nnPU comes first in")
    values |= {("nnpu", "spambase"): [0.7, 0.7], ("vpu", "spambase"): [0.6, 0.6], ("upu", "spambase"): [0.65, 0.65]}
    on_two = headline(standing(made(tmp_path / "two", values)), names, SOURCES)
    assert on_two[0] == "nnPU is best on each of 2 data sets; uPU, the second, is 2.5 points below."
    assert on_two[1].startswith("Over resampled data sets and seeds it comes first in")


def test_a_baseline_that_no_method_beats_comes_first(tmp_path: Path) -> None:
    """naive is .5 points above the best method, then 5 below it and level with the first."""
    names = {"nnpu": "nnPU", "vpu": "VPU", "naive": "Naive"}
    values = {("nnpu", "imdb"): [0.9, 0.8], ("vpu", "imdb"): [0.8, 0.7], ("naive", "imdb"): [0.91, 0.8]}
    said = headline(standing(made(tmp_path / "above", values)), names, SOURCES)[0]
    assert said == (
        "No method beats Naive (baseline), 0.5 points above the best of each data set on average. nnPU "
        "is best on IMDb; VPU, the second, is 10.0 points below."
    )
    level = values | {("nnpu", "spambase"): [0.6, 0.6], ("vpu", "spambase"): [0.7, 0.7], ("naive", "imdb"): [0.8, 0.8]}
    found = standing(made(tmp_path / "level", level | {("naive", "spambase"): [0.65, 0.65]}))
    assert headline(found, names, SOURCES)[0] == (
        "No method beats Naive (baseline), 5.0 points below the best of each data set on average. nnPU "
        "and VPU come closest: 5.0."
    )
    assert not any("baseline" in line for line in changes(found, names, SOURCES))


def test_methods_with_equal_values_share_the_first_place(tmp_path: Path) -> None:
    found = standing(made(tmp_path, {(m, d): [0.9, 0.8] for m in ("nnpu", "upu") for d in ("imdb", "spambase")}))
    assert [(place.rank, place.first) for place in found.places] == [(1, 0.5), (1, 0.5)]
    said = headline(found, {"nnpu": "nnPU", "upu": "uPU"}, SOURCES)[0]
    assert said == "nnPU and uPU are best on each of 2 data sets."


def test_a_method_that_decides_every_row_alike_is_never_best(tmp_path: Path) -> None:
    values = {("vpu", d): [0.95, 0.95] for d in ("imdb", "spambase")}
    values |= {("nnpu", d): [0.90, 0.90] for d in ("imdb", "spambase")}
    values |= {("upu", d): [0.80, 0.80] for d in ("imdb", "spambase")}
    model = made(tmp_path, values, alike=("vpu",))
    assert [round(place.below, 6) for place in standing(model).places] == [0, 0, 10]
    cells = model.cells(model.measure, "pa")
    assert {row: cells[row, "imdb"].mark for row in ("vpu", "nnpu", "upu")} == {
        "vpu": "", "nnpu": "best", "upu": "second",
    }  # fmt: skip


def test_one_seed_has_no_best_and_no_rank(tmp_path: Path) -> None:
    model = made(tmp_path, {(m, "imdb"): [0.9 if m == "nnpu" else 0.8] for m in ("nnpu", "vpu")})
    assert standing(model).places == ()
    assert standing(model).why.startswith("One seed per data set")
    assert {cell.mark for cell in model.cells(model.measure, "pa").values()} == {""}


@pytest.mark.parametrize(
    ("seeds_of", "shared"),
    [
        ([range(10)] * 5 + [range(3)] * 2, (0, 1, 2)),  # three that all have
        ([range(10)] * 5 + [range(2)], tuple(range(10))),  # one method is not worth two seeds
        ([{2, 25}, {2, 25}, {2, 25, 42}], (2, 25)),  # as many as most have
        ([{1}, {1}], (1,)),
        ([], ()),
    ],
)
def test_seeds_are_those_that_most_methods_share(seeds_of: list[Any], shared: tuple[int, ...]) -> None:
    assert compared_seeds([set(seeds) for seeds in seeds_of]) == shared


def test_a_resample_draws_sources_with_all_their_data_sets_and_then_seeds() -> None:
    weights = resampling(("letter", "letter", "usps"), (2, 2, 3))
    assert weights.sum(axis=1) == pytest.approx(1)
    by_column = np.stack([part.sum(axis=1) for part in np.split(weights, [2, 4], axis=1)], axis=1)
    drawn = {tuple(row) for row in by_column.round(3)}
    assert drawn == {(0.5, 0.5, 0), (0.333, 0.333, 0.333), (0, 0, 1)}  # both letter, one of each, both usps
    assert weights.mean(axis=0)[:4] == pytest.approx(fmean(weights.mean(axis=0)[:4]), rel=0.1)


# -------------------------------------------------------------------- what cannot be told apart


def ranked(values: dict[str, dict[str, list[float]]]) -> Ranking:
    """Ranking of methods: data set -> method -> values by seed, in points."""
    of = {data: {m: dict(enumerate(v)) for m, v in methods.items()} for data, methods in values.items()}
    rows = list(next(iter(of.values())))
    return ranking_of(of, rows, counted_in(of, rows), {data: data for data in of})


def apart(found: Ranking) -> list[str]:
    return not_told_apart(found, {"a": "A", "b": "B"}, {data: data for data in found.columns})


def test_the_smallest_difference_is_half_the_interval_of_a_pair_over_resamples() -> None:
    """Differences of 1, 2, 3 points on three data sets: a mean of three draws is from 1.33 to 2.67 in 90 of 100."""
    (said,) = apart(ranked({d: {"a": [90.0] * 3, "b": [90.0 - k] * 3} for k, d in enumerate(("d1", "d2", "d3"), 1)}))
    draws = np.array(np.meshgrid(*[[1, 2, 3]] * 3)).mean(axis=0).ravel()
    low, high = np.quantile(draws, [0.05, 0.95])
    found = re.fullmatch(r"0 of 1 pair of methods cannot be .* differences below about (.*) points do not show\.", said)
    assert found is not None
    assert float(found[1]) == pytest.approx((high - low) / 2, abs=0.2)


def test_what_would_tell_two_methods_apart_grows_with_the_square_of_their_spread() -> None:
    """One better by 4 on one data set and worse by 3 on the other: 0.5 points, an interval of 3.5 to each side."""
    found = ranked({"d1": {"a": [84.0] * 3, "b": [80.0] * 3}, "d2": {"a": [80.0] * 3, "b": [83.0] * 3}})
    assert [place.first for place in found.places] == pytest.approx([0.75, 0.25], abs=0.05)  # unless d2 is drawn twice
    first, second = apart(found)
    assert first.startswith("1 of 1 pair of methods cannot be told apart here: differences below about 3.5 points")
    needed = math.ceil(2 * (3.5 / 0.5) ** 2)
    assert second == f"A and B differ by 0.5 points; about {needed} data sets would tell them apart."


def test_a_data_set_on_which_seeds_differ_more_than_methods_tells_nobody_apart() -> None:
    noisy = {"a": [90.0, 70.0, 80.0], "b": [71.0, 89.0, 78.0]}
    clear = {"a": [90.0, 90.1, 90.2], "b": [80.0, 80.2, 80.1]}
    assert ranked({"noisy": noisy, "clear": clear}).silent == ("noisy",)


# -------------------------------------------------------------------- the committed rows


def by_hand(criterion: str = "pa") -> dict[str, list[list[float]]]:
    """Method with its base -> accuracies with seeds 2, 25, 42 on 20news, spambase, from the files."""
    data, seeds = ("20news", "spambase"), ("2", "25", "42")
    newest: dict[tuple[str, str, str], tuple[int, float]] = {}
    for path in ROWS:
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                wanted = (row["scheme"], row["c"], row["criterion"]) == ("case-control", "0.1", criterion)
                if wanted and row["data"] in data and row["seed"] in seeds and "raw" not in path.name:
                    base = re.search(r"\bbase=\w+", row["settings"])
                    name = " ".join([row["method"], *([base[0]] if base else [])])
                    revision, place = int(row["revision"] or 0), (name, row["data"], row["seed"])
                    if place not in newest or revision > newest[place][0]:
                        newest[place] = (revision, float(row["accuracy"]))
    methods = dict.fromkeys(method for method, _, _ in newest)
    complete = [m for m in methods if all((m, d, s) in newest for d in data for s in seeds)]
    return {m: [[newest[m, d, s][1] for s in seeds] for d in data] for m in complete}


def points_below(values: dict[str, list[list[float]]]) -> tuple[dict[str, float], list[float]]:
    """Method -> mean points below the best of each data set; and these bests. The baseline sets none."""
    means = {m: [fmean(of) for of in by_data] for m, by_data in values.items()}
    best = [max(column) for column in zip(*(of for m, of in means.items() if m != "naive"), strict=True)]
    return {m: fmean(b - v for b, v in zip(best, of, strict=True)) for m, of in means.items()}, best


def test_the_headline_of_the_committed_rows_is_what_a_calculation_by_hand_gives(index: Path) -> None:
    values = {name: of for name, of in by_hand().items() if not name.startswith(("naive", "pn"))}
    below, best = points_below(values)
    first = min(below, key=lambda method: below[method])
    said, limits = text_of(index, "headline"), text_of(index, "changes")
    assert first == "pu-bagging base=forest"
    assert said.startswith(
        f"PU bagging, forest comes closest to the best of each data set: {below[first]:.1f} points below it on average."
    )
    for left, name in enumerate(["20 Newsgroups", "Spambase"]):
        then = min(below, key=lambda method: best[1 - left] - fmean(values[method][1 - left]))
        assert (f"Without {name} it would be" in limits) is (then != first)
    assert f"{len(below)} of " in text_of(index, "setting")


def test_the_front_page_is_small_and_names_no_folder_of_the_machine(index: Path) -> None:
    text = index.read_text(encoding="utf-8")
    assert len(text.encode()) < BUDGET
    assert str(ROOT) not in text
    assert "/work/" not in text
    assert not re.search(r'(src|href)="(https?:|/)', text.partition("<script>")[0])
    data = json.loads(re.search(r'id="values">(.*?)</script>', text, re.DOTALL)[1])  # type: ignore[index]
    assert len(data["settings"][0]["shown"]["accuracy"]) > 1  # criteria to choose from
    assert data["settings"][0]["shown"]["accuracy-at-prior"]
    assert data["settings"][0]["title"] == "Case-control, SCAR, 10 % of positives labeled"
    runs = [sum(cell[3] for cell in one["cells"]) for one in data["settings"]]
    assert runs[0] == max(runs)


# -------------------------------------------------------------------- in a browser


@needs_browser
def test_the_script_says_what_the_file_says_in_readable_colors_and_asks_for_nothing(index: Path) -> None:
    with browser() as page:
        assert faults(page, index, width=1280) == []
        page.goto(f"file://{index}#show=value")
        page.reload()
        for element in ("headline", "changes", "apart", "setting"):
            assert " ".join(page.inner_text(f"#{element}").split()) == text_of(index, element)
        written = re.search(r'<table id="standing">.*?</table>', index.read_text(encoding="utf-8"), re.DOTALL)
        shown = page.evaluate("() => document.getElementById('board').outerHTML")
        places, drawn = _places(written[0]), _places(shown)  # type: ignore[index]
        assert len(places) > 10
        assert [(rank, name.startswith(called)) for (rank, name), (_, called) in zip(drawn, places, strict=True)] == [
            (rank, True) for rank, _ in places
        ]


@needs_browser
def test_figures_below_the_window_are_drawn_for_print_and_the_table_fits(index: Path) -> None:
    with browser() as page:
        page.goto(f"file://{index}#show=value")
        assert page.evaluate("document.querySelectorAll('*').length") < 3000
        figures, table = page.locator("#cost svg, #time svg"), page.locator(".wide").first
        assert figures.count() == 0
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert figures.count() == 2
        assert table.evaluate("one => one.scrollWidth - one.clientWidth") <= 1
        assert page.locator("#board thead th.c").count() >= 9


@needs_browser
def test_a_run_without_a_value_is_not_called_not_run(tmp_path: Path) -> None:
    """PA of vpu on IMDb; upu was not run on 20 Newsgroups, and puet has only accuracies of 0."""
    undefined = CriterionResult(oracle=False, undefined="no labeled positive was held out")
    made = []
    for method, data, seed in product(("nnpu", "vpu", "upu", "puet"), ("imdb", "20news"), (2, 25, 42)):
        run = made_run(method, data, seed, {"pa": 0.0 if method == "puet" else 0.8, "f1": 0.9})
        if (method, data) == ("vpu", "imdb"):
            run = run.model_copy(update={"criteria": {**run.criteria, "pa": undefined}})
        made += [run] if (method, data) != ("upu", "20news") else []
    index = pubench.site(stored(tmp_path / "results", made), tmp_path / "site")
    with browser() as page:
        page.goto(f"file://{index}")
        texts = page.locator("#board tbody td.c").all_inner_texts()
    assert (texts.count("n/a"), texts.count("–"), texts.count("0.0")) == (1, 1, 2)


def _places(table: str) -> list[tuple[str, str]]:
    """Rank and method of each ranked row."""
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in table.split("<tr")[2:]]
    texts = [[html.unescape(" ".join(re.sub(r"<[^>]*>", " ", cell).split())) for cell in row] for row in rows]
    return [(row[0], row[1]) for row in texts if row[0]]


@needs_browser
def test_what_is_chosen_stands_in_the_address_and_comes_back(index: Path) -> None:
    with browser(width=390) as page:
        page.goto(f"file://{index}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.click("summary >> text=Choose")
        page.click("button[data-criterion=f1]")
        oracle = page.inner_text("#headline")
        assert "(oracle)" in page.inner_text("#setting")
        address = page.url
        assert address.endswith("#by=f1")
        page.goto("about:blank")
        page.goto(address)
        assert page.inner_text("#headline") == oracle


@needs_browser
def test_the_keyboard_reaches_a_cell_and_its_seeds(index: Path) -> None:
    with browser() as page:
        page.goto(f"file://{index}#show=value")
        page.focus("#board tbody tr:first-child th a")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.dataset.cell") is not None
        page.keyboard.press("Enter")
        assert page.inner_text("#drawer h2") == "PU bagging, forest on 20 Newsgroups"
        assert "over 3 seeds" in page.inner_text("#drawer p")
        page.keyboard.press("Escape")
        assert not page.is_visible("#drawer")
        page.click("#board thead button >> text=s / run")
        assert page.get_attribute("#board thead th:nth-child(5)", "aria-sort") == "ascending"
        seconds = [
            float(text.replace("○", "")) for text in page.locator("#board tbody td:nth-child(5)").all_inner_texts()
        ]
        assert seconds == sorted(seconds)
