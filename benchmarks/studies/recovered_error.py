"""How far recovered measures are from the true ones, as in Jain, White & Radivojac (AAAI 2017), Tables 1 and 2.

    PUBENCH_DATA=... nice -n 19 python -m benchmarks.studies recovered-error data=[pima,wine,spambase]

Per data set and repetition, 1,000 rows (100 of a small set) are labeled, a share β of them positive; the rest, at most
10,000 of it, is unlabeled. A bag of networks with 5 hidden units is trained by resilient propagation to tell labeled
from unlabeled rows, a quarter of each bag kept for early stopping. Every row gets the mean score of the networks that
have not seen it. Their source has 100 networks and 50 repetitions; here it is 25, and as many as there was time for.

A row per repetition. The truth of the source is ``supervised_auc`` and ``supervised_ap``: a bag of the same networks
trained with all true labels, out of bag. ``auc`` is of the scores from labels of P on the hidden labels of U, which
leaves out what a model loses by PU labels. ``pu_*`` are of labeled against unlabeled rows. The recovered ones have the
real α and β and, if it has an answer, those of two-sided AlphaMax.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pubench_metrics.recovered import (
    Mixture,
    auc,
    average_precision,
    direct_auc,
    indirect_curve,
    pu_average_precision,
    pu_points,
)
from torch.nn import functional

from benchmarks.studies.case import Case
from pubench_cli.yaml_layers import assigned
from pubench_core.data.dataset import ClassData, data_root
from pubench_core.data.store import open_dataset
from pubench_core.engine.resolve import resolve
from pubench_core.errors import PubenchError
from pubench_core.plugins.info import PriorInfo
from pubench_core.plugins.registry import load, registry

#: Nine of the source's twelve: concrete, gas and housing are not at hand.
SETS = ("bank", "landsat", "mushroom", "pageblock", "pendigit", "pima", "shuttle", "spambase", "wine")
SMALL = frozenset({"pageblock", "pima"})
PURITIES = (1.0, 0.95, 0.75)
HIDDEN, BAGS, EPOCHS, PATIENCE = 5, 25, 300, 25
ESTIMATOR = "alphamax-two-sided"
Array = npt.NDArray[Any]


def table_of(key: str) -> tuple[Array, Array]:
    """(n, d) standardized features and (n,) whether each row is positive."""
    plan = resolve([assigned(f"data.key={key}", "method.key=upu")], registry())
    assert plan.data.source is not None
    data = open_dataset(
        plan.data.source, data_root(plan.spec.execution, print), preprocess=plan.spec.data.preprocess
    ).data
    assert isinstance(data, ClassData)
    x, y = np.asarray(data.x), np.asarray(data.y)
    if data.x_test is not None:  # the source takes a data set whole
        x, y = np.concatenate([x, data.x_test]), np.concatenate([y, data.y_test])
    known = np.isin(y, [*plan.spec.data.positive, *plan.spec.data.negative])
    x = x[known].reshape(int(known.sum()), -1).astype(np.float64)
    deviation = x.std(axis=0)
    x = (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return x.astype(np.float32), np.isin(y[known], plan.spec.data.positive)


def drawn(positive: Array, n_labeled: int, purity: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows that are labeled, and rows that are not."""
    n_pure = round(n_labeled * purity)
    labeled = np.concatenate(
        [
            rng.choice(np.flatnonzero(positive), n_pure, replace=False),
            rng.choice(np.flatnonzero(~positive), n_labeled - n_pure, replace=False),
        ]
    )
    rest = rng.permutation(np.setdiff1d(np.arange(len(positive)), labeled))
    return labeled, rest[:10_000]


def out_of_bag(x: Array, labeled: Array, rng: np.random.Generator) -> Array:
    """(n,) mean score of the networks that have not seen a row. All are trained at once, on weights per row."""
    n, d = x.shape
    counts = np.zeros((n, BAGS), dtype=np.float32)
    held_out = np.zeros_like(counts)
    for bag in range(BAGS):
        rows = rng.integers(n, size=n)
        quarter = n // 4
        np.add.at(held_out[:, bag], rows[:quarter], 1)
        np.add.at(counts[:, bag], rows[quarter:], 1)
    unseen = (counts == 0) & (held_out == 0)
    held_out[counts > 0] = 0  # a row is trained on or held out, not both
    features, target = torch.from_numpy(x), torch.from_numpy(labeled.astype(np.float32))[:, None].expand(n, BAGS)
    weights, stopping = (torch.from_numpy(w / w.sum(axis=0)) for w in (counts, held_out))
    generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
    first = (torch.randn(d, BAGS * HIDDEN, generator=generator) / d**0.5).requires_grad_()
    bias = torch.zeros(BAGS * HIDDEN, requires_grad=True)
    second = (torch.randn(BAGS, HIDDEN, generator=generator) / HIDDEN**0.5).requires_grad_()
    offset = torch.zeros(BAGS, requires_grad=True)
    optimizer = torch.optim.Rprop([first, bias, second, offset], lr=0.01)
    best, best_scores, since = torch.full((BAGS,), torch.inf), torch.zeros(n, BAGS), torch.zeros(BAGS)
    for _ in range(EPOCHS):
        scores = (torch.tanh(features @ first + bias).view(n, BAGS, HIDDEN) * second).sum(dim=2) + offset
        losses = functional.binary_cross_entropy_with_logits(scores, target, reduction="none")
        with torch.no_grad():
            now = (losses * stopping).sum(dim=0)
            better = now < best
            best = torch.where(better, now, best)
            best_scores[:, better] = scores.detach()[:, better]
            since = torch.where(better, 0.0, since + 1)
        if bool((since > PATIENCE).all()):
            break
        optimizer.zero_grad()
        (losses * weights).sum().backward()
        optimizer.step()
    found = torch.sigmoid(best_scores).numpy()
    seen_by_all = unseen.sum(axis=1) == 0  # of 25 bags, about one row in a hundred thousand
    unseen[seen_by_all] = True
    mean: Array = (found * unseen).sum(axis=1) / unseen.sum(axis=1)
    return mean


def supervised(x: Array, positive: Array) -> dict[str, float]:
    """AUC and average precision of a bag that is trained with all true labels."""
    scores = out_of_bag(x, positive, np.random.default_rng(0)).astype(np.float64)
    above, below = scores[positive], scores[~positive]
    points = pu_points(above, below)
    precise = pu_average_precision(points, len(above), len(below))
    return {"supervised_auc": round(auc(above, below), 6), "supervised_ap": round(precise, 6)}


def repetition(
    key: str, x: Array, positive: Array, purity: float, seed: int, truth: dict[str, float]
) -> dict[str, Any]:
    """One row of the result."""
    rng = np.random.default_rng([seed, round(100 * purity)])
    started = time.perf_counter()
    labeled, unlabeled = drawn(positive, 100 if key in SMALL else 1000, purity, rng)
    rows, is_labeled = np.concatenate([labeled, unlabeled]), np.arange(len(labeled) + len(unlabeled)) < len(labeled)
    scores = out_of_bag(x[rows], is_labeled, rng).astype(np.float64)
    ours, theirs, hidden = scores[is_labeled], scores[~is_labeled], positive[unlabeled]
    real = Mixture(float(hidden.mean()), float(positive[labeled].mean()))
    mixtures = {"real": real}
    if (estimated := estimate(ours, theirs, rng)) is not None:
        mixtures["estimated"] = estimated
    auc_pu, points = auc(ours, theirs), pu_points(ours, theirs)
    row: dict[str, Any] = {
        "data": key,
        "beta": purity,
        "seed": seed,
        "labeled": len(labeled),
        "unlabeled": len(unlabeled),
        "alpha": round(real.alpha, 6),
        **truth,
        "auc": round(auc(theirs[hidden], theirs[~hidden]), 6),
        "pu_auc": round(auc_pu, 6),
        "pu_ap": round(pu_average_precision(points, len(ours), len(theirs)), 6),
    }
    for name in ("real", "estimated"):
        mixture = mixtures.get(name)
        usable = mixture is not None and mixture.gap > 0
        curve = indirect_curve(points, mixture) if mixture is not None and usable else None
        row |= {
            f"{name}_alpha": round(mixture.alpha, 6) if mixture is not None else "",
            f"{name}_beta": round(mixture.beta, 6) if mixture is not None else "",
            f"{name}_direct": round(direct_auc(auc_pu, mixture), 6) if mixture is not None and usable else "",
            f"{name}_indirect": round(curve.auc, 6) if curve is not None else "",
            f"{name}_ap": round(average_precision(curve.recall, curve.precision(mixture.alpha)).step, 6)
            if curve
            else "",
            f"{name}_removed": curve.removed if curve is not None else "",
        }
    return row | {"seconds": round(time.perf_counter() - started, 1)}


def estimate(labeled: Array, unlabeled: Array, rng: np.random.Generator) -> Mixture | None:
    """α and β by two-sided AlphaMax; None where it is not installed or has no answer."""
    infos = {info.key: info for info in registry().infos(PriorInfo)}
    if ESTIMATOR not in infos:
        return None
    try:
        found = load(infos[ESTIMATOR])().estimate(labeled, unlabeled, rng)
    except PubenchError as error:  # it says so where both samples look alike
        print(error)
        return None
    return Mixture(float(found.share), float(found.diagnostics["positive_purity"]))


def cases(data: Sequence[str] = SETS, repetitions: int = 5) -> Iterator[Case]:
    """A case per repetition; the supervised truth of a data set is computed for its first one."""
    table, truth = cache(table_of), cache(lambda key: supervised(*table(key)))
    for seed, key, purity in product(range(repetitions), data, PURITIES):
        yield Case(
            {"data": key, "beta": purity, "seed": seed},
            lambda key=key, purity=purity, seed=seed: [repetition(key, *table(key), purity, seed, truth(key))],
        )
