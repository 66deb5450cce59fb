"""Figures of a report with many methods: nothing overlaps, and no series is told from another by its color alone."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from made_studies import made_study, stored

from pubench_cli.report.figures import Drawn, all_figures, inline_svg, write_figures
from pubench_cli.report.figures.labels import spread
from pubench_cli.report.figures.style import looks, plain_style
from pubench_cli.report.gather import gather
from pubench_cli.report.model import model_of
from pubench_cli.report.statistics import comparisons_of

#: As long as names of methods get, and a few that differ little.
METHODS = ["nnpu", "pn", *(f"method-of-some-length-{k}" for k in range(24))]


def figures_of(folder: Path, **study: Any) -> dict[str, Drawn]:
    model = model_of(gather(str(stored(folder, made_study(METHODS, **study))), Path("r"), None), "accuracy", None)
    return {drawn.key: drawn for drawn in all_figures(model, comparisons_of(model, "nnpu"))}


@pytest.fixture(scope="module")
def conventional(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drawn]:
    data = ["spambase", "20news", "connect-4", "fashion-mnist", "imdb"]
    return figures_of(tmp_path_factory.mktemp("conventional"), data=data, seeds=[2, 25])


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drawn]:
    folder = tmp_path_factory.mktemp("varied")
    frequencies = (0.01, 0.05, 0.09, 0.1, 0.5, 0.9)
    return figures_of(folder, data=["imdb"], seeds=[2], cs=frequencies, mechanisms=["scar", "sar-pusb"])


def texts(drawn: Drawn) -> list[Any]:
    """(text, box) of every text that is drawn."""
    figure = drawn.figure
    with plain_style():
        figure.canvas.draw()
    found = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        found += [*axes.texts, axes.title, axes._left_title, axes._right_title]
    return [(t.get_text(), t.get_window_extent()) for t in found if t.get_text() and t.get_visible()]


def assert_nothing_overlaps(drawn: Drawn) -> None:
    boxes = texts(drawn)
    whole = drawn.figure.bbox
    assert len(boxes) > len(METHODS) / 2
    for text, box in boxes:
        assert whole.x0 <= box.x0, (drawn.key, text)
        assert box.x1 <= whole.x1, (drawn.key, text)
        assert whole.y0 <= box.y0, (drawn.key, text)
        assert box.y1 <= whole.y1, (drawn.key, text)
    for (one, a), (other, b) in combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        along = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across <= 0 or along <= 0, f"{drawn.key}: '{one}' and '{other}' overlap"


@pytest.mark.parametrize("key", ["methods-s1", "measures-s1", "criteria-s1", "ranks-s1", "difference-s1", "cost-s1"])
def test_no_text_of_26_methods_is_over_another(conventional: dict[str, Drawn], key: str) -> None:
    assert_nothing_overlaps(conventional[key])


@pytest.mark.parametrize("key", ["frequency", "mechanisms"])
def test_no_text_is_over_another_where_labelings_differ(varied: dict[str, Drawn], key: str) -> None:
    assert_nothing_overlaps(varied[key])


def test_series_differ_without_their_colors() -> None:
    of_26 = looks(26)
    assert len({(look.marker, look.hollow, str(look.line)) for look in of_26}) == 26
    assert len({(look.marker, look.hollow) for look in of_26}) == 26


def test_figures_are_files_that_are_the_same_each_time(conventional: dict[str, Drawn], tmp_path: Path) -> None:
    one = conventional["difference-s1"]
    first = [path.read_bytes() for path in write_figures([one], tmp_path / "a")]
    again = [path.read_bytes() for path in write_figures([one], tmp_path / "b")]
    assert [path.name for path in sorted((tmp_path / "a").iterdir())] == ["difference-s1.png", "difference-s1.svg"]
    assert first == again
    assert inline_svg(one, "a label").startswith('<svg role="img" aria-label="a label"')


def test_time_is_shown_of_runs_alone_on_the_machine_only(tmp_path: Path) -> None:
    results = [r.model_copy(update={"at_once": 2}) for r in made_study(METHODS[:3], ["imdb", "20news"], [2, 25])]
    model = model_of(gather(str(stored(tmp_path, results)), Path("r"), None), "accuracy", None)
    assert "cost-s1" not in {drawn.key for drawn in all_figures(model, comparisons_of(model, "nnpu"))}


def test_labels_are_spread_as_little_as_they_must() -> None:
    assert spread([0.1, 0.5, 0.9], 0.1, 0, 1) == [0.1, 0.5, 0.9]
    found = spread([0.5, 0.5, 0.5, 0.0], 0.1, 0, 1)
    assert found == pytest.approx([0.4, 0.5, 0.6, 0.0])
    crowded = spread([0.5] * 21, 0.1, 0, 1)
    assert sorted(crowded) == pytest.approx([k / 20 for k in range(21)])
