"""The layout of ``scores.npz``: which array is what.

``test_rows``, ``test_labels``; ``validation_rows``, ``validation_labeled``, ``validation_labels``; ``unlabeled_rows``
(a user's table). Per distinct state of the method, named by ``CriterionResult.snapshot``: ``test_scores_<state>``,
``validation_scores_<state>``, ``unlabeled_scores_<state>``, ``test_auxiliary_<output>_<state>``. What is not known is
not there.

``training-scores.npz``, where it is asked for: ``training_rows``, ``training_labeled``, ``training_labels``;
``training_scores_<state>``, ``training_auxiliary_<output>_<state>``. Each instance of the training part once;
``training_labeled``: which of them are labeled.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..data.dataset import IntArray
from ..data.generator import Part, Split
from ..metric import FloatArray, Knowledge
from ..specs import Scheme
from .files import Arrays

#: Parts that metrics can be measured on.
MEASURED = ("test", "validation")


def rows_and_labels(
    split: Split,
    truth_test: npt.NDArray[np.int8] | None,
    truth_validation: npt.NDArray[np.int8] | None,
    unlabeled_rows: IntArray | None,
) -> Arrays:
    """Rows and labels of the scored rows, in the order of their scores."""
    known = {
        "test_rows": split.test_rows if truth_test is not None else None,
        "test_labels": truth_test,
        "validation_rows": split.validation.rows,
        "validation_labeled": split.validation.labeled,
        "validation_labels": truth_validation,
        "unlabeled_rows": unlabeled_rows,
    }
    return {name: values for name, values in known.items() if values is not None}


def scores_name(part: str, state: str) -> str:
    """Name of the array of one part's scores in one state."""
    return f"{part}_scores_{state}"


def scores_of(arrays: Arrays, state: str) -> dict[str, FloatArray]:
    """part -> scores of one state, of all parts that have them."""
    found = {part: arrays.get(scores_name(part, state)) for part in (*MEASURED, "unlabeled")}
    return {part: np.asarray(scores, dtype=np.float64) for part, scores in found.items() if scores is not None}


def knowledge_of(
    arrays: Arrays,
    *,
    prior: float | None,
    scheme: Scheme,
    unlabeled_total: int | None = None,
    prior_interval: tuple[float, float] | None = None,
) -> dict[str, Knowledge]:
    """Knowledge of the rows of the test and of the validation part.

    ``unlabeled_total``: rows of U in training and validation part. ``prior_interval``: of an estimated prior.
    """
    validation = Part(arrays["validation_rows"], arrays["validation_labeled"])
    return {
        "test": Knowledge(truth=arrays.get("test_labels")),
        "validation": Knowledge(
            truth=arrays.get("validation_labels"),
            labeled=np.flatnonzero(validation.labeled),
            unlabeled=validation.unlabeled(scheme),
            prior=prior,
            scheme=scheme,
            unlabeled_total=unlabeled_total,
            prior_interval=prior_interval,
        ),
    }
