"""The class prior that a method is given: true, a number, the true one scaled, or an estimate."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import ValidationError

from ..backbone import Backbone, NetworkBuilder
from ..data.checksum_cache import keep, kept
from ..data.dataset import IntArray, fingerprint
from ..data.generator import Split, first_places
from ..data.sparse import SparseRows
from ..errors import RequestError
from ..isolation import isolated
from ..prior import Samples
from ..randomness import stream, torch_seed
from ..results import Estimate, plain_data
from ..specs import RunSpec, Scheme, is_one_sample, population_prior
from ..specs.fields import short_hash
from ..specs.run import TEST, UNKNOWN, PriorScorer
from .machine import versions
from .plan import EstimatorChoice, Plan
from .problem import Truth, share_to_believe

Rows = npt.NDArray[Any] | SparseRows


def prior_of(
    plan: Plan, split: Split, x: Rows, true: float | None, network: NetworkBuilder, cache: Path, groups: IntArray | None
) -> tuple[float | None, Estimate | None]:
    """π in (0, 1) as the method is given it, and the estimate behind it; None where it is unknown and nobody needs it.

    ``x``: features of the pool, in the split's order. ``true``: the prior of the pool, or of the test part if that is
    wanted; None if unknown, and then neither it nor a multiple of it may be wanted. ``network``: makes the networks of
    the run. ``cache``: where estimates are kept. ``groups``: of all rows of the data; rows of one are one instance.

    Raises RequestError if a scaled or estimated prior leaves the interval, if too few rows are there to estimate it, or
    if a method that reads the prior is given one below the labels, or above what checked rows leave.
    """
    spec, train, wanted, how = plan.spec, split.train, plan.spec.prior, ""
    estimate: Estimate | None = None
    share: float | None = None
    left, n_labeled = split.checked[1], train.n_labeled
    n = len(train.rows) + left
    if wanted == UNKNOWN:
        return None, None
    if plan.estimator is not None:
        key, parts = plan.estimator.info.key, plan.code.parts
        # one package may have several estimators; the run's network counts where it scores
        code = [key, parts[f"prior {key}"], parts["engine"]]
        if spec.prior_scorer == "backbone":
            code += [plan.backbone.info.key, parts[f"backbone {plan.backbone.info.key}"]]
        positive, unlabeled = np.flatnonzero(train.labeled), train.unlabeled(spec.data.scheme)
        x = x.dense() if isinstance(x, SparseRows) else x
        of = np.arange(n) if groups is None else first_places(groups[train.rows])
        samples = Samples(x[positive], x[unlabeled], of[positive], of[unlabeled])
        content = [code, spec.seed, spec.prior_scorer, versions(), *map(fingerprint, vars(samples).values())]
        path = cache / "estimates" / f"{short_hash(content)}.json"
        if (stored := kept(path)) is not None:  # None too if it was cut short or altered
            with suppress(ValidationError):  # of another version
                estimate = Estimate.model_validate_json(stored)
        if estimate is None:
            estimate = estimate_of(plan.estimator, samples, spec.seed, spec.prior_scorer, lambda: network(1))
            keep(path, estimate.model_dump_json().encode())
        share, how = estimate.share, f"estimated by {key}"
    prior = prior_given(wanted, true, share, n_labeled, n, spec.data.scheme)
    assert prior is not None  # resolve refuses the true prior if there is no truth
    if isinstance(wanted, str) and wanted.startswith("scaled:"):
        how = f"{true:.4g} x {wanted.removeprefix('scaled:')}"
    if how and not 0 < prior < 1:
        raise RequestError(
            f"prior {wanted} gives {prior:.4g} ({how}), outside (0, 1); give a number (prior=0.4)",
            field="prior",
            value=wanted,
        )
    if "prior" in plan.method.granted:
        share = share_to_believe(prior, spec.data.scheme, n_labeled, n - left, left, whole=False)
        assert share is not None
        said = f"{n_labeled} of {n} rows are labeled positives, so it must be above {n_labeled / n:.4g}"
        if share > 1:
            said = f"{left} of {n} rows are known negatives, so it must be at most {1 - left / n:.4g}"
        # none left is too few for a method that reads the share of positives in U
        if share > 1 or share < 0 or (share == 0 and plan.method.info.setting != "two-sample"):
            raise RequestError(f"prior {prior:g} contradicts the labels: {said}", field="prior", value=prior)
    return prior, estimate


def prior_given(
    wanted: float | str, known: float | None, share: float | None, n_labeled: int, n: int, scheme: Scheme
) -> float | None:
    """π as a method is given it: a number, the known one, that scaled, or what an estimated ``share`` of U implies.

    ``n``: rows of the training part. None if it is not known.
    """
    if share is not None:
        return population_prior(share, n_labeled, n) if is_one_sample(scheme) else share
    if isinstance(wanted, float):
        return wanted
    word, _, factor = wanted.partition(":")
    return known * float(factor or 1) if known is not None and word in ("true", "scaled", TEST) else None


def true_prior(spec: RunSpec, split: Split, truth: Truth | None) -> float | None:
    """|P| / n of the pool, or of the unlabeled rows of two-sample data; ``truth``: of the training part's rows."""
    if truth is None:
        return None
    population = truth[split.train.unlabeled("two-sample")] if spec.data.scheme == "two-sample" else truth
    return int(population.sum()) / (len(population) + split.checked[1])


def estimate_of(
    choice: EstimatorChoice,
    samples: Samples,
    seed: int,
    scorer: PriorScorer = "logistic",
    network: Callable[[], Backbone] | None = None,
) -> Estimate:
    """Estimate on these samples. Raises RequestError if there are too few to hold one out.

    ``scorer``: whose held-out scores an estimator reads that reads scores; ``network``: makes an untrained network of
    the run.
    """
    n_positive, n_unlabeled = len(samples.positive), len(samples.unlabeled)
    if choice.info.inputs == "scores" and min(n_positive, n_unlabeled) < 2:
        wanted = f"estimated:{choice.info.key}"
        raise RequestError(
            f"prior {wanted}: {choice.info.key} reads held-out scores, which need at least 2 labeled and 2 unlabeled "
            f"rows to train on, and there are {n_positive} and {n_unlabeled}; give a number (prior=0.4)",
            field="prior",
            value=wanted,
        )

    started, rng = time.perf_counter(), stream(seed, "prior")
    positive, unlabeled = samples.positive, samples.unlabeled
    with isolated(torch_seed(seed, "prior"), torch.device("cpu")):  # whatever the estimator draws from
        if choice.info.inputs == "scores":
            positive, unlabeled = choice.estimator.held_out_scores(samples, rng, scorer, network)
        found = choice.estimator.estimate(positive, unlabeled, rng)
    named = {} if choice.info.inputs == "features" or scorer == "logistic" else {"scorer": scorer}
    return Estimate(
        estimator=choice.info.key,
        share=found.share,
        interval=found.interval,
        diagnostics=plain_data({**found.diagnostics, **named}),
        seconds=round(time.perf_counter() - started, 4),
    )
