"""Metrics from positive and unlabeled data: what they are. The formulas are in :mod:`pubench_metrics_pu.proxy`."""

from pubench_core import MetricInfo, Reference, hookimpl

_WANG = Reference(
    authors="Wang et al.",
    title="Accessible, Realistic, and Fair Evaluation of Positive-Unlabeled Learning Algorithms",
    venue="ICLR",
    year=2026,
)
_HERE = "pubench_metrics_pu.proxy"


@hookimpl
def pubench_metrics() -> list[MetricInfo]:
    return [
        MetricInfo(
            key="pa",
            name="PA",
            summary="proxy accuracy: accuracy + prior in expectation, from P' and U' alone",
            family="proxy",
            reference=_WANG,
            load=f"{_HERE}:pa",
            needs=frozenset({"labeled", "prior", "scheme"}),
            assumes=frozenset({"prior", "SCAR"}),
            criterion=True,
        ),
        MetricInfo(
            key="pa-published",
            name="PA as published",
            summary="proxy accuracy as Wang et al.'s code has it: under one-sample data it is not their Equation 3",
            family="proxy",
            reference=_WANG,
            load=f"{_HERE}:pa_published",
            needs=frozenset({"labeled", "prior", "scheme"}),
            assumes=frozenset({"prior", "SCAR"}),
            criterion=True,
        ),
        MetricInfo(
            key="pa-at",
            name="PA at",
            summary="proxy accuracy for a prior of so many percent, whatever prior the method was given",
            family="proxy",
            reference=_WANG,
            load=f"{_HERE}:pa_at",
            needs=frozenset({"labeled", "scheme"}),
            assumes=frozenset({"prior", "SCAR"}),
            criterion=True,
            parameter="prior in percent",
        ),
        MetricInfo(
            key="pauc",
            name="PAUC",
            summary="proxy AUC: P' against U'; orders models as AUC does, under SCAR",
            family="proxy",
            reference=_WANG,
            load=f"{_HERE}:pauc",
            needs=frozenset({"labeled"}),
            assumes=frozenset({"SCAR"}),
            criterion=True,
        ),
        MetricInfo(
            key="recall-at",
            name="recall at",
            summary="share of held-out labeled positives among the k highest-ranked unlabeled rows",
            family="proxy",
            load=f"{_HERE}:recall_at",
            needs=frozenset({"labeled"}),
            assumes=frozenset({"SCAR"}),
            criterion=True,
            parameter="number of rows that are reviewed",
        ),
        MetricInfo(
            key="oa",
            name="OA",
            summary="oracle accuracy on the validation part: the yardstick for proxies",
            family="proxy",
            reference=_WANG,
            load=f"{_HERE}:oa",
            needs=frozenset({"labeled", "scheme", "truth"}),
            criterion=True,
        ),
    ]
