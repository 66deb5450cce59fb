"""SAR-EM and PGlin: what they are. The algorithms are in the modules ``method`` and ``pglin``."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl

_LIBLINEAR = {"base": "unscaled-logistic", "base_config": {"solver": "liblinear", "tolerance": 1e-4, "max_iter": 100}}

#: The copies of labeled rows that calibration puts into U name the same pool.
_SAME_POOL = {"calibration": "copies of labeled rows in U are one pool with them, so calibration changes nothing"}


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="sar-em",
            name="SAR-EM",
            summary="a classifier and a model of who gets a label, by expectation maximization",
            family="disambiguation",
            aliases=("sar-pu",),
            reference=Reference(
                authors="Bekker, Robberechts, Davis",
                title="Beyond the Selected Completely At Random Assumption for Learning from Positive and "
                "Unlabeled Data",
                venue="ECML PKDD",
                year=2019,
                url="https://arxiv.org/abs/1809.03207",
            ),
            load="pubench_sar_pu.method:SarEM",
            devices=("cpu",),
            declared_failures=_SAME_POOL,
            follows="the code (ML-KULeuven/SAR-PU, 6e4fc3d), with the clipping of TimoM99/PUBiasCalibration (ae378c1)",
            presets={
                "table": Preset(note="trees with out-of-fold scores, a logistic propensity, 10 rounds"),
                "official": Preset(
                    values={**_LIBLINEAR, "propensity": _LIBLINEAR, "scores": "in-sample", "rounds": 500},
                    note="the published code: logistic regression for both, features as they are",
                ),
                "quick": Preset(
                    values={"base_config": {"n_estimators": 10}, "rounds": 2}, note="short, for a first try"
                ),
            },
        ),
        MethodInfo(
            key="pglin",
            name="PGlin",
            summary="P against U; the propensity is taken to be proportional to the posterior",
            family="classic",
            reference=Reference(
                authors="Gerych, Hartvigsen, Buquicchio, Agu, Rundensteiner",
                title="Recovering the Propensity Score from Biased Positive Unlabeled Data",
                venue="AAAI",
                year=2022,
                url="https://doi.org/10.1609/aaai.v36i6.20624",
            ),
            load="pubench_sar_pu.pglin:PGlin",
            devices=("cpu",),
            declared_failures=_SAME_POOL,
            follows="the code that AISTATS 2025 compares (TimoM99/PUBiasCalibration, ae378c1); no code of the authors",
            presets={
                "table": Preset(note="trees with out-of-fold scores"),
                "official": Preset(
                    values={"base": "unscaled-logistic", "scores": "in-sample"},
                    note="the published code: logistic regression on features as they are",
                ),
                "quick": Preset(values={"base_config": {"n_estimators": 10}}, note="short, for a first try"),
            },
        ),
    ]
