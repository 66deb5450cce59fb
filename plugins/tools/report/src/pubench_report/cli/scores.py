"""``pubench scores``: a picture of the scores that a record keeps, apart for labeled positives, the others, negatives.

Training scores are there if the run kept them (``--artifacts scores,trace,training-scores``).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pubench.field_names import in_words
from pubench_core.errors import RequestError, unknown
from pubench_core.records.files import SCORES, TRACE, TRAINING_SCORES, Arrays, read_scores
from pubench_core.records.record import read_record
from pubench_core.records.scores import scores_name

from ..drawing import ScorePanel, plain_style, score_histograms, write_figure

if TYPE_CHECKING:
    from pandas import DataFrame

    from pubench import RunResult


@in_words()
def draw_scores(run: RunResult, path: str | Path, criterion: str | None = None) -> Path:
    """Writes histograms of the stored scores as PNG or SVG: labeled positives, unlabeled positives and negatives of
    the validation part, of the training part where ``artifacts`` named ``training-scores``, and of the test part;
    the path. What ``pubench scores`` draws.

    ``criterion``: whose epoch is shown, by default that which names the result.

    Raises InvalidRequest for a criterion that was not tracked, a run that kept no scores, another kind of file, and
    one that cannot be written.
    """
    return write_scores(run.folder, Path(path), criterion)


def trace(run: RunResult) -> DataFrame:
    """One row per epoch: seconds, reported losses, criteria. Raises ValueError if the run kept none."""
    import pandas as pd

    path = run.folder / TRACE
    if not path.exists():
        raise ValueError(f"run {run.run_id} kept no trace; run it again with artifacts=['scores', 'trace']")
    return pd.read_csv(path)


def write_scores(folder: Path, path: Path, criterion: str | None = None) -> Path:
    """Draws the scores of a record at the epoch that a criterion chose; by default the one that names the result.

    Raises RequestError for a criterion that was not tracked or has no value, a record that kept no scores, a name that
    ends in neither ``.png`` nor ``.svg``, and a file that cannot be written; RecordError for a damaged record.
    """
    if path.suffix.lower() not in (".png", ".svg"):
        raise RequestError(f"{path}: a picture is a PNG or an SVG; give a name that ends in .png or .svg")
    result = read_record(folder).result
    name, spec = criterion or result.selected, result.spec
    if name not in result.criteria:
        raise unknown("criterion", name, result.criteria)
    chosen = result.criteria[name]
    if not chosen.snapshot:
        raise RequestError(f"criterion {name} has no value in this run: {chosen.undefined}")
    if not (folder / SCORES).exists():
        raise RequestError(
            f"{folder} kept no scores; a run whose artifacts name scores, and training-scores, keeps them"
        )
    arrays = dict(read_scores(folder, TRAINING_SCORES)) if (folder / TRAINING_SCORES).exists() else {}
    panels = list(panels_of_scores(arrays | read_scores(folder), chosen.snapshot))
    title = f"{spec.method.key}{' (oracle)' if result.oracle else ''} on {spec.data.key}, seed {spec.seed}"
    labels = [spec.mechanism.key, *([f"c {spec.mechanism.c:g}"] if spec.mechanism.c is not None else [])]
    oracle = " (oracle)" if chosen.oracle else ""
    subtitle = f"{', '.join([spec.data.scheme, *labels])}; epoch {chosen.epoch}, chosen by {name}{oracle}"
    with plain_style():
        write_figure(score_histograms(panels, title, subtitle), path)
    return path


def panels_of_scores(arrays: Arrays, state: str) -> Iterator[ScorePanel]:
    """A panel for each part's scores in a state, then for what else the method gave there (a propensity)."""
    for part in ("training", "validation", "test", "unlabeled"):
        truth, labeled = arrays.get(f"{part}_labels"), arrays.get(f"{part}_labeled") if part != "test" else None
        if part == "test" and truth is None:
            continue
        begin, end = f"{part}_auxiliary_", f"_{state}"
        outputs = [name for name in arrays if name.startswith(begin) and name.endswith(end)]
        for name in (scores_name(part, state), *outputs):
            if (scores := arrays.get(name)) is None:
                continue
            known = np.zeros(len(scores), dtype=bool) if labeled is None else labeled
            groups = {"labeled positives": scores[known]}
            if truth is None:
                groups["unlabeled rows"] = scores[~known]
            else:
                groups["positives" if labeled is None else "unlabeled positives"] = scores[~known & (truth == 1)]
                groups["negatives"] = scores[truth == 0]
            output = name.removeprefix(begin).removesuffix(end) if name in outputs else ""
            title = "unlabeled rows of the table" if part == "unlabeled" else f"{part} part"
            if there := {group: values for group, values in groups.items() if len(values)}:
                yield ScorePanel(f"{output}, {title}" if output else title, there, not output)
