"""PUET: what it is. The algorithm is in :mod:`pubench_puet.method`, the trees in :mod:`pubench_puet.trees`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="puet",
            name="PUET",
            summary="PU Extra Trees: randomized trees whose splits greedily minimize the PU risk",
            family="tree",
            reference=Reference(
                authors="Wilton, Koay, Ko, Xu, Ye",
                title="Positive-Unlabeled Learning using Random Forests via Recursive Greedy Risk Minimization",
                venue="NeurIPS",
                year=2022,
                url="https://arxiv.org/abs/2210.08461",
            ),
            load="pubench_puet.method:PUET",
            needs=frozenset({"prior"}),
            setting="two-sample",
            devices=("cpu",),
            follows="jonathanwilton/PUExtraTrees: every tree on all of P and U, the same candidates, risks, stopping "
            "and vote; stopping is decided on integer counts, and a posterior orders rows with equally many votes",
            presets={
                "official": Preset(
                    values={"n_estimators": 100, "max_depth": None},
                    note="the official code's defaults",
                ),
                "pubench": Preset(
                    values={"n_estimators": 30, "max_depth": 30},
                    note="PU-Bench, all data sets",
                ),
                "quick": Preset(values={"n_estimators": 10}, note="short, for a first try"),
            },
        )
    ]
