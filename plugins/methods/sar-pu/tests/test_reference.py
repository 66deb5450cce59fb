"""Steps, whole runs and closed forms against numbers of the published code."""

from __future__ import annotations

from typing import Any

import numpy as np
from pubench_bases.bases import base_of
from pubench_bases.models import Linear, Model
from pubench_sar_pu.method import Constant, Round, expected_log_likelihood, maximize, posterior, refit_weights, slopes
from pubench_sar_pu.pglin import probability, propensity
from pubench_sar_pu.weighted import Learner
from pubench_testkit.testing import Case, Vectors

Array = np.ndarray
SAR_EM = Vectors("sar-em", tolerance=2e-6)
PGLIN = Vectors("pglin", tolerance=1e-12)
CLIP = 1e-4


@SAR_EM.cases("step_.*", tolerance=1e-12)
def test_the_posterior_and_the_likelihood_that_is_watched(case: Case) -> None:
    labeled, clip = case["s"] == 1, CLIP if case.name == "step_clipped" else 0.0
    f, e = case["prior_y"], case["propensity"]
    case.expect(posterior=posterior(f, e, labeled), loglikelihood=expected_log_likelihood(f, e, labeled, clip))


@SAR_EM.cases("weights", tolerance=1e-12)
def test_weights_of_the_last_fit(case: Case) -> None:
    positive, negative = refit_weights(case["propensity"], case["s"] == 1)
    case.expect(weights_positive=positive, weights_negative=negative)


@SAR_EM.cases("slope", tolerance=1e-10)
def test_slopes_of_propensities(case: Case) -> None:
    case.expect(slope=slopes(case["rows"]))


class Recorded(Learner):
    """A learner that keeps its models, as coefficients and then intercept."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.found: list[Array] = []

    def model(self, positive: Array, negative: Array) -> Model:
        made = super().model(positive, negative)
        assert isinstance(made, Linear)
        self.found.append(np.append(made.weights, made.bias))
        return made


def learner(case: Case, columns: str) -> Recorded:
    tolerance = case.number("solver_tolerance")
    steps = 100_000 if tolerance < 1e-6 else 100
    base = base_of("unscaled-logistic", {"solver": "liblinear", "tolerance": tolerance, "max_iter": steps})
    return Recorded(base, case["x"][:, case[columns]], np.zeros(1, np.int64))


@SAR_EM.cases("em_.*")
def test_whole_runs(case: Case) -> None:
    labeled = case["s"] == 1
    f, e = learner(case, "classification_columns"), learner(case, "propensity_columns")
    alone = not len(case["propensity_columns"])
    every: list[Round] = list(
        maximize(f, Constant(official=True) if alone else e, labeled, rounds=500, clip=case.number("clip"))
    )
    kept = case["rounds"]
    assert kept[-1] == len(every) - 1
    case.expect(
        f=[f.found[k] for k in kept],
        e=[every[k].e[:1] if alone else e.found[k] for k in kept],
        propensity=[every[k].e for k in kept],
        posterior=[every[k].posterior for k in kept],
        prior_y=[every[0].f, every[-1].f],
        loglikelihoods=[each.log_likelihood for each in every],
        slopes=[each.steepness for each in every if np.isfinite(each.steepness)],
        improvements=[each.rise for each in every if np.isfinite(each.rise)],
    )
    refitted = f.model(*refit_weights(every[-1].e, labeled))
    case.expect(refit_f=f.found[-1], refit_probabilities=refitted.probability(f.x))


@PGLIN.cases("table_.*")
def test_posteriors_from_probabilities_of_a_label(case: Case) -> None:
    p, test = case["labeling_probability"], case["labeling_probability_test"]
    maximum = p.max()
    case.expect(maximum=maximum, propensity_test=propensity(test, maximum))
    for ours, theirs in (
        (probability(p, maximum), case["probabilities"]),
        (probability(test, maximum), case["probabilities_test"]),
    ):
        case.close(ours, np.nan_to_num(theirs, nan=0.0))  # 0/0 there, 0 here
    sure = np.abs(test - maximum / 4) > 1e-12  # one row is at the boundary up to rounding
    np.testing.assert_array_equal((test > maximum / 4)[sure], case["decisions_test"][sure] == 1)


@PGLIN.cases("fit_.*", tolerance=1e-6)
def test_a_whole_fit(case: Case) -> None:
    labeled = case["s"] == 1
    fitted = base_of("unscaled-logistic", {}).fit(case["x"], case["s"], np.ones(len(labeled)), 0)
    assert isinstance(fitted, Linear)
    maximum, p = fitted.probability(case["x"]).max(), fitted.probability(case["x_test"])
    case.expect(coefficients=fitted.weights, intercept=fitted.bias, maximum=maximum, labeling_probability_test=p)
    case.expect(probabilities_test=probability(p, maximum), decisions_test=p > maximum / 4)
