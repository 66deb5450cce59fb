"""NTC-tMI: what it is. The algorithm is in :mod:`pubench_ntc_tmi.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="ntc-tmi",
            name="NTC-tMI",
            summary="P against U; the threshold maximizes mutual information, which is near the median of U",
            family="classic",
            reference=Reference(
                authors="Teisseyre, Martens, Bekker, Davis",
                title="Learning from biased positive-unlabeled data via threshold calibration",
                venue="AISTATS",
                year=2025,
                url="https://proceedings.mlr.press/v258/teisseyre25a.html",
            ),
            load="pubench_ntc_tmi.method:NtcTMI",
            devices=("cpu",),
            follows="the code (TimoM99/PUBiasCalibration, ae378c1), with any base",
            presets={
                "table": Preset(note="trees with out-of-fold scores, ties counted in full"),
                "official": Preset(
                    values={"base": "unscaled-logistic", "scores": "in-sample", "neighbors": "boundary"},
                    note="the published code: logistic regression on features as they are",
                ),
                "quick": Preset(values={"base_config": {"n_estimators": 10}}, note="short, for a first try"),
            },
        )
    ]
