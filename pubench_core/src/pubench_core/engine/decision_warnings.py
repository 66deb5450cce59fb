"""Warnings on the decisions of a state: all alike, or far from the prior."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..metric import FloatArray
from ..results import said_alike
from ..specs import is_one_sample, unlabeled_prior
from .plan import Plan
from .score import State

#: Decisions are far from the prior where a class is decided this many times as often as the prior says, or as seldom.
#: At 3 / 2 a third of the decisions for that class are wrong, or a third of its rows are missed, whatever is decided.
FAR = 1.5
#: Standard errors of a share of n rows that the difference must exceed as well.
STANDARD_ERRORS = 3.0


def warnings_of(
    plan: Plan, state: State, *, prior: float | None, labeled: npt.NDArray[np.bool_] | None
) -> tuple[str, ...]:
    """Lines on the decisions (score above 0) of one state, on rows that are a draw from the population.

    ``prior``: what the method was given. ``labeled``: of every row of a user's table; None for simulated labels.
    """
    part = "unlabeled" if "unlabeled" in state.scores else "test"
    lines = list(_one_sided(state))
    told = prior if "prior" in plan.method.granted or plan.spec.prior != "true" else None
    if part in state.scores and told is not None:
        expected = told  # a data set's test part is a draw from the population
        # So are the unlabeled rows of a user's table, or what the labeled positives left of one. A test file of the
        # user's own may be anything and is not looked at.
        if part == "unlabeled" and labeled is not None and is_one_sample(plan.spec.data.scheme):
            expected = unlabeled_prior(told, int(labeled.sum()), len(labeled))
        lines += _far_from_prior(part, state.scores[part], expected, told)
    return tuple(lines)


def _one_sided(state: State) -> Iterator[str]:
    """Decisions that are all the same: the accuracy is then the share of a class, no more."""
    part = next((name for name in ("test", "unlabeled") if name in state.scores), None)
    if part is None:
        return
    scores = state.scores[part]
    positive = scores > 0
    if len(scores) and (positive.all() or not positive.any()):
        begins = said_alike(part, positive=bool(positive.any()), rows=len(scores))
        yield (
            f"{begins} (scores from {scores.min():.4g} to {scores.max():.4g}, "
            "decided at 0): the order of the scores may mean something, the decisions do not; take as many of the "
            "highest scores as the prior says, or try another preset, prior or method"
        )


def _far_from_prior(part: str, scores: FloatArray, expected: float, prior: float) -> Iterator[str]:
    """A share of positive decisions far from the one expected, and further than sampling explains."""
    n, decided = len(scores), float((scores > 0).mean()) if len(scores) else 0.0
    if not 0 < decided < 1 or not 0 < expected < 1:
        return
    ratios = (decided / expected, (1 - decided) / (1 - expected))
    sampling_error = math.sqrt(expected * (1 - expected) / n)
    if max(*ratios, *(1 / ratio for ratio in ratios)) < FAR:
        return
    if abs(decided - expected) > STANDARD_ERRORS * sampling_error:
        yield (
            f"{_percent(decided)} of {n} {part} rows are decided positive; by the given prior ({prior:.4g}) "
            f"{_percent(expected)} are: if it is right, at least {_percent(abs(decided - expected))} of the decisions "
            "are wrong; compare the other criteria, correct the prior, or take as many of the highest scores as it says"
        )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
