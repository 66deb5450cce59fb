"""Evaluation from positive and unlabeled data: what the measures are. The formulas is next to."""

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
_HERE = "pubench_metrics_evaluation.measures"
_LABELED = frozenset({"labeled"})
_WITH_PRIOR = frozenset({"labeled", "prior", "scheme"})
_SCAR = frozenset({"SCAR"})
_SCAR_AND_PRIOR = frozenset({"SCAR", "prior"})


@hookimpl
def pubench_metrics() -> list[MetricInfo]:
    return [
        MetricInfo(
            key="pulp",
            name="PULP",
            summary="how improbable it is that chance ranks the labeled positives as high; exact tails",
            family="ranking of P",
            load=f"{_HERE}:pulp_metric",
            needs=_LABELED,
        ),
        MetricInfo(
            key="lee-liu",
            name="Lee & Liu",
            summary="recall of P' squared over the share decided positive: precision times recall over π",
            family="ranking of P",
            reference=_LEE_LIU,
            load=f"{_HERE}:lee_liu_metric",
            needs=_LABELED,
            assumes=_SCAR,
        ),
        MetricInfo(
            key="pseudo-f",
            name="pseudo-F",
            summary="F1 with the recall of P' and the share decided positive in place of hidden counts",
            family="ranking of P",
            load=f"{_HERE}:pseudo_f_metric",
            needs=_WITH_PRIOR,
            assumes=_SCAR_AND_PRIOR,
        ),
        MetricInfo(
            key="boyce",
            name="Boyce index",
            summary="rank correlation of score and of how often P' has it against all rows, over moving windows",
            family="ranking of P",
            reference=_HIRZEL,
            load=f"{_HERE}:boyce",
            needs=_LABELED,
            assumes=_SCAR,
        ),
        MetricInfo(
            key="pu-auc",
            name="PU AUC",
            summary="AUC of P' against U', with an interval",
            family="P against U",
            reference=_JAIN,
            load=f"{_HERE}:pu_auc",
            needs=_LABELED,
            assumes=_SCAR,
        ),
        MetricInfo(
            key="pu-ap",
            name="PU AP",
            summary="average precision of P' against U'; compares models on one data set",
            family="P against U",
            reference=_JAIN,
            load=f"{_HERE}:pu_ap",
            needs=_LABELED,
            assumes=_SCAR,
        ),
        *(
            MetricInfo(
                key=f"pu-{key}",
                name=f"PU {name}",
                summary=f"{what} of decisions and labels, with unlabeled rows as negative",
                family="P against U",
                load=f"{_HERE}:pu_{key.replace('-', '_')}",
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
                load=f"pubench_metrics_evaluation.recovery:recovered_{key}",
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
