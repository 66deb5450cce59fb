"""Names of measures: a metric, by the decision at 0 or, as ``METRIC-at-prior``, by that at the prior."""

from __future__ import annotations

from collections.abc import Collection

from pubench_core.results import AT_PRIOR, DecisionRule, at_prior_name


def metric_and_rule(name: str) -> tuple[str, DecisionRule]:
    """The metric behind a name, and the decision that it is by.

    >>> metric_and_rule("f1-at-prior"), metric_and_rule("f1")
    (('f1', 'prior'), ('f1', 'zero'))
    """
    return (name.removesuffix(AT_PRIOR), "prior") if name.endswith(AT_PRIOR) else (name, "zero")


def shown_first(metric: str, measured: Collection[str], rule: DecisionRule) -> str:
    """The name that ``rule`` shows first, of those that were measured."""
    other = at_prior_name(metric)
    return other if rule == "prior" and other in measured else metric
