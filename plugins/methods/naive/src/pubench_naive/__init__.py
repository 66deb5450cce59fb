"""Unlabeled as negative: what it is. The algorithm is in :mod:`pubench_naive.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="naive",
            name="Unlabeled as negative",
            summary="P against U, as if every unlabeled row were negative: the baseline of PU learning",
            family="baseline",
            role="baseline",
            reference=Reference(
                authors="Bekker, Davis",
                title="Learning from positive and unlabeled data: a survey",
                venue="Machine Learning",
                year=2020,
                url="https://arxiv.org/abs/1811.04820",
            ),
            load="pubench_naive.method:Naive",
            devices=("cpu",),
            learns_from_negatives=True,
            follows="section 5 of the survey; both classes weigh the same, and a prior places the threshold",
            presets={
                "default": Preset(note="100 extremely randomized trees"),
                "network": Preset(
                    values={"base": "network"}, note="the backbone of the data set, trained as pn trains it"
                ),
                "known": Preset(values={"against": "known"}, note="P against known negatives alone: supervised"),
                "quick": Preset(values={"base_config": {"n_estimators": 10}}, note="short, for a first try"),
            },
        )
    ]
