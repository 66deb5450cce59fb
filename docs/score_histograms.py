"""Draws histograms of test scores, true positives against true negatives, at the chosen epoch and at the last.

python docs/score_histograms.py docs/pages/images/pan-spambase.png RUN_FOLDER [RUN_FOLDER ...]

``pubench scores RUN`` draws all parts of one record; this puts several records into one picture.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pubench_report.drawing import ScorePanel, plain_style, score_histograms

from pubench_core.records.files import read_scores
from pubench_core.records.record import read_record
from pubench_core.records.scores import scores_name


def panels(folder: Path) -> Iterator[ScorePanel]:
    """The chosen state and the last one."""
    result, arrays = read_record(folder).result, read_scores(folder)
    labels = arrays["test_labels"]
    for state in (result.chosen.snapshot, "last"):
        scores = arrays[scores_name("test", state)]
        accuracy = 100 * float(np.mean((scores > 0) == (labels == 1)))
        groups = {"positives": scores[labels == 1], "negatives": scores[labels == 0]}
        yield ScorePanel(f"seed {result.spec.seed}, {state.replace('-', ' ')}: accuracy {accuracy:.1f}", groups)


def main() -> None:
    target, folders = Path(sys.argv[1]), [Path(text) for text in sys.argv[2:]]
    result = read_record(folders[0]).result
    title = f"{result.spec.method.key} on {result.spec.data.key}, test part"
    subtitle = f"at the epoch that {result.selected} chose, and after the last"
    with plain_style():
        figure = score_histograms([panel for folder in folders for panel in panels(folder)], title, subtitle)
        figure.savefig(target, dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
