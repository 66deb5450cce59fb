"""The class prior that a method is given: true, a number, the true one scaled, or an estimate."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from pydantic import ValidationError

from ..data.checksum_cache import keep, kept
from ..data.dataset import IntArray
from ..errors import RequestError
from ..isolation import isolated
from ..prior import PriorEstimate
from ..randomness import stream, torch_seed
from ..results import Estimate, plain_data
from ..specs import population_prior
from ..specs.run import TEST, UNKNOWN, PriorScorer
from ..training.networks import NetworkBuilder
from .backbone_scores import held_out_by_backbone
from .bagged_nets import out_of_bag_scores
from .plan import EstimatorChoice


@dataclass(frozen=True)
class EstimateCache:
    """``folder``: where estimates lie; ``code``: hash of the code of the estimator that is asked."""

    folder: Path
    code: str

    def of(self, content: str, make: Callable[[], Estimate]) -> Estimate:
        """The estimate on samples of this content; made, and kept, if there is none.

        ``seconds`` are those that it took when it was made. What was cut short or altered is made again; a cache that
        cannot be written costs the time of that.
        """
        path = self.folder / f"{hashlib.sha256(f'{self.code} {content}'.encode()).hexdigest()[:32]}.json"
        found = _read(path)
        if found is None:
            found = make()
            keep(path, found.model_dump_json().encode())
        return found


def _read(path: Path) -> Estimate | None:
    content = kept(path)
    try:
        return None if content is None else Estimate.model_validate_json(content)
    except ValidationError:  # of another version
        return None


FOLDS = 5

#: Whose held-out scores an estimator reads that reads scores: those of a logistic regression, of bagged networks, or of
#: networks as the run has them, which a builder makes.
Scorer = Literal["logistic", "bagged-nets"] | NetworkBuilder


@dataclass(frozen=True)
class Samples:
    """Samples for an estimator: P and U, (n_P, *shape) and (n_U, *shape) features.

    ``positive_instance``, ``unlabeled_instance``: (n_P,) and (n_U,), which instance a row is. In case-control a labeled
    positive is also in U: two rows of one instance.
    """

    positive: npt.NDArray[Any]
    unlabeled: npt.NDArray[Any]
    positive_instance: IntArray
    unlabeled_instance: IntArray


def given_prior(
    wanted: float | str,
    true: float | None,
    *,
    estimator: EstimatorChoice | None,
    samples: Callable[[], Samples],
    one_sample: bool,
    seed: int,
    scorer: Scorer = "logistic",
    kept: EstimateCache | None = None,
) -> tuple[float | None, Estimate | None]:
    """π in (0, 1), and the estimate behind it, if there is one; None where the prior is unknown and nobody needs it.

    ``samples`` is called for estimators only. ``scorer``: whose held-out scores an estimator reads that reads scores.
    ``kept``: where estimates are kept for other runs on the same samples.

    ``true``: that of the pool, or of the test part if that is wanted; None if unknown, and then neither it nor a
    multiple of it may be wanted.

    Raises RequestError if a scaled or estimated prior leaves the interval, or if too few rows are there to estimate it.
    """
    if isinstance(wanted, float):
        return wanted, None
    if wanted == UNKNOWN:
        return None, None
    word, _, rest = wanted.partition(":")
    estimate = None
    if estimator is not None:
        estimate, prior = _estimated(wanted, estimator, samples(), one_sample, seed, scorer, kept)
        how = f"estimated by {estimator.info.key}"
    else:
        assert true is not None  # resolve refuses the true prior if there is no truth
        if word in ("true", TEST):
            return true, None
        prior, how = true * float(rest), f"{true:.4g} x {rest}"
    if not 0 < prior < 1:
        raise RequestError(
            f"prior {wanted} gives {prior:.4g} ({how}), outside (0, 1); give a number (prior=0.4)",
            field="prior",
            value=wanted,
        )
    return prior, estimate


def _estimated(
    wanted: str,
    choice: EstimatorChoice,
    samples: Samples,
    one_sample: bool,
    seed: int,
    scorer: Scorer,
    kept: EstimateCache | None,
) -> tuple[Estimate, float]:
    """What the estimator says, and π: its share of U in case-control, (N_l + share n_U) / n otherwise."""
    n_positive, n_unlabeled = len(samples.positive), len(samples.unlabeled)
    if choice.info.inputs == "scores" and min(n_positive, n_unlabeled) < 2:
        raise RequestError(
            f"prior {wanted}: {choice.info.key} reads held-out scores, which need at least 2 labeled and 2 unlabeled "
            f"rows to train on, and there are {n_positive} and {n_unlabeled}; give a number (prior=0.4)",
            field="prior",
            value=wanted,
        )

    def make() -> Estimate:
        started = time.perf_counter()
        with isolated(torch_seed(seed, "prior"), torch.device("cpu")):  # whatever the estimator draws from
            found = _asked(choice, samples, stream(seed, "prior"), scorer)
        return Estimate(
            estimator=choice.info.key,
            share=found.share,
            interval=found.interval,
            diagnostics=plain_data(found.diagnostics),
            seconds=round(time.perf_counter() - started, 4),
        )

    estimate = make() if kept is None else kept.of(_content(samples, seed, scorer), make)
    if not one_sample:
        return estimate, estimate.share
    return estimate, population_prior(estimate.share, n_positive, n_positive + n_unlabeled)


def _content(samples: Samples, seed: int, scorer: Scorer) -> str:
    """Of everything that an estimator is given."""
    digest = hashlib.sha256(f"{seed} {FOLDS} {version('scikit-learn')} {np.__version__}".encode())
    if scorer != "logistic":
        digest.update(f" {_name(scorer)} {torch.__version__}".encode())
    for array in (samples.positive, samples.unlabeled, samples.positive_instance, samples.unlabeled_instance):
        digest.update(f" {array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _asked(choice: EstimatorChoice, samples: Samples, rng: np.random.Generator, scorer: Scorer) -> PriorEstimate:
    """The estimator's answer to scores or features, as its info says."""
    positive, unlabeled = samples.positive, samples.unlabeled
    if choice.info.inputs == "scores":
        positive, unlabeled = held_out_scores(samples, rng, scorer)
    found = choice.estimator.estimate(positive, unlabeled, rng)
    if choice.info.inputs == "features" or scorer == "logistic":
        return found
    return replace(found, diagnostics={**found.diagnostics, "scorer": _name(scorer)})


def _name(scorer: Scorer) -> PriorScorer:
    return "backbone" if isinstance(scorer, NetworkBuilder) else scorer


def held_out_scores(
    samples: Samples, rng: np.random.Generator, scorer: Scorer = "logistic"
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(n_P,) and (n_U,) held-out probabilities of 'labeled', P against U, features standardized.

    ``scorer``: a logistic regression in folds, bagged networks out of their bags, or networks as the run has them in
    folds, on features as the run has them. An instance is in one fold or bag with all its rows. Were a labeled
    positive's unlabeled copy in another one, the classifier would have seen the very row that it scores, with the
    opposite label.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import PredefinedSplit, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    n_positive, n_unlabeled = len(samples.positive), len(samples.unlabeled)
    rows = np.concatenate([samples.positive, samples.unlabeled])
    x = rows.reshape(len(rows), -1).astype(np.float64)
    y = np.r_[np.ones(n_positive), np.zeros(n_unlabeled)]
    if scorer == "bagged-nets":
        both = np.concatenate([samples.positive_instance, samples.unlabeled_instance])
        scores = out_of_bag_scores(x, y, np.unique(both, return_inverse=True)[1], rng)
        return scores[:n_positive], scores[n_positive:]
    folds = folds_of_instances(samples.positive_instance, samples.unlabeled_instance, rng)
    if isinstance(scorer, NetworkBuilder):
        scores = held_out_by_backbone(rows, y, np.concatenate(folds), lambda: scorer(1))
        return scores[:n_positive], scores[n_positive:]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    scores = cross_val_predict(model, x, y, cv=PredefinedSplit(np.concatenate(folds)), method="predict_proba")[:, 1]
    return scores[:n_positive], scores[n_positive:]


def folds_of_instances(
    positive: IntArray, unlabeled: IntArray, rng: np.random.Generator, folds: int = FOLDS
) -> tuple[IntArray, IntArray]:
    """(n_P,) and (n_U,) the fold of each row, the same for all rows of one instance.

    ``positive``, ``unlabeled``: (n,) instances. Labeled instances and the others are dealt out in random order, each
    kind evenly; there are at most as many folds as labeled instances, so that each holds one.
    """
    labeled = np.unique(positive)
    others = np.setdiff1d(unlabeled, labeled)
    folds = min(folds, len(labeled))
    instances = np.concatenate([rng.permutation(labeled), rng.permutation(others)])
    dealt = np.concatenate([np.arange(len(labeled)), np.arange(len(others))]) % folds
    order = np.argsort(instances)
    of = dealt[order]
    return of[np.searchsorted(instances[order], positive)], of[np.searchsorted(instances[order], unlabeled)]
