"""Metrics: what each is, needs and assumes. ``oracle`` needs true labels, ``proxy`` and ``measures`` do not."""

from functools import partial
from typing import Literal

from pubench_core import MetricInfo, Reference, hookimpl

_JAIN = Reference(
    authors="Jain, White & Radivojac",
    title="Recovering True Classifier Performance in Positive-Unlabeled Learning",
    venue="AAAI",
    year=2017,
)
_LEE_LIU = Reference(
    authors="Lee & Liu",
    title="Learning with Positive and Unlabeled Examples Using Weighted Logistic Regression",
    venue="ICML",
    year=2003,
)
_HIRZEL = Reference(
    authors="Hirzel, Le Lay, Helfer, Randin & Guisan",
    title="Evaluating the ability of habitat suitability models to predict species presences",
    venue="Ecological Modelling",
    year=2006,
)
_WANG = Reference(
    authors="Wang et al.",
    title="Accessible, Realistic, and Fair Evaluation of Positive-Unlabeled Learning Algorithms",
    venue="ICLR",
    year=2026,
)
_MEASURES = "pubench_metrics.measures"
_LABELED = frozenset[Literal["labeled"]]({"labeled"})
_WITH_PRIOR = frozenset[Literal["labeled", "prior", "scheme"]]({"labeled", "prior", "scheme"})
_SCAR = frozenset[Literal["SCAR"]]({"SCAR"})
_SCAR_AND_PRIOR = frozenset[Literal["SCAR", "prior"]]({"SCAR", "prior"})


_proxy = partial(MetricInfo, family="proxy", criterion=True)


def _oracle(key: str, name: str, summary: str, *, criterion: bool = False, headline: int = 0) -> MetricInfo:
    return MetricInfo(
        key=key,
        name=name,
        summary=summary,
        family="oracle",
        load=f"pubench_metrics.oracle:{key.replace('-', '_')}",
        needs=frozenset({"truth"}),
        criterion=criterion,
        headline=headline,
    )


@hookimpl
def pubench_metrics() -> list[MetricInfo]:
    return [
        _oracle("accuracy", "accuracy", "share of right decisions", headline=7),
        _oracle("precision", "precision", "TP / (TP + FP), 0 without a positive decision", headline=6),
        _oracle("recall", "recall", "TP / (TP + FN), 0 without a positive item", headline=5),
        _oracle("f1", "F1", "F1 of the positive class: 2TP / (2TP + FP + FN)", criterion=True, headline=4),
        _oracle(
            "macro-f1",
            "macro-F1",
            "mean of the F1 of both classes, always over {0, 1}",
            criterion=True,
            headline=3,
        ),
        _oracle("auc", "AUC", "area under the ROC curve, ties counted half", headline=2),
        _oracle("average-precision", "AP", "area under the precision-recall curve, by distinct thresholds", headline=1),
        _oracle("auc-prg", "AUC-PRG", "area under the precision-recall-gain curve; 0 at chance"),
        _oracle("correlation", "COR", "Pearson correlation of scores with true labels (ecology's COR)"),
        _oracle("balanced-accuracy", "balanced accuracy", "mean of true positive and true negative rate"),
        _oracle("mcc", "MCC", "Matthews correlation coefficient, 0 where a margin is empty"),
        _proxy(
            key="pa",
            name="PA",
            summary="proxy accuracy: accuracy + prior in expectation, from P' and U' alone",
            reference=_WANG,
            load="pubench_metrics.proxy:pa",
            needs=_WITH_PRIOR,
            assumes=_SCAR_AND_PRIOR,
        ),
        _proxy(
            key="pa-published",
            name="PA as published",
            summary="proxy accuracy as Wang et al.'s code has it: under one-sample data it is not their Equation 3",
            reference=_WANG,
            load="pubench_metrics.proxy:pa_published",
            needs=_WITH_PRIOR,
            assumes=_SCAR_AND_PRIOR,
        ),
        _proxy(
            key="pa-at",
            name="PA at",
            summary="proxy accuracy for a prior of so many percent, whatever prior the method was given",
            reference=_WANG,
            load="pubench_metrics.proxy:pa_at",
            needs=frozenset({"labeled", "scheme"}),
            assumes=_SCAR_AND_PRIOR,
            parameter="prior in percent",
        ),
        _proxy(
            key="pauc",
            name="PAUC",
            summary="proxy AUC: P' against U'; orders models as AUC does, under SCAR",
            reference=_WANG,
            load="pubench_metrics.proxy:pauc",
            needs=_LABELED,
            assumes=_SCAR,
        ),
        _proxy(
            key="recall-at",
            name="recall at",
            summary="share of held-out labeled positives among the k highest-ranked unlabeled rows",
            load="pubench_metrics.proxy:recall_at",
            needs=_LABELED,
            assumes=_SCAR,
            parameter="number of rows that are reviewed",
        ),
        _proxy(
            key="oa",
            name="OA",
            summary="oracle accuracy on the validation part: the yardstick for proxies",
            reference=_WANG,
            load="pubench_metrics.proxy:oa",
            needs=frozenset({"labeled", "scheme", "truth"}),
        ),
        MetricInfo(
            key="pulp",
            name="PULP",
            summary="how improbable it is that chance ranks the labeled positives as high; exact tails",
            family="ranking of P",
            load=f"{_MEASURES}:pulp_metric",
            needs=_LABELED,
        ),
        MetricInfo(
            key="lee-liu",
            name="Lee & Liu",
            summary="recall of P' squared over the share decided positive: precision times recall over π",
            family="ranking of P",
            reference=_LEE_LIU,
            load=f"{_MEASURES}:lee_liu_metric",
            needs=_LABELED,
            assumes=_SCAR,
        ),
        MetricInfo(
            key="pseudo-f",
            name="pseudo-F",
            summary="F1 with the recall of P' and the share decided positive in place of hidden counts",
            family="ranking of P",
            load=f"{_MEASURES}:pseudo_f_metric",
            needs=_WITH_PRIOR,
            assumes=_SCAR_AND_PRIOR,
        ),
        MetricInfo(
            key="boyce",
            name="Boyce index",
            summary="rank correlation of score and of how often P' has it against all rows, over moving windows",
            family="ranking of P",
            reference=_HIRZEL,
            load=f"{_MEASURES}:boyce",
            needs=_LABELED,
            assumes=_SCAR,
        ),
        MetricInfo(
            key="pu-auc",
            name="PU AUC",
            summary="AUC of P' against U', with an interval",
            family="P against U",
            reference=_JAIN,
            load=f"{_MEASURES}:pu_auc",
            needs=_LABELED,
            assumes=_SCAR,
        ),
        MetricInfo(
            key="pu-ap",
            name="PU AP",
            summary="average precision of P' against U'; compares models on one data set",
            family="P against U",
            reference=_JAIN,
            load=f"{_MEASURES}:pu_ap",
            needs=_LABELED,
            assumes=_SCAR,
        ),
        *(
            MetricInfo(
                key=f"pu-{key}",
                name=f"PU {name}",
                summary=f"{what} of decisions and labels, with unlabeled rows as negative",
                family="P against U",
                load=f"{_MEASURES}:pu_{key.replace('-', '_')}",
                needs=_LABELED,
                assumes=_SCAR,
            )
            for key, name, what in (
                ("f1", "F1", "F1"),
                ("correlation", "correlation", "Pearson's correlation"),
                ("mutual-information", "mutual information", "mutual information, in nats,"),
            )
        ),
        *(
            MetricInfo(
                key=f"recovered-{key}",
                name=f"recovered {name}",
                summary=f"{what} against true labels, recovered from P', U' and the prior",
                family="recovered",
                reference=_JAIN,
                load=f"pubench_metrics.recovery:recovered_{key}",
                needs=_WITH_PRIOR,
                assumes=_SCAR_AND_PRIOR,
                higher_is_better=key != "fpr",
            )
            for key, name, what in (
                ("auc", "AUC", "AUC"),
                ("ap", "AP", "average precision"),
                ("precision", "precision", "precision at the threshold"),
                ("recall", "recall", "recall at the threshold"),
                ("fpr", "FPR", "false positive rate at the threshold"),
            )
        ),
    ]
