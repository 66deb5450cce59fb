"""The layout of ``scores.npz``, which array is what, and measures from scores, fresh or stored.

``test_rows``, ``test_labels``; ``validation_rows``, ``validation_labeled``, ``validation_labels``; ``unlabeled_rows``
(a user's table). Per distinct state of the method, named by ``CriterionResult.snapshot``: ``test_scores_<state>``,
``validation_scores_<state>``, ``unlabeled_scores_<state>``, ``test_auxiliary_<output>_<state>``. What is not known is
not there.

``training-scores.npz``, where it is asked for: ``training_rows``, ``training_labeled``, ``training_labels``;
``training_scores_<state>``, ``training_auxiliary_<output>_<state>``. Each instance of the training part once;
``training_labeled``: which of them are labeled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..data.generator import Part
from ..metric import FloatArray, Knowledge, Measurer, Scored
from ..results import CriterionResult, DataFacts, Measure, Result
from ..specs import RunSpec, Scheme, is_one_sample, unlabeled_prior
from .files import TRAINING_SCORES, Arrays, read_scores

#: Parts that metrics can be measured on.
MEASURED = ("test", "validation")


def scores_name(part: str, state: str) -> str:
    """Name of the array of one part's scores in one state."""
    return f"{part}_scores_{state}"


def scores_of(arrays: Arrays, state: str) -> dict[str, FloatArray]:
    """part -> scores of one state, of all parts that have them."""
    found = {part: arrays.get(scores_name(part, state)) for part in (*MEASURED, "unlabeled")}
    return {part: np.asarray(scores, dtype=np.float64) for part, scores in found.items() if scores is not None}


def knowledge_of(arrays: Arrays, data: DataFacts, scheme: Scheme, *, joint: bool) -> dict[str, Knowledge]:
    """Knowledge of the rows of the test and of the validation part. Raises KeyError for arrays that are not there.

    ``joint``: whether the validation part is that of all folds, whose rows are those of the training part.
    """
    part = Part(arrays["validation_rows"], arrays["validation_labeled"])
    train, estimate = data.train, data.prior.estimate
    unlabeled = part.unlabeled(scheme)
    return {
        "test": Knowledge(truth=arrays.get("test_labels")),
        "validation": Knowledge(
            truth=arrays.get("validation_labels"),
            labeled=np.flatnonzero(part.labeled),
            unlabeled=unlabeled,
            prior=data.prior.given,
            scheme=scheme,
            unlabeled_total=(train.unlabeled or 0) + (0 if joint else len(unlabeled)),
            prior_interval=estimate.prior_interval(train.labeled or 0, train.rows, scheme) if estimate else None,
        ),
    }


def knowledge_in(arrays: Arrays, result: Result) -> dict[str, Knowledge]:
    """Knowledge of the rows behind a record's scores. Raises KeyError for arrays that are not there."""
    return knowledge_of(arrays, result.data, result.spec.data.scheme, joint=bool(result.folds))


def why_undefined(name: str, labeled: npt.NDArray[np.bool_], known: Knowledge, measurer: Measurer) -> str:
    """Reason why a criterion has no value on a validation part: that of constant scores. Empty if it can have one."""
    if not len(labeled):
        return "there is no validation part"
    if name == "native":
        return "" if labeled.any() else "no labeled validation positive"
    return measurer.measure(name, Scored.of(np.zeros(len(labeled)), known)).undefined


def on_scale_of(reference: FloatArray, scores: FloatArray) -> FloatArray:
    """(n,) ``scores`` of one part of the rows on the scale of ``reference``, those of another random part.

    A row at the share q of its part, equal scores counting half, gets the q quantile of the reference: as many rows of
    either part are among the highest as its size says. Beyond the ends of the reference, distances stay.
    """
    ordered = np.sort(scores)
    share = sum(np.searchsorted(ordered, scores, side) for side in ("left", "right")) / (2 * len(scores))
    half = 0.5 / len(reference)
    low, high = np.quantile(scores, [half, 1 - half], method="hazen")
    beyond = np.maximum(scores - high, 0) + np.minimum(scores - low, 0)
    return np.asarray(np.quantile(reference, share, method="hazen") + beyond)


# -------------------------------------------------------------------- measures

#: part -> metric -> measure
Measures = dict[str, dict[str, Measure]]


def updated(old: Measures, new: Measures, names: Collection[str]) -> Measures:
    """``old`` with the measures of ``names`` as they are in ``new``."""
    kept = {part: {name: one for name, one in found.items() if name not in names} for part, found in old.items()}
    both = {part: {**kept.get(part, {}), **new.get(part, {})} for part in {**old, **new}}
    return {part: measures for part, measures in both.items() if measures}


def measures_of(
    scores: Mapping[str, FloatArray],
    knowledge: Mapping[str, Knowledge],
    names: Iterable[str],
    measurer: Measurer,
) -> Measures:
    """All metrics on the scores of one state. ``scores``: part -> (n,); ``knowledge``: part -> what is known of it."""
    names = tuple(names)
    found = {
        part: measurer.measure_all(names, Scored.of(scores[part], known))
        for part, known in knowledge.items()
        if part in scores and len(scores[part])
    }
    return {part: measures for part, measures in found.items() if measures}


# -------------------------------------------------------------------- the decision at the prior
# The threshold above which as many rows of U lie as the method was given are positive. It reads no true label, so it
# can be derived from what a record stores, whenever the scores of U are there.


def arrays_of(folder: Path) -> Arrays:
    """The stored scores of a record, with those of the training part if it has them. Raises RecordError."""
    arrays = read_scores(folder)
    return arrays | read_scores(folder, TRAINING_SCORES) if (folder / TRAINING_SCORES).exists() else arrays


def threshold_in(arrays: Arrays, state: str, data: DataFacts, spec: RunSpec) -> float | None:
    """The (1 - π_U) quantile of the scores of U in one state; None if no prior is known, or scores are missing.

    ``arrays``: of ``scores.npz``, joined by those of ``training-scores.npz`` for a data set. Quantiles between two
    scores are interpolated, so that round(π_U n) rows lie above if no scores are equal.
    """
    share, scores = share_of_u(data, spec), scores_of_u(arrays, state, spec)
    if share is None or scores is None or not len(scores):
        return None
    return float(np.quantile(scores, 1 - share))


def share_of_u(data: DataFacts, spec: RunSpec) -> float | None:
    """Share of positives in U that the prior given to the method implies, in [0, 1]; None if no prior is known.

    Under calibration the method is given π, of U ∪ P: here it is what π leaves for U.
    """
    told, prior, train = data.prior.given_unlabeled, data.prior.given, data.train
    if prior is None:
        return None
    if told is None or data.calibrated:
        one_sample = is_one_sample(spec.data.scheme)
        whole = prior if told is None else told
        told = unlabeled_prior(whole, train.labeled or 0, train.rows) if one_sample else whole
    return min(max(told, 0.0), 1.0)


def scores_of_u(arrays: Arrays, state: str, spec: RunSpec) -> FloatArray | None:
    """Scores of the training and validation rows of U in one state; None if some are not stored.

    Of a user's table these are its unlabeled rows without those of a drawn test part. Of a joint record they are out
    of fold: every row was held out once.
    """
    if spec.data.own is not None:
        unlabeled = scores_of(arrays, state).get("unlabeled")
        if unlabeled is None or spec.data.own.test is not None or "test_rows" not in arrays:
            return unlabeled
        return unlabeled[~np.isin(arrays["unlabeled_rows"], arrays["test_rows"])]
    found = []
    for name in ("validation",) if spec.validation.joint else ("training", "validation"):
        scores = arrays.get(scores_name(name, state))
        if scores is None:
            return None
        part = Part(arrays[f"{name}_rows"], arrays[f"{name}_labeled"].astype(bool))
        found.append(np.asarray(scores, dtype=np.float64)[part.unlabeled(spec.data.scheme)])
    return np.concatenate(found)


def measures_at(
    threshold: float | None,
    scores: Mapping[str, FloatArray],
    knowledge: Mapping[str, Knowledge],
    names: Iterable[str],
    measurer: Measurer,
) -> Measures:
    """Metrics that read a decision, as :func:`measures_of`, with scores above ``threshold`` decided positive.

    Which these are, ``measurer`` knows from having measured. Empty without a threshold.
    """
    if threshold is None:
        return {}
    deciding = [name for name in names if name in measurer.deciding]
    at = {part: replace(known, threshold=threshold) for part, known in knowledge.items()}
    return measures_of(scores, at, deciding, measurer)


def measured(result: Result, arrays: Arrays, names: Sequence[str], measurer: Measurer) -> dict[str, CriterionResult]:
    """The criteria of a result with measures of some metrics and the threshold as the scores of their states give them.

    ``arrays``: with those of the training part, if stored. The threshold is that of the result if the scores of U are
    not stored, and if it has measures without one, as an older record does.
    """
    knowledge, chosen = knowledge_in(arrays, result), {n: one for n, one in result.criteria.items() if one.snapshot}
    scores = {one.snapshot: scores_of(arrays, one.snapshot) for one in chosen.values()}
    # all of them first, which tells what reads a decision
    at_zero = {state: measures_of(found, knowledge, names, measurer) for state, found in scores.items()}
    found, at_prior = dict(result.criteria), dict[tuple[str, float | None], Measures]()
    for name, one in chosen.items():
        threshold = one.threshold
        if threshold is not None or not one.measures:
            derived = threshold_in(arrays, one.snapshot, result.data, result.spec)
            threshold = threshold if derived is None else derived
        at = one.snapshot, threshold
        if at not in at_prior:  # criteria often choose the same state
            at_prior[at] = measures_at(threshold, scores[one.snapshot], knowledge, names, measurer)
        update = {
            "measures": updated(one.measures, at_zero[one.snapshot], names),
            "threshold": threshold,
            "at_prior": updated(one.at_prior, at_prior[at], names),
        }
        found[name] = one.model_copy(update=update)
    return found
