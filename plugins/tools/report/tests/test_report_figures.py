"""Figures of a report with many methods: nothing overlaps, and no series differs from another by its color alone."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from made_studies import made_study, run_id_of, stored
from pubench_report.drawing import Cost, Panel, costs, dots, looks, plain_style, rank_figure
from pubench_report.pages.report import page
from pubench_report.ranking import RankInterval
from pubench_report.report.figures import (
    NamedFigure,
    all_figures,
    by_criterion,
    costs_of,
    no_costs,
    values_of,
    write_figures,
)
from pubench_report.report.gather import gather
from pubench_report.report.model import Model, model_of
from pubench_report.report.statistics import comparisons_of

from pubench_core.results import Result
from pubench_core.specs import MechanismSpec, ValidationSpec

#: As long as names of methods get, and a few that differ little.
METHODS = ["nnpu", "pn", *(f"method-of-some-length-{k}" for k in range(24))]


KEYS = ["methods-s1", "measures-s1", "criteria-s1", "means-s1", "ranks-s1", "difference-s1", "cost-s1"]


def figures_of(folder: Path, **study: Any) -> dict[str, NamedFigure]:
    model = model_of(gather(str(stored(folder, made_study(METHODS, **study))), Path("r"), None), "accuracy", None)
    return {drawn.key: drawn for drawn in all_figures(model, comparisons_of(model, "nnpu"))}


@pytest.fixture(scope="module")
def conventional(tmp_path_factory: pytest.TempPathFactory) -> dict[str, NamedFigure]:
    data = ["spambase", "20news", "connect-4", "fashion-mnist", "imdb"]
    return figures_of(tmp_path_factory.mktemp("conventional"), data=data, seeds=[2, 25])


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> dict[str, NamedFigure]:
    folder = tmp_path_factory.mktemp("varied")
    frequencies = (0.01, 0.05, 0.09, 0.1, 0.5, 0.9)
    return figures_of(folder, data=["imdb"], seeds=[2], cs=frequencies, mechanisms=["scar", "sar-pusb"])


@pytest.fixture(scope="module")
def biased(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """Two values of c, which are no curve, under two mechanisms."""
    study = made_study(["nnpu", "vpu"], ["imdb", "20news"], [2], cs=(0.05, 0.5), mechanisms=["scar", "sar-pusb"])
    return model_of(gather(str(stored(tmp_path_factory.mktemp("biased"), study)), Path("r"), None), "accuracy", None)


def texts(drawn: NamedFigure) -> list[Any]:
    """(text, box) of every text that is drawn."""
    figure = drawn.figure
    with plain_style():
        figure.canvas.draw()
    found = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        found += [*axes.texts, axes._left_title, axes.xaxis.label, axes.yaxis.label]
        if axes.axison:
            found += [
                *_within(axes.get_xticklabels(), axes.get_xlim()),
                *_within(axes.get_yticklabels(), axes.get_ylim()),
            ]
    return [(t.get_text(), t.get_window_extent()) for t in found if t.get_text() and t.get_visible()]


def _within(labels: Any, limits: tuple[float, float]) -> list[Any]:
    """Labels of an axis that are drawn."""
    at = [max(text.get_position(), key=abs) for text in labels]
    return [text for text, place in zip(labels, at, strict=True) if min(limits) <= place <= max(limits)]


def assert_nothing_overlaps(drawn: NamedFigure, least: int = 13) -> None:
    boxes = texts(drawn)
    whole = drawn.figure.bbox
    assert len(boxes) >= least
    for text, box in boxes:
        assert whole.x0 <= box.x0, (drawn.key, text)
        assert box.x1 <= whole.x1, (drawn.key, text)
        assert whole.y0 <= box.y0, (drawn.key, text)
        assert box.y1 <= whole.y1, (drawn.key, text)
    for (one, a), (other, b) in combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        along = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across <= 0 or along <= 0, f"{drawn.key}: '{one}' and '{other}' overlap"


@pytest.mark.parametrize("key", KEYS)
def test_no_text_of_26_methods_is_over_another(conventional: dict[str, NamedFigure], key: str) -> None:
    assert_nothing_overlaps(conventional[key])


@pytest.mark.parametrize("key", ["frequency", "mechanisms"])
def test_no_text_is_over_another_where_labelings_differ(varied: dict[str, NamedFigure], key: str) -> None:
    assert_nothing_overlaps(varied[key])


@pytest.mark.parametrize("panels", [1, 2, 3])
def test_no_text_is_over_another_where_panels_are_few(tmp_path: Path, panels: int) -> None:
    drawn = figures_of(tmp_path, data=["spambase", "20news", "imdb"][:panels], seeds=[2])
    for key in ("methods-s1", "measures-s1", "criteria-s1"):
        assert_nothing_overlaps(drawn[key])


def test_means_are_over_data_sets_of_which_each_counts_once(tmp_path: Path) -> None:
    results = made_study(["nnpu", "vpu", "upu"], ["imdb", "20news"], [2, 25])
    results = [r for r in results if (r.spec.method.key, r.spec.data.key) != ("upu", "imdb")]
    results = [r for r in results if (r.spec.data.key, r.spec.seed) != ("imdb", 25)]
    model = model_of(gather(str(stored(tmp_path, results)), Path("r"), None), "accuracy", None)
    (setting,) = model.settings
    found = by_criterion(model, ["nnpu", "upu"], setting.columns, model.measure)
    by_data = {
        data: [
            r.criteria["pa"].measures["test"]["accuracy"].value or 0.0
            for r in results
            if (r.spec.method.key, r.spec.data.key) == ("nnpu", data)
        ]
        for data in ("imdb", "20news")
    }
    assert found["nnpu", "pa"][0] == pytest.approx(100 * (by_data["imdb"][0] + sum(by_data["20news"]) / 2) / 2)
    assert not any(row == "upu" for row, _ in found)


def test_curves_over_the_positive_rate_have_a_panel_per_scheme(tmp_path: Path) -> None:
    results = []
    for made in made_study(["nnpu", "vpu"], ["imdb"], [2, 25], cs=(0.1, 0.3, 0.5)):
        for scheme in ("one-sample", "two-sample"):
            labeled = MechanismSpec(c=None, positive_rate=made.spec.mechanism.c)
            data = made.spec.data.model_copy(update={"scheme": scheme})
            spec = made.spec.model_copy(update={"mechanism": labeled, "data": data})
            results.append(made.model_copy(update={"spec": spec, "run_id": run_id_of(spec)}))
    model = model_of(gather(str(stored(tmp_path, results)), Path("r"), None), "accuracy", None)
    drawn = {one.key: one for one in all_figures(model, comparisons_of(model, "nnpu"))}
    assert "frequency" not in drawn
    assert '"amount":"positive_rate"' in page(model, comparisons_of(model, "nnpu"), ["of two schemes"])
    first, *rest = drawn["positive-rate"].figure.axes
    assert [" ".join(axes.get_title(loc="left").split("\n")).split(", ")[:3] for axes in (first, *rest)] == [
        ["imdb", scheme, "scar"] for scheme in ("one-sample", "two-sample")
    ]
    (curve, *_) = first.get_lines()
    assert curve.get_xdata() == pytest.approx([0.1, 0.3, 0.5])
    values = [
        [r.criteria["f1"].measures["test"]["accuracy"].value or 0.0 for r in results if _is(r, "nnpu", rate)]
        for rate in (0.1, 0.3, 0.5)
    ]
    assert curve.get_ydata() == pytest.approx([50 * sum(pair) for pair in values])
    assert_nothing_overlaps(drawn["positive-rate"])


def _is(result: Result, method: str, rate: float) -> bool:
    spec = result.spec
    return (spec.method.key, spec.data.scheme, spec.mechanism.positive_rate) == (method, "one-sample", rate)


def test_few_values_of_c_stand_side_by_side_under_each_mechanism(biased: Model) -> None:
    drawn = {one.key: one for one in all_figures(biased, comparisons_of(biased, "nnpu"))}
    assert "frequency" not in drawn
    titles = [" ".join(axes.get_title(loc="left").split("\n")) for axes in drawn["labels"].figure.axes]
    assert titles == ["20news, sar-pusb", "20news, scar", "imdb, sar-pusb", "imdb, scar"]
    assert [text.get_text() for text in drawn["labels"].figure.legends[0].get_texts()] == ["c 0.05", "c 0.5"]


def test_other_values_of_c_do_not_drop_the_figure_of_mechanisms(tmp_path: Path) -> None:
    """As in PU-Bench's 20 settings: fourteen c under SCAR, two of them under the other mechanisms."""
    scar = made_study(["nnpu", "vpu"], ["imdb"], [2], cs=(0.01, 0.05, 0.1, 0.5, 0.9), mechanisms=["scar"])
    biased = made_study(["nnpu", "vpu"], ["imdb"], [2], cs=(0.05, 0.5), mechanisms=["sar-pusb"])
    model = model_of(gather(str(stored(tmp_path, [*scar, *biased])), Path("r"), None), "accuracy", None)
    drawn = {one.key: one for one in all_figures(model, comparisons_of(model, "nnpu"))}
    assert "frequency" in drawn
    assert [text.get_text() for text in drawn["labels"].figure.legends[0].get_texts()] == ["c 0.05", "c 0.5"]


def test_what_differs_in_more_than_the_labels_is_not_in_one_panel(tmp_path: Path) -> None:
    """One c with another validation part, and one mechanism under another scheme, have panels of their own."""
    results = []
    for made in made_study(["nnpu", "vpu"], ["imdb"], [2], cs=(0.1, 0.3, 0.5), mechanisms=["scar", "sar-pusb"]):
        spec = made.spec
        if spec.mechanism.c == 0.1:
            spec = spec.model_copy(update={"validation": ValidationSpec(fraction=0.2)})
        if spec.mechanism.key == "sar-pusb":
            spec = spec.model_copy(update={"data": spec.data.model_copy(update={"scheme": "single-training-set"})})
        results.append(made.model_copy(update={"spec": spec, "run_id": run_id_of(spec)}))
    model = model_of(gather(str(stored(tmp_path, results)), Path("r"), None), "accuracy", None)
    drawn = {one.key: one for one in all_figures(model, comparisons_of(model, "nnpu"))}
    assert "frequency" not in drawn  # no problem has three values of c
    titles = {" ".join(axes.get_title(loc="left").split("\n")) for axes in drawn["mechanisms"].figure.axes}
    assert titles == {
        f"imdb, {scheme}, c={c}, validation={fraction}"
        for scheme in ("case-control", "single-training-set")
        for c, fraction in ((0.1, 0.2), (0.3, 0.01), (0.5, 0.01))
    }
    assert_nothing_overlaps(drawn["mechanisms"])


def test_series_differ_without_their_colors() -> None:
    of_26 = looks(26)
    assert len({(look.marker, look.hollow, str(look.line)) for look in of_26}) == 26
    assert len({(look.marker, look.hollow) for look in of_26}) == 26


def test_figures_are_files_that_are_the_same_each_time(conventional: dict[str, NamedFigure], tmp_path: Path) -> None:
    one = conventional["difference-s1"]
    first = [path.read_bytes() for path in write_figures([one], tmp_path / "a")]
    again = [path.read_bytes() for path in write_figures([one], tmp_path / "b")]
    assert [path.name for path in sorted((tmp_path / "a").iterdir())] == ["difference-s1.png", "difference-s1.svg"]
    assert first == again


def test_time_is_shown_of_runs_alone_on_the_machine_only(tmp_path: Path) -> None:
    results = [r.model_copy(update={"at_once": 2}) for r in made_study(METHODS[:3], ["imdb", "20news"], [2, 25])]
    model = model_of(gather(str(stored(tmp_path, results)), Path("r"), None), "accuracy", None)
    assert "cost-s1" not in {drawn.key for drawn in all_figures(model, comparisons_of(model, "nnpu"))}
    assert no_costs(model) == (
        "no figure of time and memory: none of the runs was alone on the machine "
        "(12 shared it with other runs of a study)"
    )
    apart = [results[0].model_copy(update={"at_once": 1}), *results[1:]]
    again = model_of(gather(str(stored(tmp_path / "apart", apart)), Path("r"), None), "accuracy", None)
    assert no_costs(again) == ""
    assert "cost-s1" in {drawn.key for drawn in all_figures(again, comparisons_of(again, "nnpu"))}
    alone = model_of(
        gather(
            str(stored(tmp_path / "alone", [r.model_copy(update={"at_once": None}) for r in results])), Path("r"), None
        ),
        "accuracy",
        None,
    )
    assert no_costs(alone).endswith("(of 12 it is not known, as no study carried them out)")


def test_costs_are_means_over_the_runs_that_were_alone(tmp_path: Path) -> None:
    made = made_study(["nnpu"], ["imdb"], [2, 25, 42, 52])
    at_once = dict(zip([2, 25, 42, 52], [1, 1, 3, None], strict=True))
    results = [
        r.model_copy(
            update={
                "at_once": at_once[r.spec.seed],
                "seconds": r.seconds.model_copy(update={"training": float(r.spec.seed), "total": 1000.0}),
            }
        )
        for r in made
    ]
    model = model_of(gather(str(stored(tmp_path, results)), Path("r"), None), "accuracy", None)
    (found,) = costs_of(model, ["nnpu"], model.settings[0].columns[0])
    assert found.seconds == (2 + 25) / 2
    alone = [r.criteria["f1"].measures["test"]["accuracy"].value or 0.0 for r in made if r.spec.seed in (2, 25)]
    assert found.value == pytest.approx(100 * sum(alone) / 2)


def test_a_series_is_of_its_own_criterion(biased: Model) -> None:
    column = biased.settings[0].columns[0]
    shown = by_criterion(biased, ["nnpu"], [column], biased.measure)
    for criterion in ("pa", "f1"):
        mean = biased.cells(biased.measure, criterion)["nnpu", column.label].mean
        assert mean is not None
        assert shown["nnpu", biased.criterion_name(criterion)] == (100 * mean, None)
    assert len({mean for mean, _ in shown.values()}) == len(biased.criteria)


def test_a_spread_is_in_percent_as_its_mean_is(tmp_path: Path) -> None:
    study = made_study(["nnpu"], ["imdb"], [2, 25])
    model = model_of(gather(str(stored(tmp_path, study)), Path("r"), None), "accuracy", None)
    column = model.settings[0].columns[0]
    std = model.cells(model.measure, model.criterion)["nnpu", column.label].std
    assert std is not None
    assert values_of(model, ["nnpu"], column, [model.measure])["nnpu", model.measure.name][1] == 100 * std


def test_means_are_over_the_data_sets_of_the_ranks(tmp_path: Path) -> None:
    study = made_study(["nnpu", "vpu", "upu"], ["imdb", "20news", "spambase"], [2])
    study = [r for r in study if r.spec.data.key != "spambase" or r.spec.method.key == "nnpu"]
    model = model_of(gather(str(stored(tmp_path, study)), Path("r"), None), "accuracy", None)
    tests = comparisons_of(model, "nnpu")
    (drawn,) = [one for one in all_figures(model, tests) if one.key == "means-s1"]
    assert sorted(tests[0].part.data) == ["20news", "imdb"]
    (named,) = {tuple(text.get_text() for text in axes.get_yticklabels()) for axes in drawn.figure.axes[:1]}
    assert set(named) == {"nnpu", "vpu", "upu"}


def numbers_along_x(figure: Any) -> list[str]:
    with plain_style():
        figure.canvas.draw()
    low, high = figure.axes[0].get_xlim()
    ticks = zip(figure.axes[0].get_xticks(), figure.axes[0].get_xticklabels(), strict=True)
    return [text.get_text() for at, text in ticks if low <= at <= high and text.get_text()]


@pytest.mark.parametrize("value", [0.0, 50.0, 97.123456])
def test_an_axis_of_equal_values_has_numbers(value: float) -> None:
    drawn = dots([Panel("digits", "accuracy, %", {("nnpu", "pa"): (value, None), ("vpu", "pa"): (value, 0.0)})],
                 ["nnpu", "vpu"], ["pa"])  # fmt: skip
    shown = numbers_along_x(drawn)
    assert shown
    low, high = drawn.axes[0].get_xlim()
    assert low < value < high


def test_an_axis_of_seconds_that_are_close_has_numbers() -> None:
    drawn = costs({"digits": [Cost("nnpu", 3.2, 5e8, 90.0), Cost("vpu", 3.9, 5e8, 91.0)]}, "accuracy, %")
    assert len(numbers_along_x(drawn)) > 1


@pytest.mark.parametrize("length", [10, 60])
def test_names_of_any_length_stay_whole_and_in_the_figure(length: int) -> None:
    names = [f"{'method-of-one-team-' * 4}"[:length] + str(k) for k in range(5)]
    with plain_style():
        figures = [
            rank_figure([RankInterval(name, 1.0 + k, None) for k, name in enumerate(names)]),
            dots([Panel("a", "%", {(name, "x"): (1.0, None) for name in names})] * 2, names, ["x"]),
        ]
    for figure in figures:
        assert {name for name, _ in texts(NamedFigure("k", figure))} >= set(names)
        assert_nothing_overlaps(NamedFigure("k", figure), least=5)
