"""Estimators of the class prior: what they are. Formulas are in modules of their own, without torch."""

from typing import Literal

from pubench_core import PriorInfo, Reference, hookimpl

_ALPHAMAX = Reference(
    authors="Jain, White, Trosset, Radivojac",
    title="Nonparametric Semi-Supervised Learning of Class Proportions",
    venue="arXiv:1601.01944",
    year=2016,
)
_NOISY = Reference(
    authors="Jain, White, Radivojac",
    title="Estimating the Class Prior and Posterior from Noisy Positives and Unlabeled Data",
    venue="NeurIPS",
    year=2016,
)
_KM = Reference(
    authors="Ramaswamy, Scott, Tewari",
    title="Mixture Proportion Estimation via Kernel Embeddings of Distributions",
    venue="ICML",
    year=2016,
)
_BBE = Reference(
    authors="Garg, Wu, Smola, Balakrishnan, Lipton",
    title="Mixture Proportion Estimation and PU Learning: A Modern Approach",
    venue="NeurIPS",
    year=2021,
)
_ELKAN_NOTO = Reference(
    authors="Elkan, Noto",
    title="Learning Classifiers from Only Positive and Unlabeled Data",
    venue="KDD",
    year=2008,
)
_TICE = Reference(
    authors="Bekker, Davis",
    title="Estimating the Class Prior in Positive and Unlabeled Data through Decision Tree Induction",
    venue="AAAI",
    year=2018,
)
_DEDPUL = Reference(
    authors="Ivanov",
    title="DEDPUL: Difference-of-Estimated-Densities-based Positive-Unlabeled Learning",
    venue="ICMLA",
    year=2020,
)

_PULSNAR = Reference(
    authors="Kumar, Lambert",
    title="PULSNAR: class proportion estimation without the selected completely at random assumption",
    venue="PeerJ Computer Science",
    year=2024,
    url="https://arxiv.org/abs/2303.08269",
)


#: Estimator -> mean absolute error in ``benchmarks/results/prior-error.csv``; see :attr:`PriorInfo.error`.
_ERRORS = {
    "alphamax": 0.047,
    "alphamax-two-sided": 0.022,
    "bbe": 0.08,
    "dedpul": 0.052,
    "elkan-noto": 0.167,
    "tice": 0.155,
}


def _info(
    key: str,
    name: str,
    summary: str,
    load: str,
    inputs: Literal["scores", "features"],
    reference: Reference,
    *,
    slow: bool = False,
) -> PriorInfo:
    return PriorInfo(
        key=key,
        name=name,
        summary=summary,
        family="class prior",
        reference=reference,
        load=f"pubench_priors_standard.{inputs}:{load}",
        inputs=inputs,
        slow=slow,
        error=_ERRORS.get(key),
    )


@hookimpl
def pubench_priors() -> list[PriorInfo]:
    return [
        _info("bbe", "BBE", "share of the purest top bin of the scores", "BestBin", "scores", _BBE),
        _info("alphamax", "AlphaMax", "elbow of the likelihood of each share", "AlphaMax", "scores", _ALPHAMAX),
        _info(
            "alphamax-two-sided",
            "AlphaMax, two-sided",
            "class prior and purity of labels that may be wrong",
            "TwoSidedAlphaMax",
            "scores",
            _NOISY,
        ),
        _info("km2", "KM2", "distance of kernel means to a convex hull", "KernelMeans", "features", _KM, slow=True),
        _info("km1", "KM1", "KM2 with the threshold of the theory", "KernelMeansGradient", "features", _KM, slow=True),
        _info("elkan-noto", "Elkan-Noto", "mean probability of labeled rows", "ElkanNoto", "scores", _ELKAN_NOTO),
        _info("tice", "TIcE", "lower bound of the label frequency from trees", "TIcE", "features", _TICE),
        _info("dedpul", "DEDPUL", "posteriors from a ratio of densities", "Dedpul", "scores", _DEDPUL),
        _info("pulscar", "PULSCAR", "difference of two densities of scores", "Pulscar", "scores", _PULSNAR),
        _info(
            "pulsnar",
            "PULSNAR",
            "PULSCAR for each cluster of labeled rows, added up; labels may be biased",
            "Pulsnar",
            "features",
            _PULSNAR,
            slow=True,
        ),
    ]
