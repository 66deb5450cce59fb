"""Requirements that a stored record must meet to answer a request, without the plan behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os.path import lexists

from ..errors import RecordError
from ..results import Result
from ..specs import RunSpec
from .files import MODEL, SAMPLES, SCORES, TRACE, TRAINING_SCORES, fold_model, scores_digest
from .record import Record


@dataclass(frozen=True)
class Requirements:
    """``spec``: resolved; ``criteria``, ``metrics``: name -> hash of its code, of all that the spec names.

    ``own_table``: whether the data are a table of the user's own.
    """

    spec: RunSpec
    criteria: Mapping[str, str]
    metrics: Mapping[str, str]
    own_table: bool


def lacks(required: Requirements, record: Record) -> Iterator[str]:
    """Needs of the request that the record of the same code lacks, in words that follow 'the stored record has'."""
    spec, result = required.spec, record.result
    for name in spec.selection.criteria:
        if name not in result.criteria:
            yield f"no criterion {name}"
        elif result.criteria[name].code != required.criteria[name]:
            yield f"criterion {name} by other code"
    has_scores = lexists(record.folder / SCORES)
    if has_scores and result.scores and _digest(record) != result.scores:
        yield f"a {SCORES} that is damaged, or of another run"
    if "scores" in spec.execution.artifacts and not has_scores:
        yield "no scores"
    for artifact, name in (("trace", TRACE), ("samples", SAMPLES), ("training-scores", TRAINING_SCORES)):
        if artifact in spec.execution.artifacts and not (record.folder / name).exists():
            yield f"no {artifact.replace('-', ' ')}"
    for part in spec.evaluation.trace:
        if part not in result.spec.evaluation.trace:
            yield f"no trace of the {part} part"
    chosen = result.criteria.get(spec.selection.criterion)
    if chosen is None:
        return
    if chosen.undefined:
        yield f"no value of criterion {spec.selection.criterion}"
    model, file = result.model, record.folder / (fold_model(1) if result.model_is_mean else MODEL)
    has_model = model is not None and model.snapshot == chosen.snapshot and file.exists()
    if spec.execution.save_model and not has_model:
        yield "no model of this criterion's epoch"
    if spec.decision.rule == "prior" and chosen.threshold is None and result.data.prior.given is not None:
        yield "no decision at the prior"
    if not has_scores:
        if names := unmeasured(required, result):
            yield f"no measure {', '.join(names)} and no scores to measure"
        if required.own_table and chosen.snapshot != result.chosen.snapshot:
            yield "no predictions of this criterion's epoch"


def _digest(record: Record) -> str:
    """Digest of the scores; empty if they cannot be read."""
    try:
        return scores_digest(record.folder)
    except (OSError, RecordError):
        return ""


def unmeasured(required: Requirements, result: Result) -> list[str]:
    """Metrics that were not measured yet, or by other code."""
    return [name for name in required.spec.evaluation.metrics if result.metrics.get(name) != required.metrics[name]]
