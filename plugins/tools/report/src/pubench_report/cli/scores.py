"""``pubench scores``: a picture of the scores that a record keeps, apart for labeled positives, the others, negatives.

Training scores are there where the run kept them (``--artifacts scores,trace,training-scores``).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pubench.field_names import in_words
from pubench_cli.recorded_run import folder_of_run
from pubench_core.errors import RequestError, unknown
from pubench_core.records.files import SCORES, TRACE, TRAINING_SCORES, Arrays, read_scores
from pubench_core.records.record import Record, read_record
from pubench_core.records.scores import scores_name

from ..drawing import ScorePanel, plain_style, print_picture, score_histograms, write_figure

if TYPE_CHECKING:
    from pandas import DataFrame

    from pubench import RunResult


def print_scores(run: str, results: Path, criterion: str | None, out: Path | None, *, as_json: bool) -> None:
    """Writes the picture (``RUN-scores.png`` by default) and prints its path."""
    folder = folder_of_run(results, run)
    print_picture(_drawn(folder, out or Path(f"{folder.name}-scores.png"), criterion), as_json=as_json)


@in_words()
def draw_scores(run: RunResult, path: str | Path, criterion: str | None = None) -> Path:
    """Writes histograms of the stored scores as PNG or SVG: labeled positives, unlabeled positives and negatives of
    the validation part, of the training part where ``artifacts`` named ``training-scores``, and of the test part;
    the path. What ``pubench scores`` draws.

    ``criterion``: whose epoch is shown, by default that which names the result.

    Raises InvalidRequest for a criterion that was not tracked, a run that kept no scores, another kind of file, and
    one that cannot be written.
    """
    return _drawn(run.folder, Path(path), criterion)


def trace(run: RunResult) -> DataFrame:
    """One row per epoch: seconds, reported losses, criteria. Raises ValueError if the run kept none."""
    import pandas as pd

    path = run.folder / TRACE
    if not path.exists():
        raise ValueError(f"run {run.run_id} kept no trace; run it again with artifacts=['scores', 'trace']")
    return pd.read_csv(path)


def _drawn(folder: Path, path: Path, criterion: str | None = None) -> Path:
    """Draws the scores of a record at the epoch that a criterion chose; by default the one that names the result.

    Raises RequestError for a criterion that was not tracked or has no value, a record that kept no scores, a name that
    ends in neither ``.png`` nor ``.svg``, and a file that cannot be written; RecordError for a damaged record.
    """
    if path.suffix.lower() not in (".png", ".svg"):
        raise RequestError(f"{path}: a picture is a PNG or an SVG; give a name that ends in .png or .svg")
    record = read_record(folder)
    result = record.result
    name = criterion or result.selected
    if name not in result.criteria:
        raise unknown("criterion", name, result.criteria)
    chosen = result.criteria[name]
    if not chosen.snapshot:
        raise RequestError(f"criterion {name} has no value in this run: {chosen.undefined}")
    if not (folder / SCORES).exists():
        raise RequestError(
            f"{folder} kept no scores; a run whose artifacts name scores, and training-scores, keeps them"
        )
    panels = list(_panels(record, chosen.snapshot))
    spec = result.spec
    title = f"{spec.method.key}{' (oracle)' if result.oracle else ''} on {spec.data.key}, seed {spec.seed}"
    labels = [spec.mechanism.key, f"c {spec.mechanism.c:g}"] if spec.mechanism.c is not None else [spec.mechanism.key]
    oracle = " (oracle)" if chosen.oracle else ""
    subtitle = f"{', '.join([spec.data.scheme, *labels])}; epoch {chosen.epoch}, chosen by {name}{oracle}"
    with plain_style():
        write_figure(score_histograms(panels, title, subtitle), path)
    return path


def _panels(record: Record, state: str) -> Iterator[ScorePanel]:
    """Training, validation and test part, a user's unlabeled rows, then what else the method gave on the test part."""
    arrays = read_scores(record.folder)
    if (record.folder / TRAINING_SCORES).exists():
        training = read_scores(record.folder, TRAINING_SCORES)
        yield _panel(training, "training", training[scores_name("training", state)])
        yield from _outputs(training, "training", state)
    yield _panel(arrays, "validation", arrays[scores_name("validation", state)])
    if arrays.get("test_labels") is not None:
        yield _panel(arrays, "test", arrays[scores_name("test", state)])
    unlabeled = arrays.get(scores_name("unlabeled", state))
    if unlabeled is not None and len(unlabeled):
        yield ScorePanel("unlabeled rows of the table", {"unlabeled rows": unlabeled})
    if arrays.get("test_labels") is not None:
        yield from _outputs(arrays, "test", state)


def _outputs(arrays: Arrays, part: str, state: str) -> Iterator[ScorePanel]:
    """What else the method gave on a part: a propensity, a discriminator."""
    begin, end = f"{part}_auxiliary_", f"_{state}"
    for name, values in arrays.items():
        if name.startswith(begin) and name.endswith(end):
            yield _panel(arrays, part, values, name.removeprefix(begin).removesuffix(end))


def _panel(arrays: Arrays, part: str, scores: np.ndarray, output: str = "") -> ScorePanel:
    """Scores of a part apart for its kinds of rows. ``output``: another one than the scores."""
    labeled, truth = arrays.get(f"{part}_labeled"), arrays.get(f"{part}_labels")
    groups = {}
    if part == "test" or labeled is None:
        groups = {"positives": scores[truth == 1], "negatives": scores[truth == 0]}
    else:
        groups["labeled positives"] = scores[labeled]
        if truth is None:
            groups["unlabeled rows"] = scores[~labeled]
        else:
            groups |= {"unlabeled positives": scores[~labeled & (truth == 1)], "negatives": scores[truth == 0]}
    title = f"{output}, {part} part" if output else f"{part} part"
    return ScorePanel(title, {name: values for name, values in groups.items() if len(values)}, not output)
