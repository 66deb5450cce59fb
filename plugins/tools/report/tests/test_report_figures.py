"""Figures of a report with many methods: nothing overlaps, and no series differs from another by its color alone."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from figure_texts import assert_nothing_overlaps, texts_of
from made_reports import drawn_of, made_model
from made_studies import made_run, made_study, varied
from pubench_report.drawing import SERIES, dots, plain_style, write_figures
from pubench_report.pages.report import amount_curves, page
from pubench_report.pages.view import views_of
from pubench_report.report.model import comparisons_of

from pubench_core.errors import RequestError
from pubench_core.specs import MechanismSpec, ValidationSpec

#: As long as names of methods get, and a few that differ little.
METHODS = ["nnpu", "pn", *(f"method-of-some-length-{k}" for k in range(24))]
KEYS = ["methods-s1", "difference-s1"]


@pytest.fixture(scope="module")
def conventional(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    data = ["spambase", "20news", "connect-4", "fashion-mnist", "imdb"]
    return drawn_of(made_model(tmp_path_factory.mktemp("conventional"), made_study(METHODS, data, [2, 25])))


@pytest.mark.parametrize("key", KEYS)
def test_no_text_of_26_methods_is_over_another(conventional: dict[str, Any], key: str) -> None:
    assert_nothing_overlaps(conventional[key])


def test_every_labeling_has_a_figure(tmp_path: Path) -> None:
    study = made_study(["nnpu", "vpu"], ["imdb"], [2], (0.01, 0.05, 0.1), ["scar", "sar-pusb"])
    assert [*drawn_of(made_model(tmp_path, study))] == [f"methods-s{k}" for k in range(1, 7)]


@pytest.mark.parametrize("panels", [1, 3])
def test_no_text_is_over_another_where_panels_are_few(tmp_path: Path, panels: int) -> None:
    drawn = drawn_of(made_model(tmp_path, made_study(METHODS, ["spambase", "20news", "imdb"][:panels], [2])))
    assert_nothing_overlaps(drawn["methods-s1"])


def test_curves_over_the_positive_rate_have_a_panel_per_scheme(tmp_path: Path) -> None:
    schemes, methods, results = {"one-sample": 0.0, "two-sample": 0.2}, {"nnpu": 0.0, "vpu": 0.1}, []
    for scheme, method, rate, seed in product(schemes, methods, (0.1, 0.3, 0.5), (2, 4)):
        made = made_run(method, "imdb", seed, {"f1": rate + schemes[scheme] + methods[method] + 0.01 * seed})
        data = made.spec.data.model_copy(update={"scheme": scheme})
        results.append(varied(made, mechanism=MechanismSpec(c=None, positive_rate=rate), data=data))
    model = made_model(tmp_path, results)
    assert '"amount":"positive_rate"' in page(views_of(model), comparisons_of(model, "nnpu"), ["of two schemes"])
    (found,) = amount_curves(model).values()
    assert [*found] == [f"imdb [scheme={scheme}]" for scheme in schemes]
    xs, ys = zip(*next(iter(found.values()))["nnpu"], strict=True)
    assert xs == pytest.approx([0.1, 0.3, 0.5])
    assert ys == pytest.approx([13, 33, 53])


def test_what_differs_in_more_than_the_labels_is_not_in_one_panel(tmp_path: Path) -> None:
    """One c with another validation part, and one mechanism under another scheme, have panels of their own."""
    results = []
    for made in made_study(["nnpu", "vpu"], ["imdb"], [2], cs=(0.1, 0.2, 0.3, 0.5), mechanisms=["scar", "sar-pusb"]):
        scheme = {"scar": "case-control", "sar-pusb": "single-training-set"}[made.spec.mechanism.key]
        fraction = 0.2 if made.spec.mechanism.c in (0.1, 0.2) else 0.01
        data = made.spec.data.model_copy(update={"scheme": scheme})
        results.append(varied(made, data=data, validation=ValidationSpec(fraction=fraction)))
    (found,) = amount_curves(made_model(tmp_path, results)).values()
    assert {title: [x for x, _ in of["nnpu"]] for title, of in found.items()} == {
        f"imdb [scheme={scheme}, mechanism={mechanism}, validation={fraction}]": xs
        for scheme, mechanism in (("case-control", "scar"), ("single-training-set", "sar-pusb"))
        for fraction, xs in ((0.2, [0.1, 0.2]), (0.01, [0.3, 0.5]))
    }


def test_series_differ_without_their_colors() -> None:
    for name in ("marker", "linestyle"):
        assert len({look[name] for look in SERIES}) == len(SERIES)


def test_figures_are_files_that_are_the_same_each_time(conventional: dict[str, Any], tmp_path: Path) -> None:
    one = {"difference-s1": conventional["difference-s1"]}
    first = [path.read_bytes() for path in write_figures(one, tmp_path / "a")]
    again = [path.read_bytes() for path in write_figures(one, tmp_path / "b")]
    assert [path.name for path in sorted((tmp_path / "a").iterdir())] == ["difference-s1.png", "difference-s1.svg"]
    assert first == again


def test_figures_without_matplotlib_name_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = made_model(tmp_path, made_study(["nnpu"], ["imdb"], [2, 25]))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(RequestError, match=r"need matplotlib.*pip install 'pubench-report\[figures\]'"):
        drawn_of(model)


def test_a_mean_and_its_spread_are_in_percent(tmp_path: Path) -> None:
    model = made_model(tmp_path, made_study(["nnpu"], ["imdb"], [2, 25]))
    column = model.settings[0].columns[0]
    cell = model.cells(model.measure, model.criterion)["nnpu", column.label]
    assert cell.mean is not None
    assert cell.std is not None
    (marks,) = drawn_of(model)["methods-s1"].axes[0].containers
    assert marks.lines[0].get_xdata() == pytest.approx([100 * cell.mean])
    (low, _), (high, _) = marks.lines[2][0].get_segments()[0]
    assert (high - low) / 2 == pytest.approx(100 * cell.std)


def test_bars_of_average_ranks_are_as_long_as_the_critical_difference(tmp_path: Path) -> None:
    """So those of two methods meet unless their ranks are that far apart."""
    data = ["spambase", "20news", "connect-4", "fashion-mnist", "imdb"]
    model = made_model(tmp_path, made_study(["nnpu", "vpu", "upu"], data, [2, 25]))
    (test,) = comparisons_of(model, "nnpu")
    assert test.average.friedman is not None
    (marks,) = drawn_of(model)["difference-s1"].axes[0].containers
    assert marks.lines[0].get_xdata() == pytest.approx([rank for _, rank in test.average.ranks])
    for (low, _), (high, _) in marks.lines[2][0].get_segments():
        assert high - low == pytest.approx(test.average.friedman.critical_difference)


@pytest.mark.parametrize("value", [0.0, 50.0, 97.123456])
def test_an_axis_of_equal_values_has_numbers(value: float) -> None:
    drawn = dots({"digits": {"nnpu": (value, 0.0), "vpu": (value, 0.0)}}, "accuracy, %", ["nnpu", "vpu"])
    with plain_style():
        drawn.canvas.draw()
    (axis,), (low, high) = drawn.axes, drawn.axes[0].get_xlim()
    labels = zip(axis.get_xticks(), axis.get_xticklabels(), strict=True)
    assert [text for at, text in labels if low <= at <= high and text.get_text()]
    assert low < value < high


@pytest.mark.parametrize("length", [10, 60])
def test_names_of_any_length_stay_whole_and_in_the_figure(length: int) -> None:
    names = [f"{'method-of-one-team-' * 4}"[:length] + str(k) for k in range(5)]
    with plain_style():
        figure = dots({key: dict.fromkeys(names, (1.0, 0.0)) for key in "ab"}, "%", names)
    assert {name for name, _ in texts_of(figure)} >= set(names)
    assert_nothing_overlaps(figure, least=5)
