"""The list of a run on a user's table: a row's place does not depend on the part of the split that it fell into."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata, spearmanr

import pubench
from pubench_core.records.files import read_scores
from pubench_core.records.scores import on_scale_of, scores_name

pytestmark = pytest.mark.filterwarnings("ignore::pubench.PubenchWarning")

QUICK = {
    "pu-bagging": {"n_estimators": 100},
    "puet": {"n_estimators": 20},
    "nnpu": {"epochs": 4, "lr": 1e-2},
}


def noise(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """600 rows of which nothing can be said, and 100 labels: a model ranks rows high that it did not train on."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(600, 6)), columns=list("abcdef")), np.arange(600) % 6 == 0


@pytest.mark.parametrize("method", QUICK)
def test_held_out_rows_have_their_share_of_the_highest(method: str, tmp_path: Path) -> None:
    x, labeled = noise()
    made = pubench.run(
        method,
        pubench.data(x, labeled),
        prior=0.3,
        config=QUICK[method],
        results=tmp_path,
        artifacts=("scores", "training-scores"),
        tracking=False,
    )
    arrays, state = read_scores(made.folder), made.result.chosen.snapshot
    kept = read_scores(made.folder, "training-scores.npz")
    listed = pd.read_csv(made.folder / "predictions.csv").set_index("row")
    held_out = np.isin(listed.index, arrays["validation_rows"])
    share = held_out.mean()
    assert share == pytest.approx(0.2, abs=0.01)
    for column, top in (("rank", listed["rank"] <= 100), ("decision", listed["decision_at_prior"] == 1)):
        assert held_out[top].mean() == pytest.approx(share, abs=0.03), column
    as_predicted = pd.Series(kept[scores_name("training", state)], kept["training_rows"])
    raw = listed["score"].where(held_out, as_predicted.reindex(listed.index))
    if method in ("pu-bagging", "puet"):
        assert held_out[np.argsort(-raw.to_numpy())[:100]].mean() > 0.35
    if method == "pu-bagging":  # its list has scores out of bag: another order than that of the final model
        seen = listed.index[~held_out]
        assert spearmanr(listed["score"][seen], as_predicted[seen]).statistic < 0.99


def test_rows_that_were_trained_on_keep_their_order(tmp_path: Path) -> None:
    x, labeled = noise(1)
    table = pubench.data(x, labeled)
    how = {"config": QUICK["puet"], "artifacts": ("scores", "training-scores"), "tracking": False}
    made = pubench.run("puet", table, prior=0.3, results=tmp_path, **how)
    stored = read_scores(made.folder, "training-scores.npz")
    rows = stored["training_rows"][~stored["training_labeled"].astype(bool)]
    scores = stored[scores_name("training", made.result.chosen.snapshot)][~stored["training_labeled"].astype(bool)]
    listed = pd.read_csv(made.folder / "predictions.csv").set_index("row")["score"]
    assert spearmanr(listed[rows], scores).statistic > 0.99


def test_scores_on_the_scale_of_others_have_the_shares_of_their_part() -> None:
    """Four scores between the quartiles of four; a tie stays one; distances beyond the ends stay."""
    assert on_scale_of(np.array([0.0, 10.0, 20.0, 30.0]), np.array([3.0, 1.0, 2.0, 4.0])).tolist() == [20, 0, 10, 30]
    assert on_scale_of(np.array([0.0, 10.0]), np.array([5.0, 5.0])).tolist() == [5, 5]
    far = on_scale_of(np.array([0.0, 1.0]), np.arange(8.0))
    assert far.tolist() == pytest.approx([-1.5, -0.5, 0.125, 0.375, 0.625, 0.875, 1.5, 2.5])


@pytest.mark.parametrize("sizes", [(40, 160), (7, 300), (300, 7), (1, 50)])
def test_parts_of_any_size_and_scale_mix_evenly(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(sizes))
    reference, other = rng.normal(size=sizes[0]), np.exp(3 * rng.normal(size=sizes[1])) - 50
    moved = on_scale_of(reference, other)
    assert (rankdata(moved) == rankdata(other)).all()
    together = np.argsort(-np.r_[reference, moved], kind="stable")
    for top in (20, sum(sizes) // 2):
        found = (together[:top] < sizes[0]).sum()
        assert abs(found - top * sizes[0] / sum(sizes)) <= 1
