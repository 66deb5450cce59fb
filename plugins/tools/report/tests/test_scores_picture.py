"""Training scores of a record, and the picture that ``pubench scores`` makes of a record's scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from figure_texts import assert_nothing_overlaps
from pubench_report.cli.scores import panels_of_scores
from pubench_report.drawing import BINS, ScorePanel, bin_edges, plain_style, score_histograms

import pubench
from pubench_core.records.files import SCORES, TRAINING_SCORES, read_scores

# What two epochs reach is warned of, and next to the point here.
pytestmark = pytest.mark.filterwarnings("ignore::pubench.PubenchWarning")

SHORT: dict[str, Any] = {"c": 0.3, "config": {"epochs": 2, "lr": 0.01}, "threads": 1, "tracking": False}
KEPT = ["scores", "training-scores"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> pubench.RunResult:
    """A run with scores of its training part."""
    folder = tmp_path_factory.mktemp("kept")
    return pubench.run("nnpu", "digits", artifacts=KEPT, results=folder, **SHORT)


def test_training_scores_are_of_every_row_of_the_part_once(kept: pubench.RunResult) -> None:
    arrays, facts = read_scores(kept.folder, TRAINING_SCORES), kept.result.data.train
    rows, labeled, labels = (arrays[f"training_{name}"] for name in ("rows", "labeled", "labels"))
    assert len(set(rows.tolist())) == len(rows) == facts.rows
    assert labeled.sum() == facts.labeled
    assert labels.sum() == facts.positive
    assert (labels[labeled] == 1).all()
    states = {criterion.snapshot for criterion in kept.result.criteria.values()}
    assert {name.removeprefix("training_scores_") for name in arrays if "scores" in name} == states
    scores = arrays[f"training_scores_{kept.result.chosen.snapshot}"]
    assert scores[labels == 1].mean() > scores[labels == 0].mean()  # rows and scores are in one order
    assert not set(rows.tolist()) & set(read_scores(kept.folder)["validation_rows"].tolist())


def test_keeping_them_changes_no_other_score_and_no_run_id(kept: pubench.RunResult, tmp_path: Path) -> None:
    plain = pubench.run("nnpu", "digits", artifacts=["scores"], results=tmp_path, **SHORT)
    assert plain.run_id == kept.run_id
    one, other = read_scores(plain.folder), read_scores(kept.folder)
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert not (plain.folder / TRAINING_SCORES).exists()


def test_a_record_without_training_scores_does_not_answer_a_request_for_them(tmp_path: Path) -> None:
    given = {**SHORT, "results": tmp_path}
    pubench.run("upu", "breast-cancer", artifacts=["scores"], **given)
    asked = pubench.run("upu", "breast-cancer", artifacts=["training-scores"], **given)
    assert not asked.reused
    again = pubench.run("upu", "breast-cancer", artifacts=KEPT, **given)
    assert again.reused  # what the first record had was kept next to them


def test_a_picture_has_a_panel_for_each_part_and_counts_every_row(kept: pubench.RunResult) -> None:
    arrays = {**read_scores(kept.folder, TRAINING_SCORES), **read_scores(kept.folder)}
    panels = {panel.title: panel for panel in panels_of_scores(arrays, kept.result.chosen.snapshot)}
    assert list(panels) == ["training part", "validation part", "test part"]
    facts = kept.result.data
    for title, part in (("training part", facts.train), ("validation part", facts.validation)):
        sizes = {name: len(scores) for name, scores in panels[title].groups.items()}
        assert sizes["labeled positives"] == part.labeled
        assert sizes["labeled positives"] + sizes["unlabeled positives"] == part.positive
        assert sum(sizes.values()) == part.rows
    found = panels["test part"].groups
    right = (found["positives"] > 0).sum() + (found["negatives"] <= 0).sum()
    assert right / sum(map(len, found.values())) == pytest.approx(kept.test["accuracy"])


def test_the_propensity_of_the_training_part_is_drawn_for_labeled_and_unlabeled_positives(tmp_path: Path) -> None:
    """PU-Bench, Figure 12, a.3: its argument is that these two overlap."""
    config = {**SHORT["config"], "pre_training": 10}
    run = pubench.run("lbe-pu", "digits", artifacts=KEPT, results=tmp_path, **{**SHORT, "config": config})
    arrays, state = read_scores(run.folder, TRAINING_SCORES), run.result.chosen.snapshot
    panels = {panel.title: panel for panel in panels_of_scores(arrays, state)}
    found = panels["propensity, training part"]
    labeled = arrays["training_labeled"]
    assert sorted(found.groups["labeled positives"]) == sorted(
        arrays[f"training_auxiliary_propensity_{state}"][labeled]
    )
    assert len(found.groups["unlabeled positives"]) == (~labeled & (arrays["training_labels"] == 1)).sum()


def test_the_decision_is_an_edge_of_the_bins() -> None:
    edges = bin_edges(np.linspace(-3.0, 9.0, 500), decided=True)
    assert 0.0 in edges.tolist()
    assert BINS <= len(edges) - 1 <= BINS + 2
    assert len(bin_edges(np.zeros(10), decided=True)) > 1


def test_no_text_of_a_picture_is_over_another() -> None:
    rng = np.random.default_rng(0)
    groups = {name: rng.normal(size=123_456) for name in ("labeled positives", "unlabeled positives", "negatives")}
    with plain_style():
        figure = score_histograms([ScorePanel("a part " * 12, groups)] * 3, "a title " * 30, "more of it " * 30)
    assert_nothing_overlaps(figure)


def test_the_command_and_the_call_write_the_same_picture(
    kept: pubench.RunResult, tmp_path: Path, pubench_in: Callable[[Path], Any]
) -> None:
    done = pubench_in(tmp_path)("scores", kept.run_id[:6], "--results", kept.folder.parent)
    assert (done.returncode, done.stdout) == (0, f"{kept.run_id}-scores.png\n"), done.stderr
    path = pubench.draw_scores(kept, tmp_path / "called.png")
    assert path.read_bytes() == (tmp_path / f"{kept.run_id}-scores.png").read_bytes()
    assert pubench.draw_scores(kept, tmp_path / "a.svg", "last").read_text().startswith("<?xml")


def test_what_cannot_be_drawn_is_one_line(kept: pubench.RunResult, tmp_path: Path) -> None:
    for given, said in (
        ((tmp_path / "a.pdf",), "a picture is a PNG or an SVG"),
        ((tmp_path / "a.png", "paa"), "unknown criterion 'paa'; did you mean 'pa'?"),
        ((tmp_path / "nowhere" / "a.png",), "cannot write"),
    ):
        with pytest.raises(pubench.InvalidRequest, match=said.replace("?", r"\?")):
            pubench.draw_scores(kept, *given)
    assert list(tmp_path.iterdir()) == []
    bare = pubench.run("upu", "breast-cancer", artifacts=[], results=tmp_path / "bare", **SHORT)
    with pytest.raises(pubench.InvalidRequest, match="kept no scores"):
        pubench.draw_scores(bare, tmp_path / "a.png")
    assert not (bare.folder / SCORES).exists()
