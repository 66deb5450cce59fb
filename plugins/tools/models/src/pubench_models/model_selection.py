"""Choosing models from PU labels with scikit-learn: scorers that need no true label, folds by instance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from pubench_datasets_tables.frames import frame_of, labels_of
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from pubench.field_names import in_words
from pubench_core.specs import Scheme


def read_labels(y: Any, pos_label: Any = None) -> tuple[npt.NDArray[np.bool_], npt.NDArray[Any]]:
    """(n,) True where ``y`` says labeled positive, and the two values that mean unlabeled and positive.

    A missing label (None, NaN, NA) means unlabeled. Raises ValueError unless the others are 1 and 0, 1 and -1, True and
    False, or two of which ``pos_label`` is one; one of them may be absent if labels are missing.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if not isinstance(y, (list, tuple, pd.Series)) and not hasattr(y, "to_pandas"):
        y = np.asarray(y)
        y = column_or_1d(y, warn=True) if y.ndim == 2 else y
    values, missing = labels_of(y)
    assert_all_finite(values[~missing], input_name="y")
    check_classification_targets(values[~missing])
    found = sorted(pd.unique(values[~missing]), key=str)
    shown = ", ".join(map(str, [*found[:5], *(["missing"] if missing.any() else [])])) + ", ..." * (len(found) > 5)
    if len(found) > 2:
        raise ValueError(
            f"Only binary classification is supported. Unknown label type: y has the values {shown}; expected two, "
            "labeled positive and unlabeled"
        )
    if len(found) + bool(missing.any()) < 2:
        raise ValueError(f"y has 1 class ({shown}); PU learning needs labeled positives and unlabeled rows")
    is_plain = values.dtype.kind in "biuf" and 1 in found and set(found) <= {0, 1} | {-1, 1}
    positive = 1 if pos_label is None and is_plain else pos_label
    if pos_label is None and not is_plain:
        raise ValueError(
            f"y has the values {shown}; expected 1 and 0, 1 and -1, True and False, or pos_label says which means "
            "labeled positive"
        )
    if positive not in found:
        raise ValueError(f"pos_label={pos_label!r} is no value of y, which has the values {shown}")
    plain_other = 0 if values.dtype.kind in "biuf" else None
    other = next((value for value in found if value != positive), plain_other)
    dtype = object if other is None else values.dtype
    return np.asarray((values == positive) & ~missing), np.array([other, positive], dtype=dtype)


def known_negatives(y: Any, neg_label: Any = None) -> tuple[Any, npt.NDArray[np.bool_]]:
    """``y`` with known negatives as missing labels, and (n,) True for those: rows of ``neg_label``, or of -1 among 1, 0
    and -1.
    """
    if y is None:  # which read_labels refuses
        return y, np.zeros(0, bool)
    values, missing = labels_of(y)
    if neg_label is None and not (values.dtype.kind in "if" and set(values[~missing].ravel()) == {-1, 0, 1}):
        return y, np.zeros(len(values), bool)
    negative = (values == (-1 if neg_label is None else neg_label)) & ~missing
    if not negative.any():
        raise ValueError(f"neg_label={neg_label!r} is no value of y")
    rest = np.array(values, dtype=object)
    rest[negative | missing] = None
    return rest, negative.ravel()


@dataclass(frozen=True)
class PUScorer:
    """A scorer of scikit-learn, ``scorer(estimator, X, y)``, from labeled positives and unlabeled rows.

    ``metric``: key of a PU-only metric. ``prior``, ``scheme``, ``purity``: what it is given of the rows, where it needs
    that (``purity``: share of true positives among the labeled ones).
    """

    metric: str
    prior: float | None = None
    scheme: Scheme = "one-sample"
    pos_label: Any = None
    purity: float = 1.0

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The metric on rows ``X`` whose PU labels are ``y``; known negatives (-1 among 1, 0 and -1) are left out.

        Raises ValueError if it has no value on them.
        """
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        y, negative = known_negatives(y)
        return self.of_scores(scores[~negative], read_labels(y, self.pos_label)[0][~negative])

    def of_scores(self, scores: npt.NDArray[np.float64], labeled: npt.NDArray[np.bool_]) -> float:
        """The metric of (n,) scores, decided at 0, and (n,) PU labels."""
        from pubench_core.errors import Undefined
        from pubench_core.metric import Knowledge, Scored, measure
        from pubench_core.plugins.info import MetricInfo
        from pubench_core.plugins.registry import load, registry

        with in_words():
            info = registry().find(MetricInfo, self.metric)
            function = load(info)
        known = Knowledge(
            labeled=np.flatnonzero(labeled),
            unlabeled=np.flatnonzero(~labeled),
            prior=self.prior,
            scheme=self.scheme,
            positive_purity=self.purity,
        )
        try:
            return measure(function, info, Scored.of(scores, known)).value
        except Undefined as reason:
            raise ValueError(f"{self.metric} has no value here: {reason}") from None


def pa_scorer(prior: float, *, scheme: Scheme = "one-sample", pos_label: Any = None) -> PUScorer:
    """A scorer for the proxy accuracy PA (Wang et al.): accuracy plus ``prior`` in expectation, under SCAR.

    ``prior``: the class prior π of the population. ``scheme``: ``one-sample`` (labeled and unlabeled rows together are
    one draw from the population) or ``two-sample`` (the unlabeled rows alone are).

    >>> from sklearn.linear_model import LogisticRegression
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> y = (np.arange(40) % 2 == 0) & (x[:, 0] > 0)
    >>> model = LogisticRegression(class_weight="balanced").fit(x, y)
    >>> round(pa_scorer(0.5)(model, x, y), 3)
    1.375
    """
    _check(prior, scheme)
    return PUScorer("pa", prior, scheme, pos_label)


def pauc_scorer(*, pos_label: Any = None) -> PUScorer:
    """A scorer for the proxy AUC: labeled against unlabeled rows. It orders models as AUC does, under SCAR."""
    return PUScorer("pauc", pos_label=pos_label)


def pulp_scorer(*, pos_label: Any = None) -> PUScorer:
    """A scorer for PULP (needs ``pubench-metrics``): how improbable it is that chance ranks the labeled rows
    as high. It assumes neither a prior nor SCAR, and compares models on one set of rows.
    """
    return PUScorer("pulp", pos_label=pos_label)


def recovered_auc_scorer(
    prior: float, *, scheme: Scheme = "one-sample", purity: float = 1.0, pos_label: Any = None
) -> PUScorer:
    """A scorer for the AUC against true labels, recovered from labeled and unlabeled rows (Jain et al. 2017).

    Needs ``pubench-metrics``. ``prior``, ``scheme``: as for :func:`pa_scorer`. ``purity``: share of true
    positives among the labeled rows, above the share among the unlabeled ones. It orders models as
    :func:`pauc_scorer` does; its value reads as an AUC, cut off at 0 and 1.
    """
    _check(prior, scheme)
    if not 0 < purity <= 1:
        raise ValueError(f"purity must be in (0, 1], got {purity!r}")
    return PUScorer("recovered-auc", prior, scheme, pos_label, purity)


def _check(prior: float, scheme: str) -> None:
    if not 0 < prior < 1:
        raise ValueError(f"prior must be in (0, 1), got {prior!r}")
    if scheme not in get_args(Scheme):
        raise ValueError(f"scheme must be one of {', '.join(get_args(Scheme))}, got {scheme!r}")


class PUKFold:
    """K folds that keep the shares of labeled and unlabeled rows, and equal rows together.

    A labeled positive is often in the table a second time, as an unlabeled row. Were its copy in another fold, a model
    would be measured on a row that it was trained on.

    ``n_splits``: folds. ``random_state``: None gives the same folds every time (seed 0).

    >>> import numpy as np
    >>> x = np.arange(12)[:, None] // 2  # every row is there twice
    >>> y = np.array([1, 0] * 4 + [0, 0] * 2)
    >>> for train, test in PUKFold(2).split(x, y):
    ...     assert not set(x[train, 0]) & set(x[test, 0])
    """

    def __init__(self, n_splits: int = 5, *, random_state: int | np.random.RandomState | None = None) -> None:
        self.n_splits, self.random_state = n_splits, random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: Any, groups: Any = None
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Pairs of (training rows, test rows). ``groups``: rows that belong together; by default those that are equal.

        Raises ValueError if there are fewer labeled instances than folds.
        """
        from sklearn.model_selection import StratifiedKFold

        labeled = read_labels(known_negatives(y)[0])[0]
        keys = pd.util.hash_pandas_object(frame_of(X, "X"), index=False) if groups is None else np.asarray(groups)
        unit, _ = pd.factorize(keys)
        n_units = int(unit.max()) + 1
        has_label = np.bincount(unit, weights=labeled, minlength=n_units) > 0
        fewest = min(int(has_label.sum()), int((~has_label).sum()))
        if fewest < self.n_splits:
            raise ValueError(
                f"n_splits must be at most {fewest}, the different instances of the smaller part, got {self.n_splits}"
            )
        seed = 0 if self.random_state is None else self.random_state
        folds = StratifiedKFold(self.n_splits, shuffle=True, random_state=seed)
        for train, test in folds.split(np.zeros(n_units), has_label):
            yield np.flatnonzero(np.isin(unit, train)), np.flatnonzero(np.isin(unit, test))

    def __repr__(self) -> str:
        return f"PUKFold({self.n_splits}, random_state={self.random_state!r})"
