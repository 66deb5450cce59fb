"""Every installed PU method as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from pubench_datasets_tables.encoding import encode
from pubench_datasets_tables.frames import PUTable, data, frame_of, hold, refuse_other_rows
from pubench_datasets_tables.held import held
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from pubench.field_names import InvalidRequest, PubenchWarning, in_arguments, in_words, said
from pubench_core.data.labeled import LabeledData
from pubench_core.data.sparse import SparseRows
from pubench_core.data.table_reader import table_reader
from pubench_core.errors import PluginError, RequestError
from pubench_core.plugins.registry import registry
from pubench_core.results import Result

from .model_selection import known_negatives, pauc_scorer, read_labels
from .posterior import PosteriorCurve

if TYPE_CHECKING:
    from pandas import DataFrame

    from pubench_core.data.labeled import Column
    from pubench_models.saved_model import SavedModel

#: Field of the spec -> parameter of the estimator, for messages.
_PARAMETERS: Mapping[str, str] = {
    "method.key": "method",
    "method.preset": "preset",
    "data.own.path": "X",
    "data.own.label_col": "y",
    "data.own.features": "features",
    "data.own.weights": "sample_weight",
    "data.scheme": "scheme",
    "prior": "prior",
    "validation.fraction": "validation",
    "validation.folds": "cv",
    "validation.refit": "refit",
    "backbone.key": "backbone",
    "selection.criterion": "criterion",
    "decision.rule": "decision",
    "seed": "random_state",
    "execution.device": "device",
    "execution.threads": "threads",
    "method.config": "",
}
#: So many labeled rows and so many others must agree before a sparse column counts as a copy of the labels.
_NO_CHANCE = 5
#: Held-out labeled rows, at least, for probabilities.
_FEWEST = 10
_UNWEIGHTED = "predict_proba is calibrated on rows that weigh the same; leave sample_weight out"
_WHICH = "two labels such as 1 and 2 do not say which means labeled positive; pos_label does"
_LEAK = "a feature of its data says who is labeled, which is refused as a leak"
_TWICE = "cv is a number and no list of folds; rows are drawn at random, and a row of weight 2 is drawn as one"
#: Checks of ``sklearn.utils.estimator_checks`` that PUClassifier fails, and why.
EXPECTED_FAILED_CHECKS: Mapping[str, str] = {
    "check_estimators_dtypes": _WHICH,
    "check_sample_weights_pandas_series": _WHICH,
    "check_sample_weights_not_an_array": _WHICH,
    "check_sample_weights_shape": _WHICH,
    "check_sample_weights_not_overwritten": _WHICH,
    "check_classifier_data_not_an_array": _WHICH,
    "check_classifiers_classes": _WHICH,
    "check_positive_only_tag_during_fit": _LEAK,
    "check_pipeline_consistency": _LEAK,
    "check_estimators_pickle": _LEAK,
    "check_fit2d_1feature": _LEAK,
    "check_sample_weight_equivalence_on_dense_data": _TWICE,
    "check_sample_weight_equivalence_on_sparse_data": _TWICE,
}


def _warn(text: str) -> None:
    warnings.warn(said(text, _PARAMETERS), PubenchWarning, stacklevel=4)


def _weights(given: Any, n: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64] | None]:
    """(n,) True for rows that are there, and the weights of those; None if they are all the same."""
    if given is None:
        return np.ones(n, bool), None
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), got {weights.shape}")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        row = int(np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[0])
        raise ValueError(f"sample_weight must be finite numbers of at least 0, got {weights[row]} in row {row}")
    kept = weights[weights > 0]
    if not len(kept):
        raise ValueError("sample_weight must not be zero in every row")
    return weights > 0, None if (kept == kept[0]).all() else kept


def _as_texts(config: Mapping[str, Any]) -> dict[str, Any]:
    """Hyper-parameters; an estimator as ``base`` becomes ``package.module:callable`` and what that is called with."""
    if not hasattr(config.get("base"), "get_params"):
        return dict(config)
    given = _as_text(config["base"])
    return {**config, "base": given.pop("class"), "base_config": given}


def _as_text(value: Any) -> Any:
    if hasattr(value, "get_params") and not isinstance(value, type):
        kind = type(value)
        if kind.__module__ == "__main__":
            raise InvalidRequest(
                f"base: {kind.__name__} must be defined in a module that can be imported", field="base"
            )
        defaults = {name: p.default for name, p in signature(kind).parameters.items()}
        params = {name: item for name, item in value.get_params(deep=False).items() if item is not defaults.get(name)}
        return {"class": f"{kind.__module__}:{kind.__qualname__}", **{k: _as_text(v) for k, v in params.items()}}
    if isinstance(value, (list, tuple)):
        return [_as_text(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise InvalidRequest(f"base: {value!r:.60} is no number, text or estimator; take base='package.module:callable'")


class PUClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no annotations
    """A PU method as a scikit-learn classifier: ``fit(X, y)`` where ``y`` says which rows are labeled positive.

    Parameters are those of a run; any further keyword is a hyper-parameter of the method.

    ``method``: key of an installed method. ``prior``: class prior π of the population, for methods that need it.
    ``scheme``: ``one-sample`` (all rows are one draw from the population, some of its positives are labeled) or
    ``two-sample`` (the unlabeled rows alone are a draw). ``criterion``: chooses the epoch, on the ``validation`` share
    of the rows, or on ``cv`` folds; None means ``pa``, or ``pauc`` where no prior is known. ``decision``: ``zero``
    calls rows positive whose score is above 0, ``prior`` as many as the prior says. ``pos_label``: the value of ``y``
    that means labeled positive, where values are not 1/0, 1/-1 or True/False. ``neg_label``: the value that means known
    negative; -1 among 1, 0 and -1 does by itself. ``features``: columns to use, as shell
    patterns; by default all but constant ones, dates and ids. ``random_state``: None means 2, the seed of a run that
    names none: fitting twice gives the same model.

    ``X`` is an array of shape (n, d) or a frame (pandas, polars); texts become one feature per value, missing values
    are filled, numbers are standardized, all fitted on the training part alone. A sparse matrix stays sparse for
    methods that take it so and keeps its scale; others get dense rows, a batch at a time. A missing label in ``y``
    means unlabeled. ``base`` of a classic may be an estimator.

    ``cv``: a number of folds. A model is trained without each, and ``out_of_fold_scores_``, (n,), are the scores of the
    rows of ``X`` by the model that did not see them. ``refit``: ``mean``, a new row's score is the mean of all models;
    ``all``, it is that of one more model of all rows, in the epoch that the folds chose.

    ``predict_proba`` needs the class prior; ``feature_importances_`` and ``coef_`` a method and base that have them.
    After ``fit``: ``classes_`` (unlabeled or negative, positive), ``n_features_in_``, ``feature_names_in_`` (frames),
    ``threshold_`` (scores above it are positive), ``result_`` (what a record of the run would hold), ``notes_`` (how
    the columns were read), ``n_iter_`` (epochs).

    >>> from sklearn.datasets import load_breast_cancer
    >>> x, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> labeled = (y == 0) & (x.index % 3 == 0)  # malignant ones, every third row
    >>> model = PUClassifier("upu", prior=0.37, epochs=20).fit(x, labeled)
    >>> float((model.predict(x) == (y == 0)).mean()) > 0.85
    True
    """

    def __init__(
        self,
        method: str = "nnpu",
        *,
        prior: float | str | None = None,
        scheme: str = "one-sample",
        preset: str | None = None,
        backbone: str | None = None,
        criterion: str | None = None,
        decision: str = "zero",
        validation: float = 0.2,
        cv: int | None = None,
        refit: str = "mean",
        pos_label: Any = None,
        neg_label: Any = None,
        features: Any = None,
        device: str = "auto",
        threads: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        **config: Any,
    ) -> None:
        self.method = method
        self.prior = prior
        self.scheme = scheme
        self.preset = preset
        self.backbone = backbone
        self.criterion = criterion
        self.decision = decision
        self.validation = validation
        self.cv = cv
        self.refit = refit
        self.pos_label = pos_label
        self.neg_label = neg_label
        self.features = features
        self.device = device
        self.threads = threads
        self.random_state = random_state
        self._config = config

    _models: list[SavedModel] | None
    _posterior: PosteriorCurve | str

    # ---------------------------------------------------------------- parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters and the hyper-parameters that were given; those of a base as ``base__NAME``."""
        found = {**super().get_params(deep), **self._config}
        bases = {name: value for name, value in self._config.items() if deep and hasattr(value, "get_params")}
        return found | {f"{name}__{k}": v for name, value in bases.items() for k, v in value.get_params().items()}

    def set_params(self, **params: Any) -> Self:
        """Sets parameters; any other name is a hyper-parameter of the method, checked when the model is fitted."""
        own = set(type(self)._get_param_names())
        super().set_params(**{name: value for name, value in params.items() if name in own})
        for name, value in params.items():
            base, _, inner = name.partition("__")
            if inner and hasattr(self._config.get(base), "set_params"):
                self._config[base].set_params(**{inner: value})
            elif name not in own:
                self._config = {**self._config, name: value}
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.classifier_tags.multi_class = False
        return tags

    # ---------------------------------------------------------------- training

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Trains on (n, d) rows ``X`` of which ``y``, (n,), says who is labeled, and who is known to be negative.

        A method that learns from no known negatives warns that they are left out.

        ``sample_weight``: (n,) at least 0. A row of weight 0 is absent; other weights that differ are for methods that
        heed them (naive, pu-bagging). ``groups``: (n,) values such as patients; rows of one group are in one fold, or
        in one part.

        Raises ValueError for what contradicts itself (InvalidRequest), RunFailed if training fails.
        """
        rows = self._rows(X, reset=True)
        with in_words(_PARAMETERS):
            refuse_other_rows(X, y, ("X", "y"), by_position=True)
        y, negative = known_negatives(y, self.neg_label)
        labeled, self.classes_ = read_labels(y, self.pos_label)
        if len(labeled) != len(rows):
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[len(rows), len(labeled)]}")
        there, weights = _weights(sample_weight, len(rows))
        rows, labeled, negative = (rows if there.all() else rows[there]), labeled[there], negative[there]
        unlabeled = ~labeled & ~negative
        if not unlabeled.any() or not labeled.any():
            raise ValueError("y has 1 class in the rows whose sample_weight is above 0; PU learning needs both")
        with in_words(_PARAMETERS):
            if groups is not None and not there.all():
                groups = groups[there] if hasattr(groups, "iloc") else np.asarray(groups)[there]
            table = self._table(rows, labeled, negative, weights, groups)
            criterion = self.criterion
            fewest = min(int(labeled.sum()), int(unlabeled.sum()))
            if criterion is None and self.cv is None and fewest * self.validation < 1:
                criterion = "last"
                if self.validation:
                    _warn(f"{self.validation:g} of {fewest} rows is none to choose an epoch by; the last one is taken")
            self.result_, self.notes_, self._model_bytes, scores = self._trained(
                table, criterion, sparse=isinstance(rows, SparseRows)
            )
        if negative.any() and not self.result_.data.negatives:
            _warn(f"{self.method} learns from no known negatives: {negative.sum()} are left out")
        self.out_of_fold_scores_ = None
        if self.cv is not None:
            self.out_of_fold_scores_ = np.full(len(there), np.nan)
            self.out_of_fold_scores_[there] = scores
        self._posterior = self._calibrated(scores, labeled) if weights is None else _UNWEIGHTED
        self.n_iter_ = self.result_.chosen.epoch
        at_prior = self.result_.chosen.threshold
        if self.decision == "prior" and at_prior is None:
            raise InvalidRequest("decision='prior' needs the class prior; prior=0.3 gives one", field="prior")
        self.threshold_ = at_prior if self.decision == "prior" and at_prior is not None else 0.0
        self._models = self._loaded()
        for text in (*self.result_.warnings, *self.result_.chosen.warnings):
            warnings.warn(text, PubenchWarning, stacklevel=2)
        return self

    def _table(
        self,
        rows: DataFrame | SparseRows,
        labeled: npt.NDArray[np.bool_],
        negative: npt.NDArray[np.bool_],
        weights: npt.NDArray[np.float64] | None,
        groups: Any,
    ) -> PUTable:
        """Columns of an array are features, whatever they look like; among those of a frame ids are left out."""
        if isinstance(rows, SparseRows):
            if self.features is not None:
                raise InvalidRequest("features must be None: the columns of a sparse X have no names", field="features")
            return _sparse_table(rows, labeled, negative, weights, groups, self.scheme)
        features = self.features
        if features is None:
            features = () if hasattr(self, "feature_names_in_") else [str(name) for name in rows.columns]
        given = {"weights": weights, "groups": groups}
        labels = np.where(negative, -1, labeled) if negative.any() else labeled
        return data(rows, labels, name="X", features=features, scheme=self.scheme, **given)

    def _trained(
        self, table: PUTable, criterion: str | None, *, sparse: bool
    ) -> tuple[Result, tuple[str, ...], list[bytes], npt.NDArray[np.float64]]:
        """The result of a run that leaves no record, how the table was read, the saved model or those of all folds, and
        the scores of held-out rows, NaN elsewhere.
        """
        from pubench_study.crossfit import computed_folds

        from pubench.running import plan_of
        from pubench_core.data.dataset import data_root
        from pubench_core.engine.compute import Audience, compute
        from pubench_core.engine.machine import captured, choose_device
        from pubench_core.engine.open import open_data
        from pubench_core.isolation import left_as_found

        given = {
            "prior": self.prior,
            "preset": self.preset,
            "backbone": self.backbone,
            "criterion": criterion,
            "decision": self.decision,
            "validation": self.validation if self.cv is None else None,
            "folds": self.cv,
            "refit": self.refit,
            "device": self.device,
            "threads": self.threads,
            "seed": self._seed(),
            "config": _as_texts(self._config),
        }
        settings: dict[str, Any] = {"execution.save_model": True, "execution.artifacts": ["scores"]}
        if sparse:  # words have weights that mean something; rare ones would count most if they were standardized
            settings["data.preprocess"] = "none"
        plan = plan_of(self.method, table, {k: v for k, v in given.items() if v is not None}, settings)
        root = data_root(plan.spec.execution)
        with left_as_found():
            opened = open_data(plan, root)
            device = choose_device(plan)
            if self.cv is None:
                done = compute(plan, opened, root, device, Audience())
            else:
                done = computed_folds(plan, opened, root, device, captured(plan, device))
        models = list(done.models.values())
        if not models:
            raise PluginError(f"{self.method} cannot be an estimator: {done.result.warnings[-1]}")
        assert done.arrays is not None
        scores = np.full(len(opened.data.x), np.nan)
        scores[done.arrays["validation_rows"]] = done.arrays[f"validation_scores_{done.result.chosen.snapshot}"]
        return done.result, tuple(in_arguments(note, _PARAMETERS) for note in opened.notes), models, scores

    def _calibrated(self, scores: npt.NDArray[np.float64], labeled: npt.NDArray[np.bool_]) -> PosteriorCurve | str:
        """The way from scores to probabilities, by the held-out rows; or why there is none."""
        prior, held_out = self.result_.data.prior.given, np.isfinite(scores)
        if prior is None:
            return "predict_proba needs the class prior; prior=0.3 gives what you believe"
        n = int(labeled[held_out].sum())
        if n < _FEWEST:
            return f"predict_proba needs {_FEWEST} held-out labeled rows, found {n}; hold out more (validation, cv=5)"
        one_sample = self.scheme == "one-sample"
        return PosteriorCurve.fit(scores[held_out], labeled[held_out], prior, one_sample=one_sample)

    def _seed(self) -> int | None:
        """None leaves the seed to the spec, whose default it then is."""
        if self.random_state is None:
            return None
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    # ---------------------------------------------------------------- scores

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """(n,) scores of (n, d) rows; positive iff above ``threshold_``. A score is no probability."""
        check_is_fitted(self)
        models, rows = self._saved(), self._rows(X, reset=False)
        columns = models[0].columns
        with in_words(_PARAMETERS):
            if columns is None:  # it was trained on sparse rows
                x: Any = rows if isinstance(rows, SparseRows) else SparseRows.of(csr_array(check_array(rows)))
            else:  # the same way to features as in training
                held = hold(frame_of(rows.dense(), "X") if isinstance(rows, SparseRows) else rows, "X")
                x = encode(table_reader(registry()).frame(held.path), columns, "X", _warn)
            return np.asarray(np.mean([model.scores(x) for model in models], axis=0))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """(n,) values of ``classes_``: the second if the score is above ``threshold_``."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > self.threshold_).astype(int)])

    def _has_posterior(self) -> bool:
        """Raises AttributeError with the reason if there are no probabilities; before ``fit``, if no prior is given."""
        found = getattr(self, "_posterior", None)
        if isinstance(found, str) or (found is None and self.prior is None):
            raise AttributeError(found or "predict_proba needs the class prior; prior=0.3 gives what you believe")
        return True

    @available_if(_has_posterior)  # type: ignore[untyped-decorator] # scikit-learn has no annotations
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """(n, 2) p(unlabeled class | x) and p(y = 1 | x), calibrated on held-out labeled and unlabeled rows.

        It is true as far as the prior is, and if the labels are a random draw of the positives (SCAR). It keeps the
        order of ``decision_function``; ``predict`` decides by ``threshold_``, not at 1/2.
        """
        check_is_fitted(self)
        assert isinstance(self._posterior, PosteriorCurve)
        positive = self._posterior(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def score(self, X: Any, y: Any, sample_weight: None = None) -> float:
        """AUC of the rows that ``y`` says are positive against the others: with PU labels the proxy AUC (PAUC), with
        true labels the AUC.

        It is not the accuracy: accuracy against PU labels rewards calling unlabeled positives negative.
        """
        return pauc_scorer(pos_label=self.pos_label)(self, X, y)

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """(d,) how much each column of ``X`` mattered, for methods that know; the values of a text are added up.

        AttributeError for a method without any.
        """
        check_is_fitted(self)
        models = self._saved()
        model, of_each = models[0], [one.method.feature_importances() for one in models]
        known = [importances for importances in of_each if importances is not None]
        if not known:
            raise AttributeError(f"{self.method} has no feature importances")
        found = np.mean(known, axis=0)
        if model.columns is None:
            return np.asarray(found)
        return self._by_column(model.columns, found)

    @property
    def coef_(self) -> npt.NDArray[np.float64]:
        """(1, d) weights of the columns of ``X``, mean over the models, for linear ones; 0 for a column left out.

        AttributeError for other methods and bases, and if a column is a category, which has several.
        """
        check_is_fitted(self)
        models = self._saved()
        model, of_each = models[0], [one.method.coefficients() for one in models]
        known = [weights for weights in of_each if weights is not None]
        categories = [column.name for column in model.columns or () if column.kind == "category"]
        if not known or categories:
            why = f"'{categories[0]}' is a category" if categories else "it is not linear"
            raise AttributeError(f"{self.method} has no coef_: {why}")
        scale = model.preprocessing.deviation
        found = np.mean(known, axis=0) / (1.0 if scale is None else scale)
        return np.atleast_2d(found if model.columns is None else self._by_column(model.columns, found))

    def _by_column(self, columns: Sequence[Column], found: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """(d,) sums over the features of each column of ``X``."""
        names = getattr(self, "feature_names_in_", [f"x_{k}" for k in range(self.n_features_in_)])
        owners = [column.name for column in columns for _ in column.features]
        totals = dict.fromkeys(map(str, names), 0.0)
        for owner, value in zip(owners, found, strict=True):
            totals[owner] += float(value)
        return np.array(list(totals.values()))

    # ---------------------------------------------------------------- what is kept

    def _saved(self) -> list[SavedModel]:
        if self._models is None:
            self._models = self._loaded()
        return self._models

    def _loaded(self) -> list[SavedModel]:
        from pubench_core.plugins.registry import registry
        from pubench_models.saved_model import model_of

        return [model_of(content, registry()) for content in self._model_bytes]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_models" in state:
            state["_models"] = None  # made again from the bytes of its file
        return state

    def _rows(self, X: Any, *, reset: bool) -> DataFrame | SparseRows:
        """Rows as a frame, or sparse; names and number of columns are remembered or compared. Raises ValueError."""
        if hasattr(X, "columns") or hasattr(X, "__arrow_c_stream__"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            frame = frame_of(X, "X")
            if not len(frame):
                raise ValueError("Found array with 0 sample(s) (shape=(0, ...)) while a minimum of 1 is required.")
            return frame
        if issparse(X):
            return SparseRows.of(validate_data(self, X, reset=reset, accept_sparse="csr", dtype="numeric"))
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        return frame_of(array, "X")


def _sparse_table(
    x: SparseRows,
    labeled: npt.NDArray[np.bool_],
    negative: npt.NDArray[np.bool_],
    weights: npt.NDArray[np.float64] | None,
    groups: Any,
    scheme: str,
) -> PUTable:
    """A table of sparse rows, which have no names of columns. Raises RequestError for one that says who is labeled."""
    sizes = int(labeled.sum()), int((~labeled).sum())
    counts = [np.bincount(x[np.flatnonzero(side)].columns, minlength=x.width) for side in (labeled, ~labeled)]
    (all_labeled, no_labeled), (all_others, no_others) = [(c == n, c == 0) for c, n in zip(counts, sizes, strict=True)]
    copies = np.flatnonzero((all_labeled & no_others) | (no_labeled & all_others))
    if len(copies) and min(sizes) >= _NO_CHANCE:
        raise RequestError(f"X: column {copies[0]} is there exactly where rows are labeled, or are not; leave it out")
    codes = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    if codes is not None and len(codes) != len(x):
        raise RequestError(f"groups: expected {len(x)} values, one per row, got {len(codes)}", field="groups")
    notes = (f"X: {len(x)} sparse rows of {x.width} features, {len(x.values) / max(len(x), 1):.3g} values in each",)
    known = negative if negative.any() else None
    rows = LabeledData(x, labeled, None, None, None, (), notes, weights=weights, groups=codes, known_negative=known)
    table = held("X", b"", rows)
    return PUTable({"path": table.path, "label_col": "labeled"}, scheme, (table,))
