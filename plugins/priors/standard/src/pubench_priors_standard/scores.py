"""Estimators of the class prior that read held-out scores of a classifier of labeled against unlabeled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pubench_core.prior import PriorEstimate
from pubench_formulas.bbe import best_bin

from . import alphamax, dedpul, elkan_noto, pulscar
from .answers import Array, Unidentifiable, answer, as_scores, interval, refused, thinned
from .held_out import ReadsScores

#: Labeled rows below which AlphaMax's authors warn; unlabeled ones: this many per unit of the share.
FEW = 100
#: Rows of each kind that AlphaMax reads at most, drawn with replacement beyond.
MOST_LABELED, MOST_UNLABELED = 10_000, 100_000
#: Rows of each kind that DEDPUL reads at most: its densities take n² steps.
MOST_DEDPUL = 10_000
#: Rows of each kind that a bootstrap repeat of DEDPUL draws at most.
MOST_REPEATED = 1_000
#: Share from which the curve to the right of an elbow is too short to tell it.
LATE = 0.85
#: Largest part of the smaller one of two estimates of c that they may differ by without a warning.
APART = 0.5


class BestBin(ReadsScores):
    """Best bin estimation: the share of positives in the purest top bin of the scores, with its sampling error.

    Assumes that the classifier ranks a pure set of positives at the top. Where it does not, the estimate is too high;
    with few labeled rows and a small share, the error term decides. Scores must be held out: a classifier's scores of
    its own training rows give far too low an estimate. Rows are counted from the bin's lowest score upwards, as the
    paper has it; the count of the released code, one lower, is `released`.
    """

    key = "bbe"
    repeats = 200

    def estimate(
        self, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rng: np.random.Generator
    ) -> PriorEstimate:
        """``positive``, ``unlabeled``: (n,) scores in any unit, higher for positives."""
        p, u = as_scores(self.key, positive, unlabeled)
        found = best_bin(p, u, inclusive=True)
        bounds, resampled = interval(lambda p, u: best_bin(p, u, inclusive=True).share, p, u, rng, self.repeats)
        width, limit = float(found.width[found.best]), float(np.sort(u)[::-1][found.position[found.best]])
        in_bin = (int((p >= limit).sum()), int((u >= limit).sum()))
        warnings = []
        if width > found.share:
            warnings.append(
                f"the error term of the best bin, {width:.3g}, exceeds the estimate itself: too few labeled rows for "
                "so small a share, which is probably overestimated"
            )
        if in_bin[0] >= 0.99 * len(p):
            warnings.append("no top bin is purer than all rows together: the classes are not told apart")
        facts = {
            "upper_bound": found.share + width,
            "threshold": limit,
            "labeled_in_bin": in_bin[0],
            "unlabeled_in_bin": in_bin[1],
            "released": best_bin(p, u).share,
        }
        return answer(found.share, facts, warnings, bounds, resampled)


class AlphaMax(ReadsScores):
    """AlphaMax: the elbow of the likelihood of every possible share of U being like the labeled sample.

    Assumes that labels are clean and that no part of the negatives is distributed as the positives are. Overlap of the
    classes moves the estimate up; with a purity β of the labels below 1 it is α / β. The elbow is sharp between .1 and
    .85; below, the grid is refined, above, the estimate is too low as a rule. At most 10,000 labeled and 100,000
    unlabeled rows are read.
    """

    key = "alphamax"
    repeats = 50

    def estimate(
        self, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rng: np.random.Generator
    ) -> PriorEstimate:
        """``positive``, ``unlabeled``: (n,) scores; probabilities rather than logits, because bins are equal."""
        p, u = _at_most(*as_scores(self.key, positive, unlabeled), MOST_LABELED, MOST_UNLABELED, rng)
        found = alphamax.alphamax(p, u)
        bounds, resampled = interval(lambda p, u: alphamax.alphamax(p, u).share, p, u, rng, self.repeats)
        facts = {**_read(p, u), "curve": thinned([("share", found.shares), ("loss", found.curve)])}
        return answer(found.share, facts, _said_of(found, len(p), len(u)), bounds, resampled)


class TwoSidedAlphaMax(ReadsScores):
    """AlphaMax both ways: the class prior and the purity of the labels, for labels that may be wrong.

    Assumes that neither class holds a part distributed as the other. It needs the share of the labeled sample in U,
    a+, and that of U in the labeled sample, b+; where their product is near 1, the two samples are alike and every
    prior fits. The purity β is `positive_purity` among the diagnostics.
    """

    key = "alphamax-two-sided"
    repeats = 25

    def estimate(
        self, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rng: np.random.Generator
    ) -> PriorEstimate:
        """Estimates like :meth:`AlphaMax.estimate`. Raises Unidentifiable if the samples are alike."""
        p, u = _at_most(*as_scores(self.key, positive, unlabeled), MOST_LABELED, MOST_UNLABELED, rng)
        forward, backward = alphamax.alphamax(p, u), alphamax.alphamax(u, p)
        if forward.flat or backward.flat:
            why = "the labeled and the unlabeled scores are distributed alike, so that every class prior fits them"
            raise refused(self.key, why, Unidentifiable)
        found = alphamax.two_sided(forward.share, backward.share)

        def again(p: Array, u: Array) -> float:
            return alphamax.two_sided(alphamax.alphamax(p, u).share, alphamax.alphamax(u, p).share).share

        bounds, resampled = interval(again, p, u, rng, self.repeats)
        warnings = _said_of(forward, len(p), len(u))
        if backward.share < 0.1:
            warnings.append(f"the labels look clean (purity {found.purity:.3f}): `alphamax` has less variance then")
        facts = {
            **_read(p, u),
            "positive_purity": found.purity,
            "labeled_in_unlabeled": forward.share,
            "unlabeled_in_labeled": backward.share,
        }
        return answer(found.share, facts, warnings, bounds, resampled)


class ElkanNoto(ReadsScores):
    """Elkan and Noto's e1: the label frequency as the mean probability of being labeled, over held-out labeled rows.

    Assumes calibrated probabilities and classes that do not overlap: where they do, the frequency is too low and the
    share too high, often above 1. `by_estimator` has all three of the paper's, and the weighted one: e3, the largest
    probability, is decided by single rows.
    """

    key = "elkan-noto"
    repeats = 200

    def estimate(
        self, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rng: np.random.Generator
    ) -> PriorEstimate:
        """``positive``, ``unlabeled``: (n,) held-out probabilities of being labeled, in [0, 1]."""
        p, u = as_scores(self.key, positive, unlabeled, probabilities=True)
        c = elkan_noto.frequencies(p, u)
        if c.e1 == 0:
            raise refused(self.key, "every labeled row has probability 0 of being labeled")

        def share(frequency: float) -> float:
            return elkan_noto.unlabeled_share(frequency, len(p), len(u))

        bounds, resampled = interval(lambda p, u: share(elkan_noto.frequencies(p, u).e1), p, u, rng, self.repeats)
        weighted = elkan_noto.weighted_class_prior(c.e1, len(p), np.minimum(u, 1 - 1e-9))
        warnings = []
        if c.e3 > (1 + APART) * c.e1:
            warnings.append(
                f"the mean probability of labeled rows, {c.e1:.3g}, is far below the largest one, {c.e3:.3g}: the "
                "classes overlap or the probabilities are not calibrated, and the estimate is probably too high"
            )
        facts = {
            "label_frequency": c._asdict(),
            "by_estimator": {
                **{name: share(value) for name, value in c._asdict().items()},
                "weighted": (weighted * (len(p) + len(u)) - len(p)) / len(u),
            },
        }
        return answer(share(c.e1), facts, warnings, bounds, resampled)


class Dedpul(ReadsScores):
    """DEDPUL: the share at which the posteriors from the ratio of two smoothed densities average to it.

    Assumes that the densities of the scores of P and U can be told apart somewhere; strong overlap and few positives
    move the estimate up. Its densities take n² steps: at most 10,000 rows of each kind are read, drawn at random.
    """

    key = "dedpul"
    repeats = 50

    def estimate(
        self, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rng: np.random.Generator
    ) -> PriorEstimate:
        """``positive``, ``unlabeled``: (n,) held-out probabilities of being labeled, in [0, 1]."""
        p, u = as_scores(self.key, positive, unlabeled, probabilities=True)
        for name, scores in (("labeled", p), ("unlabeled", u)):
            if np.ptp(scores) == 0:
                raise refused(self.key, f"all {name} scores are {scores[0]:g}: they have no density")
        p, u = _at_most(p, u, MOST_DEDPUL, MOST_DEDPUL, rng, replace=False)
        ratio = dedpul.density_ratio(1 - p, 1 - u)
        found = dedpul.share_of(ratio)

        def again(p: Array, u: Array) -> float:
            return dedpul.share_of(dedpul.density_ratio(1 - p, 1 - u)).share

        bounds, resampled = interval(again, p, u, rng, self.repeats, MOST_REPEATED)
        warnings = []
        if not found.converged:
            warnings.append("the shares do not settle above 0: the estimate is the elbow of their error, a heuristic")
        if len(p) < FEW:
            warnings.append(f"{len(p)} labeled rows are few: the density of their scores is rough")
        facts = {**_read(p, u), "simple": dedpul.simple_share(ratio), "converged": found.converged}
        return answer(found.share, facts, warnings, bounds, resampled)


class Pulscar(ReadsScores):
    """PULSCAR: the share at which the density of U's scores, minus that of P's, turns negative.

    Assumes that labels are a random draw of the positives and that few negatives have the scores of P's best rows.
    Densities are compared above a balanced score of 1/2, on few points: 4 to 16 for some hundred rows.
    """

    key = "pulscar"
    repeats = 20

    def estimate(
        self, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rng: np.random.Generator
    ) -> PriorEstimate:
        """``positive``, ``unlabeled``: (n,) held-out probabilities of being labeled, in [0, 1]."""
        p, u = as_scores(self.key, positive, unlabeled, probabilities=True)
        p, u = _at_most(p, u, MOST_DEDPUL, MOST_DEDPUL, rng, replace=False)
        p, u = (pulscar.balanced(scores, len(positive), len(unlabeled)) for scores in (p, u))
        try:
            share = pulscar.share_of(p, u)
        except ValueError as error:
            raise refused(self.key, str(error)) from None
        bounds, resampled = interval(pulscar.share_of, p, u, rng, self.repeats, MOST_REPEATED)
        points = min(pulscar.MOST_BINS, int(pulscar.bins(np.concatenate([p, u]))))
        warnings = [f"densities are compared at {points} points, which is few"] if points <= 8 else []
        return answer(share, {**_read(p, u), "points": points}, warnings, bounds, resampled)


def _at_most(
    p: Array, u: Array, most_p: int, most_u: int, rng: np.random.Generator, *, replace: bool = True
) -> tuple[Array, Array]:
    """Both samples, those that are larger than allowed replaced by a draw."""
    return (
        rng.choice(p, most_p, replace=replace) if len(p) > most_p else p,
        rng.choice(u, most_u, replace=replace) if len(u) > most_u else u,
    )


def _read(p: Array, u: Array) -> dict[str, int]:
    return {"labeled_read": len(p), "unlabeled_read": len(u)}


def _said_of(found: alphamax.Curve, n_labeled: int, n_unlabeled: int) -> list[str]:
    """Warnings about a curve."""
    said = []
    if found.flat:
        said.append("the curve is flat: U is distributed as the labeled rows are, and the share is the grid's last one")
    elif found.share >= LATE:
        said.append(f"the elbow is at {found.share:.2f}, near the right end, where it is not sharp: look at the curve")
    elif found.shares[alphamax.POINTS - 1] >= found.share:
        said.append(f"the elbow is at {found.share:.3g}, the first that can be told: the share may be smaller")
    if found.refined:
        said.append("the curve is not flat at its left end: it was drawn again over a finer grid of small shares")
    if n_labeled < FEW:
        said.append(f"{n_labeled} labeled rows are fewer than the {FEW} that the authors ask for")
    if n_unlabeled * found.share < FEW:
        said.append(f"{n_unlabeled} unlabeled rows hold fewer than {FEW} positives at this share")
    return said
