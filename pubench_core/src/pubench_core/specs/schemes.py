"""Sampling schemes: which rows of a PU problem are a draw from the population, and what follows for the class prior."""

from __future__ import annotations

from typing import Literal

Scheme = Literal["case-control", "single-training-set", "two-sample", "one-sample"]

#: Schemes in which labeled and unlabeled rows together are one draw from the population (Wang et al.: one-sample).
ONE_SAMPLE_SCHEMES: frozenset[str] = frozenset({"single-training-set", "one-sample"})

#: Schemes of Wang et al., which draw P and U class-balanced from a data set (or are what a user says of a table).
DRAWN_SCHEMES: tuple[Scheme, ...] = ("one-sample", "two-sample")


def is_one_sample(scheme: str) -> bool:
    """Whether P and U together (rather than U alone) are a draw from the population."""
    return scheme in ONE_SAMPLE_SCHEMES


def unlabeled_prior(prior: float, n_labeled: int, n: int) -> float:
    """Share of positives left in U after ``n_labeled`` of ``n`` rows were taken out as labeled positives.

    (π n - N_l) / (n - N_l), the π-bar of Wang et al.; not above 0 means π and the counts contradict each other.
    """
    return (prior * n - n_labeled) / (n - n_labeled)


def population_prior(share: float, n_labeled: int, n: int) -> float:
    """π of one-sample data, from the share of positives in U: the inverse of :func:`unlabeled_prior`."""
    return (n_labeled + share * (n - n_labeled)) / n
