"""Boosting on the PU risk: what it is. The algorithm is in :mod:`pubench_pu_boost.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="pu-boost",
            name="PU boosting",
            summary="additive trees on the slope and curvature of the PU risk, or AdaPU's weighted stumps",
            family="classic",
            reference=Reference(
                authors="Zhao, Zhang, Zhang, Chen, Ye, Xu",
                title="A Boosting Algorithm for Positive-Unlabeled Learning",
                venue="arXiv",
                year=2022,
                url="https://arxiv.org/abs/2205.09485",
            ),
            load="pubench_pu_boost.method:PUBoost",
            needs=frozenset({"prior"}),
            setting="two-sample",
            devices=("cpu",),
            learns_from_negatives=True,
            follows="form adapu: the abstract's weighted data set, whose positives also count as negatives with a "
            "negative weight, with the best stump and its weight in closed form; the authors' code "
            "(Yawen-Zhao-820/Ada-PU) is another procedure: one random threshold per feature and round, errors of P, U "
            "and N that are normalized one by one, and stumps whose weight is multiplied by .0001 to .2; form risk: "
            "second-order boosting as LightGBM's, on the risk of uPU or nnPU",
            presets={
                "default": Preset(note="at most 200 rounds of trees, until the risk of negatives is 0"),
                "adapu": Preset(
                    values={"form": "adapu", "learning_rate": 0.3},
                    note="stumps on the exponential loss; the rate is ours",
                ),
                "quick": Preset(values={"rounds": 10}, note="short, for a first try"),
            },
        )
    ]
