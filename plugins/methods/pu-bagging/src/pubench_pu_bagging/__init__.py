"""PU bagging: what it is. The algorithm is in :mod:`pubench_pu_bagging.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="pu-bagging",
            name="PU bagging",
            summary="mean over classifiers of P against random draws of U; a row of U is scored out of bag",
            family="classic",
            reference=Reference(
                authors="Mordelet, Vert",
                title="A bagging SVM to learn from positive and unlabeled examples",
                venue="Pattern Recognition Letters",
                year=2014,
                url="https://arxiv.org/abs/1010.0772",
            ),
            load="pubench_pu_bagging.method:PUBagging",
            devices=("cpu",),
            out_of_sample=True,
            learns_from_negatives=True,
            follows="the paper's Algorithm 1 with trees in place of its SVM; if a draw would take half of U or more, "
            "half of it is drawn without replacement, so that rows are out of bag",
            presets={
                "default": Preset(note="200 trees, draws of |P| rows"),
                "forest": Preset(
                    values={"base": "forest"},
                    note="few features per split: the down-sampled random forest of Valavi et al., Ecography 2021",
                ),
                "quick": Preset(values={"n_estimators": 20}, note="short, for a first try"),
            },
        )
    ]
