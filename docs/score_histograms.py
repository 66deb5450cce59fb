"""Draws histograms of test scores, true positives against true negatives, at the chosen epoch and at the last.

python docs/score_histograms.py docs/pages/images/pan-spambase.png RUN_FOLDER [RUN_FOLDER ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import pyplot as plt

from pubench_core.records.store import read_record

#: Colors that stay apart in gray and for the color-blind; negatives are hatched as well.
POSITIVE, NEGATIVE = "#0072B2", "#E69F00"


def panel(ax: plt.Axes, scores: np.ndarray, labels: np.ndarray, title: str) -> None:
    """One histogram; the decision is at 0."""
    bins = np.histogram_bin_edges(np.clip(scores, *np.quantile(scores, (0.005, 0.995))), 40)
    inside = np.clip(scores, bins[0], bins[-1])
    ax.hist(inside[labels == 1], bins, color=POSITIVE, alpha=0.7, label="positive")
    ax.hist(inside[labels == 0], bins, color=NEGATIVE, alpha=0.6, hatch="//", edgecolor="#7a5200", label="negative")
    ax.axvline(0, color="black", linewidth=1)
    accuracy = np.mean((scores > 0) == (labels == 1))
    ax.set_title(
        f"{title}: accuracy {100 * accuracy:.1f}, {100 * np.mean(scores > 0):.0f} % decided positive", fontsize=9
    )


def main() -> None:
    matplotlib.use("agg")
    target, folders = Path(sys.argv[1]), [Path(text) for text in sys.argv[2:]]
    figure, axes = plt.subplots(len(folders), 2, figsize=(10, 2.4 * len(folders)), squeeze=False)
    for line, folder in zip(axes, folders, strict=True):
        result = read_record(folder).result
        with np.load(folder / "scores.npz") as kept:
            labels = kept["test_labels"]
            for ax, state in zip(line, (f"epoch-{result.chosen.epoch}", "last"), strict=True):
                panel(ax, kept[f"test_scores_{state}"], labels, f"seed {result.spec.seed}, {state.replace('-', ' ')}")
    axes[0, 0].legend(fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("score")
    figure.tight_layout()
    figure.savefig(target, dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
