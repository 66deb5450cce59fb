"""Two-step learning: what it is. The algorithm is in :mod:`pubench_two_step.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="two-step",
            name="Two-step",
            summary="rows of U that are negative beyond doubt (by spies), then a classifier of P against them",
            family="classic",
            reference=Reference(
                authors="Liu, Lee, Yu, Li",
                title="Partially Supervised Classification of Text Documents",
                venue="ICML",
                year=2002,
                url="https://www.cs.uic.edu/~liub/S-EM/unlabelled.pdf",
            ),
            load="pubench_two_step.method:TwoStep",
            devices=("cpu",),
            learns_from_negatives=True,
            follows="S-EM's spies, scored out of fold; Rocchio's prototypes of Li and Liu, IJCAI 2003; 1-DNF of PEBL "
            "(Yu, Han, Chang, KDD 2002); the iterations of both, with any base in place of naive Bayes or an SVM",
            presets={
                "default": Preset(note="spies, one classifier, 100 trees"),
                "s-em": Preset(values={"iterate": "em", "base": "logistic"}, note="spies and EM, as S-EM"),
                "roc-svm": Preset(
                    values={"step_one": "rocchio", "iterate": "until-stable", "base": "logistic"},
                    note="Rocchio and a linear classifier until stable, as Roc-SVM",
                ),
                "quick": Preset(values={"base_config": {"n_estimators": 10}}, note="short, for a first try"),
            },
        )
    ]
