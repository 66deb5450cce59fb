"""Metrics that need true labels: what they are. The formulas are in :mod:`pubench_metrics_oracle.measures`."""

from pubench_core import MetricInfo, hookimpl

_HERE = "pubench_metrics_oracle.measures"


def _info(key: str, name: str, summary: str, *, criterion: bool = False, headline: int = 0) -> MetricInfo:
    return MetricInfo(
        key=key,
        name=name,
        summary=summary,
        family="oracle",
        load=f"{_HERE}:{key.replace('-', '_')}",
        needs=frozenset({"truth"}),
        criterion=criterion,
        headline=headline,
    )


@hookimpl
def pubench_metrics() -> list[MetricInfo]:
    return [
        _info("accuracy", "accuracy", "share of right decisions", headline=7),
        _info("precision", "precision", "TP / (TP + FP), 0 without a positive decision", headline=6),
        _info("recall", "recall", "TP / (TP + FN), 0 without a positive item", headline=5),
        _info("f1", "F1", "F1 of the positive class: 2TP / (2TP + FP + FN)", criterion=True, headline=4),
        _info(
            "macro-f1",
            "macro-F1",
            "mean of the F1 of both classes, always over {0, 1}",
            criterion=True,
            headline=3,
        ),
        _info("auc", "AUC", "area under the ROC curve, ties counted half", headline=2),
        _info("average-precision", "AP", "area under the precision-recall curve, by distinct thresholds", headline=1),
        _info("auc-prg", "AUC-PRG", "area under the precision-recall-gain curve; 0 at chance"),
        _info("correlation", "COR", "Pearson correlation of scores with true labels (ecology's COR)"),
        _info("balanced-accuracy", "balanced accuracy", "mean of true positive and true negative rate"),
        _info("mcc", "MCC", "Matthews correlation coefficient, 0 where a margin is empty"),
    ]
