"""Writing records: of what was computed, of what failed or was refused, of what was derived later."""

from __future__ import annotations

import io
import re
import time
import traceback
from pathlib import Path

import numpy as np

from ..errors import PubenchError, RecordError, RequestError, RunFailed, said_by, visible
from ..records import files
from ..records.later import write_later
from ..records.record import Record
from ..records.scores import scores_name
from ..records.store import RecordStore
from ..results import Code, Environment, Failure, Result
from .finish import Finished, model_warning
from .plan import Plan
from .source_location import short_path
from .train import OUT_OF_MEMORY


def publish(store: RecordStore, done: Finished) -> Record:
    """Stores a finished run. Raises RecordError, with the result, if it cannot be written.

    A model that cannot be written costs the model only; the result of the record says so.
    """
    result = done.result
    try:
        with store.write(result.run_id) as folder:
            result = _fill(folder, done)
    except RecordError as error:
        error.result = result
        raise
    return Record(store.folder(result.run_id), result)


def _fill(folder: Path, done: Finished) -> Result:
    """Writes a record: the model when all else is there, and ``result.json`` last. Gives what that says."""
    result = done.result
    files.write_json(folder / files.ENVIRONMENT, done.environment.model_dump(mode="json"))
    files.write_yaml(folder / files.SPEC, done.result.spec.model_dump(mode="json"))
    if done.trace is not None:
        files.write_rows(folder / files.TRACE, done.trace)
    for name, arrays in (
        (files.SCORES, done.arrays),
        (files.SAMPLES, done.samples),
        (files.TRAINING_SCORES, done.training),
    ):
        if arrays is not None:
            np.savez_compressed(folder / name, allow_pickle=False, **arrays)
    if done.arrays is not None:
        result = result.model_copy(update={"scores": files.scores_digest(folder)})
    if done.predictions is not None:
        files.write_predictions(folder / files.PREDICTIONS, *done.predictions, done.ids, result.chosen.threshold)
    if done.models:
        try:
            for name, content in done.models.items():
                (folder / name).write_bytes(content)
        except OSError as error:
            for name in done.models:
                (folder / name).unlink(missing_ok=True)
            lines = (*result.warnings, model_warning(f"{files.MODEL} could not be written: {error.strerror or error}"))
            result = result.model_copy(update={"model": None, "warnings": lines})
    (folder / files.RESULT).write_text(files.result_text(result), encoding="utf-8")
    return result


def publish_answer(record: Record, result: Result) -> None:
    """Keeps what a view of a record has besides it: measures derived from its scores, and predictions by another
    criterion. The files that the run wrote stay as they are.

    Raises RecordError if it cannot be written; the view can be shown all the same.
    """
    folder, view = record.folder, result.viewed(record.result.selected, record.result.decision)
    path = folder / files.MEASURES
    try:
        if view != record.result:
            write_later(folder, view)
        path = folder / files.predictions_by(result.selected)
        if (folder / files.PREDICTIONS).exists() and result.chosen.snapshot != record.result.chosen.snapshot:
            arrays, text = files.read_scores(folder), io.StringIO()
            scores = arrays[scores_name("unlabeled", result.chosen.snapshot)]
            files.write_predictions(
                text, arrays["unlabeled_rows"], scores, files.ids_in(folder), result.chosen.threshold
            )
            files.replace_text(path, text.getvalue())
    except OSError as error:
        raise RecordError(f"{path} could not be written: {error.strerror or error}") from error


def failure_of(plan: Plan, code: Code, error: Exception, environment: Environment) -> Failure:
    """Failure of a run that was refused after its data were opened, or that failed."""
    if isinstance(error, RunFailed):
        failed = error
    elif isinstance(error, RequestError):
        failed = RunFailed(str(error), cause="refused")
    else:
        reason = str(error) if isinstance(error, PubenchError) else said_by(error)
        failed = RunFailed(reason, cause="out-of-memory" if isinstance(error, OUT_OF_MEMORY) else "error")
    trace = "".join(traceback.format_exception(error))  # records are passed on: without folders of this machine
    return Failure(
        failure_version=1,
        run_id=plan.run_id,
        cause=failed.cause,
        reason=visible(failed.reason),
        stage=failed.stage,
        epoch=failed.epoch,
        step=failed.step,
        code=code,
        spec=plan.spec,
        traceback=visible(re.sub(r'(?<=  File ")[^"\n]+', lambda file: short_path(file[0]), trace)),
        environment=environment,
        failed_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
