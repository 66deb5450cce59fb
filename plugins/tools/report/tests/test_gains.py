"""Gains over a reference: paired by seed, of two methods alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from browser import browser, needs_browser
from made_studies import made_run, stored, varied
from pubench_report.pages.report import page
from pubench_report.pages.view import payload, views_of
from pubench_report.ranking import MeanGain, gain_sentences, gains_over, is_sure, mean_gain
from pubench_report.report.gather import gather
from pubench_report.report.model import Model, comparisons_of, model_of
from pubench_report.report.write import verdict
from pubench_report.rows.runs import share_of_positives
from pubench_report.significance import Pair

import pubench
from pubench_core.specs import MethodSpec

DATA = ("digits", "imdb", "spambase", "letter", "usps")
SEEDS = (2, 25, 42)
LEVELS = {"naive": 0.8, "nnpu": 0.82, "vpu": 0.7}


def made(folder: Path, left_out: Sequence[str | int] = (), variant: Sequence[str] = ()) -> Model:
    """Three methods on five data sets; nnpu gains 2 points everywhere, except for a spread of its seeds.

    ``left_out``: method, data set, seed of runs that are missing; ``variant``: data sets with another vpu.
    """
    runs = [
        made_run(m, d, s, dict.fromkeys(("pa", "f1"), level + 0.01 * k + (0.001 * k if m == "nnpu" else 0.0)))
        for m, level in LEVELS.items()
        for d in DATA
        for k, s in enumerate(SEEDS)
        if not left_out or (m, d, s)[: len(left_out)] != tuple(left_out)
    ]
    other = MethodSpec(key="vpu", config={"lr": 0.1, "epochs": 40})
    runs += [varied(made_run("vpu", d, s, {"pa": 0.9, "f1": 0.9}), method=other) for d in variant for s in SEEDS]
    return model_of(gather(None, stored(folder, runs), None), "accuracy", "pa")


def gains_in(model: Model) -> tuple[dict[tuple[str, str], Any], dict[str, Any], list[str]]:
    """Gains by method and data set, mean gains by method, and the sentences, as a page has them."""
    (view,) = views_of(model)
    setting = payload([view], {}, 10**6)["settings"][0]
    shown = setting["shown"]["accuracy"]["pa"]
    (found,) = shown["gains"]
    labels = [column.spec.data.key for column in view.setting.columns]
    values = zip(shown["cells"], found["cells"], setting["cells"], strict=True)
    gains = [gain and [gain[0], sum(gain[2:3]) or sum(value[2:3]) or cell[3]] for value, gain, cell in values]
    cells = zip(setting["cells"], gains, strict=True)
    means = {view.rows[r]: of for r, *of in found["rows"]}
    return {(view.rows[r], labels[c]): gain for (r, c, *_), gain in cells}, means, found["said"]


def test_a_gain_is_the_mean_difference_over_the_seeds_that_both_have() -> None:
    reference = {"a": {1: 80.0, 2: 82.0, 3: 84.0}, "b": {1: 50.0}}
    found = over(reference, {"a": {1: 81.0, 2: 84.0, 9: 0.0}, "b": {2: 60.0}, "c": {1: 1.0}})
    assert [(gain.data, gain.difference, gain.n, is_sure(gain)) for gain in found] == [("a", 1.5, 2, False)]
    (sure,) = over(reference, {"a": {1: 83.0, 2: 85.1, 3: 86.9}})
    assert (sure.difference, is_sure(sure)) == (pytest.approx(3.0), True)


def over(reference: dict[str, dict[int, float]], mine: dict[str, dict[int, float]]) -> list[Pair]:
    """Gains of one method. Given: data set -> seed -> points."""
    values = {data: {"reference": reference.get(data, {}), "mine": of} for data, of in mine.items()}
    found = gains_over(values, "reference")
    assert {method for method, _ in found} == {"mine"}
    return list(found.values())


def test_data_sets_of_one_source_count_once() -> None:
    reference = {name: {1: 50.0} for name in ("a1", "a2", "b")}
    gains = over(reference, {"a1": {1: 51.0}, "a2": {1: 53.0}, "b": {1: 54.0}})
    assert mean_gain(gains, {"a1": "a", "a2": "a", "b": "b"}) == MeanGain({"a": 2.0, "b": 4.0}, 0, 0, False)
    assert mean_gain([], {}) is None


def test_the_sentence_names_who_is_ahead_of_five_data_sets_or_more() -> None:
    ahead, not_sure, few = of(2.0, 6, sure=True), of(2.4, 5), of(9.0, 4)
    assert gain_sentences({"A": ahead, "B": not_sure, "C": few}, "naive", {}) == [
        "On average 1 of 2 methods is ahead of naive: A.",
        "The highest mean gain is that of B: +2.4 points on 5 data sets.",
    ]
    none = "On average no method of 1 with 5 data sets or more is ahead of naive"
    assert gain_sentences({"B": not_sure}, "naive", {})[0] == f"{none} for sure."
    assert gain_sentences({"B": of(-1.0, 5)}, "naive", {})[0] == f"{none}."


def of(points: float, data: int, *, sure: bool = False) -> MeanGain:
    return MeanGain(dict.fromkeys(map(str, range(data)), points), 0, 0, sure)


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ({"A": {"x": 3.61}}, "Compared with naive: A gains most on Digits (+3.6 points)."),
        (
            {"A": {"x": 3.0, "y": -2.0}, "B": {"x": 1.0, "y": 0.04}},
            "Compared with naive: A gains most on Digits (+3.0 points); no method gains on Letter.",
        ),
    ],
)
def test_with_few_data_sets_the_sentence_names_who_gains_most_on_each(gains: dict[str, Any], said: str) -> None:
    means = {name: MeanGain(points, 0, 0, False) for name, points in gains.items()}
    found = gain_sentences(means, "naive", {"x": "Digits", "y": "Letter"})
    assert found == [said, "Methods share fewer than 5 data sets with it, too few for a ranking."]


def test_without_a_common_seed_nothing_is_said_of_gains() -> None:
    assert gain_sentences({}, "naive", {}) == [
        "No method has a seed in common with naive, so gains over it are unknown."
    ]


@pytest.mark.parametrize("left_out", [("vpu", "imdb", 25), ("vpu", "digits", 2), ("vpu", "imdb"), ("vpu",)])
def test_missing_runs_of_one_method_change_no_gain_of_another(tmp_path: Path, left_out: tuple[str, ...]) -> None:
    cells, means, _ = gains_in(made(tmp_path / "all"))
    fewer, means_of_fewer, _ = gains_in(made(tmp_path / "fewer", left_out))
    assert {place: of for place, of in cells.items() if place[0] == "nnpu"} == {
        place: of for place, of in fewer.items() if place[0] == "nnpu"
    }
    assert means["nnpu"] == means_of_fewer["nnpu"] == [2.1, 5, 0, 5]
    if len(left_out) == 3:
        assert fewer["vpu", left_out[1]] == [-10.0, 2]
    assert cells["naive", "imdb"] == 0


def test_a_variant_of_a_method_changes_no_headline(tmp_path: Path) -> None:
    *_, means, said = gains_in(made(tmp_path / "all"))
    *_, more, with_variant = gains_in(made(tmp_path / "more", variant=DATA[:4]))
    assert with_variant == said
    assert len(more) == len(means) + 1


def test_one_method_competes_with_the_baseline_next_to_it(tmp_path: Path) -> None:
    said = verdict(made(tmp_path, ("vpu",)))
    assert said.startswith("nnpu is best on each of 5 data sets; naive, the second, is 2.1 points below.")


def test_measures_imply_the_share_of_positives() -> None:
    positive, negative, hit, wrong = 30, 70, 20, 14  # rows, and positive decisions among them
    accuracy, precision = (hit + negative - wrong) / 100, hit / (hit + wrong)
    assert share_of_positives(accuracy, precision, hit / positive) == pytest.approx(0.3)


@needs_browser
def test_the_page_shows_gains_with_the_reference_on_top(tmp_path: Path) -> None:
    model = made(tmp_path / "results")
    (tmp_path / "report.html").write_text(page(views_of(model), comparisons_of(model, "nnpu"), ["Report"]))
    with browser() as window:
        window.goto(f"file://{tmp_path}/report.html")
        window.click("button[data-show=gain]")
        assert window.url.endswith("#show=gain")
        assert window.inner_text("#headline").startswith("On average 1 of 2 methods is ahead of")
        rows = [text.split("\t") for text in window.locator("#board tbody tr").all_inner_texts()]
        assert [row[0].split()[0] for row in rows] == ["Unlabeled", "nnPU", "VPU"]
        assert rows[1][1:3] == ["+2.1", "5 : 0 / 5"]
        assert set(rows[2][4:]) == {"−10.0"}
        assert "One answer for all rows" in window.inner_text("#board tfoot")
        window.select_option("[data-select=over]", "nnpu")  # a method is compared with any other
        assert window.url.endswith("#show=gain&over=nnpu")
        rows = [text.split("\t") for text in window.locator("#board tbody tr").all_inner_texts()]
        assert {row[0].split()[0]: row[1] for row in rows} == {"nnPU": "0.0", "Unlabeled": "−2.1", "VPU": "−12.1"}
        window.click("#tools button >> text=CSV")
        assert (
            window.input_value("#drawer textarea").splitlines()[2].startswith("Unlabeled as negative,−2.1,0 : 5 / 5,")
        )


@needs_browser
def test_the_heat_table_has_the_mean_gain_of_each_setting(tmp_path: Path) -> None:
    """nnpu gains 2.1 points at 10 % and loses 3 at 50 %; vpu gains 0 on two data sets of the first setting."""
    of = {0.1: {**LEVELS, "nnpu": 0.821, "vpu": 0.8}, 0.5: {"naive": 0.8, "nnpu": 0.77}}
    data = {"vpu": DATA[:2]}
    runs = [
        made_run(m, d, s, dict.fromkeys(("pa", "f1"), level), c=c)
        for c, levels in of.items()
        for m, level in levels.items()
        for d in data.get(m, DATA)
        for s in SEEDS
    ]
    index = pubench.site(stored(tmp_path / "results", runs), tmp_path / "site")
    with browser() as window:
        window.goto(f"file://{index}")
        window.wait_for_selector(".heat tr")
        rows = [text.split() for text in window.locator(".heat tr").all_inner_texts()]
        assert rows == [
            ["method", "Case-control,", "SCAR"],
            ["10", "%", "50", "%"],
            ["nnPU", "+2.1", "−3.0"],
            ["VPU", "0.0", "2", "–"],
        ]
        assert window.locator("#board tbody td.c").all_inner_texts().count("0.0") == 2
        window.click(".heat thead >> text=50 %")
        window.wait_for_selector("#setting:text('50 % of positives labeled')")  # a page answers after the click
        assert window.inner_text("#setting").startswith("Case-control, SCAR, 50 % of positives labeled")
