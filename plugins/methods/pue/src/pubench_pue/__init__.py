"""PUe: what it is. The algorithm is in :mod:`pubench_pue.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="pue",
            name="PUe",
            summary="non-negative PU risk, labeled positives weighted by the inverse of an estimated propensity",
            family="selection bias",
            reference=Reference(
                authors="Wang, Chen, Guo, Wang",
                title="PUe: Biased Positive-Unlabeled Learning Enhancement by Causal Inference",
                venue="NeurIPS",
                year=2023,
            ),
            load="pubench_pue.method:PUe",
            needs=frozenset({"prior"}),
            setting="two-sample",
            follows="the paper's formulas as wu-dd/PUBench's PUe has them (no official code is known): propensity "
            "loss with a difference of sums, normalized inverse weights, logistic loss; the non-negative "
            "risk of the paper, where that code has the unbiased one (correction = none); weights are found "
            "once after the warm-up, in evaluation mode, with mean 1 over all of P, where that code "
            "normalizes within each batch in training mode (normalization = batch); unlabeled copies of "
            "labeled positives do not train the propensity; propensities are at least 1e-3; batches in the "
            "proportion of the data (batching = paired has equal ones); the two networks start from weights "
            "of their own, not from the same ones; one logit in place of two outputs; optimizer values and "
            "backbones of PU-Bench, which has no such row",
            presets={
                "official": Preset(
                    values={
                        "alpha": 15.0,
                        "lr": 1e-3,
                        "weight_decay": 0.0,
                    },
                    note="no official code is known. alpha = 15, the paper's recommendation, and Adam with 1e-3 are "
                    "from a re-implementation (TimoM99/PUBiasCalibration); the rest is the default. alpha does not "
                    "carry over: there it weighs a sum over the whole training set, here one over a batch: n / "
                    "batch_size times weaker next to the mean cross-entropy. The re-implementation's deep variant "
                    "compares the sum of a batch with the count of the whole set, which is another loss",
                ),
                "pubench": Preset(
                    values={
                        "lr": 3e-4,
                        "weight_decay": 1e-4,
                        "batch_size": 256,
                        "epochs": 40,
                        "patience": 10,
                    },
                    note="PU-Bench does not run PUe; these are the values of its nnPU",
                ),
                "wang": Preset(
                    values={
                        "correction": "none",
                        "normalization": "batch",
                        "min_propensity": 0.0,
                        "batching": "paired",
                        "warm_up": 20,
                        "optimizer": "sgd",
                        "lr": 1e-3,
                        "momentum": 0.9,
                        "weight_decay": 0.0,
                        "batch_size": 128,
                        "epochs": 200,
                        "steps_per_epoch": 100,
                        "patience": None,
                    },
                    per_data={"cifar10": {"batch_size": 64}, "imagenette": {"batch_size": 64}},
                    note="Wang et al., Table 4 (optimizer, batch, 20,000 iterations, evaluated every 100; PUe itself "
                    "is not in it) and their class PUe (alpha .1, 2,000 iterations of warm-up before the "
                    "20,000, no clamp, weights normalized in the batch); no augmentation",
                ),
                "quick": Preset(values={"warm_up": 3, "epochs": 5, "patience": None}, note="short, for a first try"),
            },
        )
    ]
