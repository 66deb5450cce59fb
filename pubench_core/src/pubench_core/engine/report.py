"""What a finished run writes down: the content of ``result.json`` and the files beside it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from ..events import EpochFinished
from ..info import MetricInfo
from ..metric import Scored
from ..records import RESULT, write_json, write_rows, write_yaml
from ..registry import Registry
from ..specs import RunSpec
from .problem import Problem
from .saved import save_model
from .selection import Track
from .train import Trained

#: Raised when the content of result.json changes; an older record is run again.
RECORD_VERSION = 3
MODEL = "model.safetensors"
PREDICTIONS = "predictions.csv"


def result_of(
    spec: RunSpec,
    problem: Problem,
    trained: Trained,
    registry: Registry,
    code: Mapping[str, Any],
    around: Mapping[str, Any],
) -> dict[str, Any]:
    """Everything a reader of results needs, as plain data."""
    infos = {m.key: m for m in registry.infos(MetricInfo)}
    criteria = {}
    for name, track in trained.selection.tracks.items():
        info = infos.get(name)
        entry: dict[str, Any] = {"oracle": info is not None and info.tag == "oracle"}
        if track.snapshot is None:
            entry["undefined"] = track.undefined or "it had no value at any epoch"
        else:
            entry |= _criterion_result(spec, problem, trained, track)
        criteria[name] = entry
    return {
        "record_version": RECORD_VERSION,
        "run_id": spec.run_id,
        "status": "finished",
        "code": code,
        "spec": spec.model_dump(mode="json"),
        "oracle": "truth" in trained.method.requires(trained.method.config),
        "selected": spec.selection.criterion,
        **({"test": criteria[spec.selection.criterion]["test"]} if problem.truth_test is not None else {}),
        "criteria": criteria,
        "data": problem.facts(),
        "epochs": len(trained.epochs),
        "seconds": {name: round(value, 4) for name, value in trained.seconds.items()},
        "peak_memory": trained.memory,
        "warnings": [*trained.evaluator.failed.values(), *_one_sided(spec, problem, trained)],
        "device": around["device"],
        "threads": around["threads"],
        "finished_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _criterion_result(spec: RunSpec, problem: Problem, trained: Trained, track: Track) -> dict[str, Any]:
    found: dict[str, Any] = {
        "epoch": track.epoch,
        "value": track.best if track.name != "last" else None,
        "candidate": track.candidate,
        "stopped_at": track.stopped_at,
    }
    if problem.truth_test is not None:
        scored = Scored.of(trained.scores[track.name]["test"], truth=problem.truth_test)
        found["test"] = {name: trained.evaluator.value(name, scored) for name in spec.evaluation.metrics}
    return found


def _one_sided(spec: RunSpec, problem: Problem, trained: Trained) -> list[str]:
    """A line for a result whose decisions are all the same: its accuracy is then the share of a class, no more."""
    if problem.truth_test is not None:
        what, scores = "test", trained.scores[spec.selection.criterion]["test"]
    elif trained.unlabeled is not None:
        what, scores = "unlabeled", trained.unlabeled
    else:
        return []
    positive = scores > 0
    if not len(scores) or (positive.any() and not positive.all()):
        return []
    side = "positive" if positive.any() else "negative"
    return [
        f"all {len(scores)} {what} rows are decided {side} (scores from {scores.min():.4g} to {scores.max():.4g}, "
        "decided at 0): the order of the scores may mean something, the decisions do not"
    ]


def fill_folder(
    folder: Path,
    spec: RunSpec,
    problem: Problem,
    trained: Trained,
    result: Mapping[str, Any],
    around: Mapping[str, Any],
) -> None:
    """Writes a record; ``result.json`` last."""
    write_yaml(folder / "spec.yaml", spec.model_dump(mode="json"))
    write_json(folder / "environment.json", around)
    if "trace" in spec.execution.artifacts:
        write_rows(folder / "trace.csv", [_trace_row(event) for event in trained.epochs])
    if "scores" in spec.execution.artifacts:
        validation = problem.split.validation
        known = {
            "test_rows": problem.split.test_rows if problem.truth_test is not None else None,
            "test_labels": problem.truth_test,
            "validation_labels": problem.truth_validation,
        }
        arrays: dict[str, Any] = {
            **{name: values for name, values in known.items() if values is not None},
            "validation_rows": validation.rows,
            "validation_labeled": validation.labeled,
            **{
                f"{part}_scores_{name}": values
                for name, by_part in trained.scores.items()
                for part, values in by_part.items()
            },
            **{f"test_auxiliary_{name}": values for name, values in trained.auxiliary.items()},
        }
        np.savez_compressed(folder / "scores.npz", allow_pickle=False, **arrays)
    if trained.unlabeled is not None and problem.unlabeled_rows is not None:
        write_predictions(folder / PREDICTIONS, problem.unlabeled_rows, trained.unlabeled)
    if spec.execution.save_model:
        chosen = trained.selection.tracks[spec.selection.criterion]
        save_model(folder / MODEL, spec, problem, trained.method, chosen.candidate)
    write_json(folder / RESULT, result)


def write_predictions(target: Path | TextIO, rows: npt.NDArray[np.int64], scores: npt.NDArray[np.float64]) -> None:
    """``row`` (counted from 0, the header left out), ``score``, ``rank`` (1 is the highest score; equal scores share
    the better rank) and ``decision`` (1 positive: score above 0), in the order of the rows.
    """
    from scipy.stats import rankdata

    ranks = rankdata(-scores, method="min").astype(int)
    lines = [
        {"row": int(row), "score": float(score), "rank": int(rank), "decision": int(score > 0)}
        for row, score, rank in zip(rows, scores, ranks, strict=True)
    ]
    write_rows(target, lines)


def _trace_row(event: EpochFinished) -> dict[str, Any]:
    return {
        "stage": event.stage,
        "epoch": event.epoch,
        "in_stage": event.in_stage,
        "seconds": round(event.seconds, 4),
        "evaluation_seconds": round(event.evaluation_seconds, 4),
        **event.values,
        **{f"criterion-{name}": value for name, value in event.criteria.items()},
    }
