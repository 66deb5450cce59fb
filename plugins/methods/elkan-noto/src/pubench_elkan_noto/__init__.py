"""Elkan-Noto: what it is. The algorithm is in :mod:`pubench_elkan_noto.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="elkan-noto",
            name="Elkan-Noto",
            summary="a calibrated classifier of P against U, divided by the label frequency that it implies",
            family="classic",
            reference=Reference(
                authors="Elkan, Noto",
                title="Learning Classifiers from Only Positive and Unlabeled Data",
                venue="KDD",
                year=2008,
                url="https://doi.org/10.1145/1401890.1401920",
            ),
            load="pubench_elkan_noto.method:ElkanNoto",
            devices=("cpu",),
            learns_from_negatives=True,
            follows="the paper's sections 2 and 3, cross-fitted: its held-out part is every fold in turn; under "
            "case-control data, which the paper does not have, the posterior is that of a draw of the population",
            presets={
                "default": Preset(note="scaling, sigmoid calibration, 100 trees"),
                "weighting": Preset(values={"form": "weighting"}, note="the paper's section 3"),
                "quick": Preset(values={"base_config": {"n_estimators": 10}}, note="short, for a first try"),
            },
        )
    ]
