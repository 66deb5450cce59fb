"""Labeling mechanisms: what they are. The draws are in :mod:`pubench_mechanisms.draws`."""

from functools import partial

from pubench_core import MechanismInfo, Reference, hookimpl

_HERE = "pubench_mechanisms.draws"
#: Readings of S2 and S3: as published, as released, and with other powers than 10.
_POWERS = ("paper", "released", "k=2", "k=5", "k=20")
_LBE = Reference(
    authors="Gong, Wang, Liu, Han, You, Yang, Tao",
    title="Instance-Dependent Positive and Unlabeled Learning with Labeling Bias Estimation",
    venue="IEEE TPAMI",
    year=2022,
)
_PUSB = Reference(
    authors="Kato, Teshima, Honda",
    title="Learning from Positive and Unlabeled Data with a Selection Bias",
    venue="ICLR",
    year=2019,
)
_TEISSEYRE = partial(
    MechanismInfo,
    reference=Reference(
        authors="Teisseyre, Martens, Bekker, Davis",
        title="Learning from biased positive-unlabeled data via threshold calibration",
        venue="AISTATS",
        year=2025,
        url="https://proceedings.mlr.press/v258/teisseyre25a.html",
    ),
)
_JAIN = Reference(
    authors="Jain, White, Radivojac",
    title="Recovering True Classifier Performance in Positive-Unlabeled Learning",
    venue="AAAI",
    year=2017,
)


@hookimpl
def pubench_mechanisms() -> list[MechanismInfo]:
    return [
        MechanismInfo(
            key="scar",
            name="SCAR",
            summary="selected completely at random: every positive is labeled with probability c",
            aliases=("s1",),
            reference=Reference(
                authors="Elkan, Noto",
                title="Learning Classifiers from Only Positive and Unlabeled Data",
                venue="KDD",
                year=2008,
            ),
            load=f"{_HERE}:SCAR",
            assumption="SCAR",
        ),
        MechanismInfo(
            key="sar-lbe-a",
            name="SAR, LBE-A",
            summary="positives far inside the class are labeled: weight p(x)^10, drawn without replacement",
            aliases=("s2",),
            reference=_LBE,
            follows="PU-Bench, S2; released: its code's weights, 0.9 p^10 / sum + 0.1 / |P|",
            load=f"{_HERE}:TypicalFirst",
            assumption="SAR",
            needs_posterior=True,
            variants=_POWERS,
        ),
        MechanismInfo(
            key="sar-lbe-b",
            name="SAR, LBE-B",
            summary="positives near or beyond the boundary are labeled: weight (1 - p(x))^10, without replacement",
            aliases=("s3",),
            reference=_LBE,
            follows="PU-Bench, S3; released: its code's weights, (2.5 - p)^10, a mild tilt and another experiment",
            load=f"{_HERE}:AtypicalFirst",
            assumption="SAR",
            needs_posterior=True,
            variants=_POWERS,
        ),
        MechanismInfo(
            key="sar-pusb",
            name="SAR, PUSB",
            summary="the positives of highest p(x) are labeled, deterministically",
            aliases=("s4",),
            reference=_PUSB,
            follows="PU-Bench, S4; any power of p gives the same set, so the released code differs in ties only",
            load=f"{_HERE}:MostTypical",
            assumption="SAR",
            needs_posterior=True,
        ),
        MechanismInfo(
            key="noisy-positives",
            name="SCAR with noisy positives",
            summary="a share β of the labels goes to positives, the others to negatives by mistake, both at random",
            reference=_JAIN,
            follows="the noisy positive setting; β is the variant",
            load="pubench_mechanisms.noisy:NoisyPositives",
            assumption="SCAR",
            variants=("0.95", "0.75", "0.9", "0.5"),
        ),
        MechanismInfo(
            key="most-representative",
            name="most representative positives",
            summary="the positives of highest density in a Gaussian mixture of all positives are labeled",
            follows="PULP, scenario 1; three components with diagonal covariances, which the source does not name",
            load="pubench_mechanisms.representative:MostRepresentative",
            assumption="SAR",
        ),
        MechanismInfo(
            key="least-representative",
            name="least representative positives",
            summary="the positives of lowest density in a Gaussian mixture of all positives are labeled",
            follows="PULP, scenario 2; three components with diagonal covariances, which the source does not name",
            load="pubench_mechanisms.representative:LeastRepresentative",
            assumption="SAR",
        ),
        _TEISSEYRE(
            key="teisseyre-s1",
            name="AISTATS 2025, S1",
            summary="each positive is labeled with probability c, independently; published: c = .1",
            load="pubench_mechanisms.independent:Even",
            assumption="SCAR",
        ),
        _TEISSEYRE(
            key="teisseyre-s2",
            name="AISTATS 2025, S2",
            summary="each positive is labeled with probability c p(x), independently; published: c = .1",
            load="pubench_mechanisms.independent:Proportional",
            assumption="SAR",
            needs_posterior=True,
        ),
        _TEISSEYRE(
            key="teisseyre-s3",
            name="AISTATS 2025, S3",
            summary="the probability of a label falls slightly with p(x), from c; published: c = .18242552380635635",
            load="pubench_mechanisms.independent:Falling",
            assumption="SAR",
            needs_posterior=True,
        ),
        _TEISSEYRE(
            key="teisseyre-s4",
            name="AISTATS 2025, S4",
            summary="the probability of a label falls with the log-odds of p(x), from c to 0; published: c = .5",
            load="pubench_mechanisms.independent:FallingToZero",
            assumption="SAR",
            needs_posterior=True,
        ),
    ]
