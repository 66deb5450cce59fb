"""Estimators of the class prior that read the features of labeled and unlabeled rows themselves."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pubench_core.prior import PriorEstimate, PriorEstimator, Samples

from . import elkan_noto, kernel_means, pulscar, tice
from .answers import Array, answer, as_rows, refused
from .held_out import held_out_scores

#: Rows of each kind that KM1 and KM2 read at most, and features: their cost is that of (n + m)³ steps, many times.
MOST_ROWS, MOST_FEATURES = 2_000, 50
#: Principal components that PULSNAR's clusters are of.
MOST_COMPONENTS = 10
#: Features above which a tree of quarters, each feature used once per path, finds hardly a pure part.
MANY_FEATURES = 100


class KernelMeans(PriorEstimator):
    """KM2: the share at which mixtures of the two kernel means leave the convex hull of all rows.

    Assumes that no part of the negatives is distributed as the positives are; overlap moves the estimate up. It cannot
    exceed .875, and λ = 1 / (1 - share) is found to .03. At most 2,000 labeled and 2,000 unlabeled rows are read, drawn
    at random, and of more than 50 features the first 50 principal components. There is no interval: a bootstrap would
    take as many times the half minute that one estimate takes.
    """

    key = "km2"
    which: Literal["km1", "km2"] = "km2"

    def estimate(
        self, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rng: np.random.Generator
    ) -> PriorEstimate:
        """``positive``, ``unlabeled``: (n, ...) features on comparable scales."""
        p, u = (_flat(rows) for rows in as_rows(self.key, positive, unlabeled))
        component, mixture = (
            rows[rng.choice(len(rows), MOST_ROWS, replace=False)] if len(rows) > MOST_ROWS else rows for rows in (p, u)
        )
        mixture, component, reduced = _reduced(mixture, component)
        try:
            embedding = kernel_means.embed(mixture, component)
        except ValueError as error:
            raise refused(self.key, str(error)) from None
        share, thresholds = kernel_means.km(embedding, self.which)
        warnings = []
        if (len(component), len(mixture)) != (len(p), len(u)):
            warnings.append(
                f"{len(component)} of {len(p)} labeled and {len(mixture)} of {len(u)} unlabeled rows were read"
            )
        if reduced:
            warnings.append(f"of {p.shape[1]} features, the first {MOST_FEATURES} principal components were read")
        if share > 1 - 1 / kernel_means.LARGEST - 0.01:
            warnings.append("the estimate is at the end of the search, .875: the share may be larger")
        if self.which == "km1" and thresholds.km1 > kernel_means.TOO_STEEP:
            warnings.append("the samples are too small or too alike for KM1's threshold: KM2's was taken")
        facts = {
            "labeled_read": len(component),
            "unlabeled_read": len(mixture),
            "kernel_width": embedding.width,
            "distance_of_means": embedding.distance,
            "thresholds": thresholds._asdict(),
        }
        return answer(share, facts, warnings, None, "nothing: too slow to be repeated, so there is no interval")


class KernelMeansGradient(KernelMeans):
    """KM1: as KM2, with the threshold 1 / sqrt(min(n, m)) on the slope, which the theory has."""

    key = "km1"
    which = "km1"


class TIcE(PriorEstimator):
    """TIcE: a lower bound of the label frequency from the purest part that a tree finds, and the share behind it.

    Assumes labels at random among positives and a part of the feature space where nearly all rows are positive. With
    rare labels the bound is loose and the share too high; where no part is pure, the frequency is that of a mixed part.
    Trees on quarters of single features find little in images. There is no interval: rows that a bootstrap repeats are
    in several folds at once, which makes a bound from held-out folds invalid.
    """

    key = "tice"

    def estimate(
        self, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rng: np.random.Generator
    ) -> PriorEstimate:
        """``positive``, ``unlabeled``: (n, ...) features; each is scaled to [0, 1] here."""
        p, u = (_flat(rows) for rows in as_rows(self.key, positive, unlabeled, least=2 * tice.FOLDS))
        rows = np.concatenate([p, u])
        if not np.ptp(rows, axis=0).any():
            raise refused(self.key, "all rows are the same")
        labeled = np.r_[np.ones(len(p), np.int8), np.zeros(len(u), np.int8)]
        found = tice.label_frequency(tice.scaled_features(rows), labeled, tice.folds_of(len(rows), rng))
        least = len(p) / (len(p) + len(u))
        warnings = []
        if found.frequency < 1.2 * least:
            warnings.append(
                f"no part is purer than the whole: the label frequency, {found.frequency:.3g}, is hardly above the "
                f"share of labeled rows, {least:.3g}"
            )
        if rows.shape[1] > MANY_FEATURES:
            warnings.append(f"{rows.shape[1]} features are many for trees on quarters of single ones")
        facts = {
            "label_frequency": found.frequency,
            "first_pass": found.first,
            "by_fold": list(found.by_fold),
            "class_prior": elkan_noto.class_prior(found.frequency, len(p), len(u)),
        }
        share = elkan_noto.unlabeled_share(found.frequency, len(p), len(u))
        why = "nothing: a repeated row would be in several folds, so there is no interval"
        return answer(share, facts, warnings, None, why)


class Pulsnar(PriorEstimator):
    """PULSNAR: clusters of P, a share of positives like each of them, and their sum.

    Does not assume that labels are a random draw of the positives, only that they are one within each cluster. The
    clusters are of standardized features, of which the first 10 principal components are read; the released code weighs
    features by boosted trees and scores with them, logistic regression does here. Shares of clusters that overlap are
    counted twice, so that the sum may exceed 1. There is no interval: clusters would change with every repeat.
    """

    key = "pulsnar"

    def estimate(
        self, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rng: np.random.Generator
    ) -> PriorEstimate:
        """``positive``, ``unlabeled``: (n, ...) features; standardized here."""
        p, u = (_flat(rows) for rows in as_rows(self.key, positive, unlabeled))
        if len(p) < pulscar.FEWEST:
            raise refused(self.key, f"{len(p)} labeled rows are too few, at least {pulscar.FEWEST} are needed")
        both = np.concatenate([p, u])
        if not np.ptp(both, axis=0).any():
            raise refused(self.key, "all rows are the same")
        instance = np.unique(both, axis=0, return_inverse=True)[1].ravel()  # a labeled row's copy in U is the same
        scale = both.std(axis=0)
        standardized = (p - both.mean(axis=0)) / np.where(scale > 0, scale, 1)
        _, _, axes = np.linalg.svd(standardized - standardized.mean(axis=0), full_matrices=False)
        cluster = pulscar.clusters_of(standardized @ axes[:MOST_COMPONENTS].T)

        def scores(rows: npt.NDArray[np.int64], _: int) -> tuple[Array, Array]:
            samples = Samples(p[rows], u, instance[: len(p)][rows], instance[len(p) :])
            found = held_out_scores(samples, rng)
            of_p, of_u = (pulscar.balanced(each, len(rows), len(u)) for each in found)
            return of_p, of_u

        try:
            shares = pulscar.shares_of_clusters(cluster, scores)
        except ValueError as error:
            raise refused(self.key, str(error)) from None
        sizes = np.bincount(cluster)
        left = int(sum(size for k, size in enumerate(sizes) if k not in shares))
        warnings = [f"{left} labeled rows are in clusters of fewer than {pulscar.FEWEST}, left out"] if left else []
        facts = {"by_cluster": {str(k): {"rows": int(sizes[k]), "share": share} for k, share in shares.items()}}
        why = "nothing: clusters would change with every repeat, so there is no interval"
        return answer(sum(shares.values()), facts, warnings, None, why)


def _flat(rows: Array) -> Array:
    return rows.reshape(len(rows), -1)


def _reduced(mixture: Array, component: Array) -> tuple[Array, Array, bool]:
    """Both samples in their first 50 principal components, where they have more features."""
    rows = np.concatenate([mixture, component])
    if rows.shape[1] <= MOST_FEATURES:
        return mixture, component, False
    centered = rows - rows.mean(0)
    _, vectors = np.linalg.eigh(centered.T @ centered)
    projected = centered @ vectors[:, -MOST_FEATURES:]
    return projected[: len(mixture)], projected[len(mixture) :], True
