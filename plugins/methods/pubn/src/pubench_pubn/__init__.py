"""PUbN: what it is. The algorithm is in :mod:`pubench_pubn.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl

OFFICIAL = {
    "variant": "two-stage",
    "optimizer": "adam",
    "lr": 1e-3,
    "first_lr": 1e-3,
    "weight_decay": 1e-4,
    "batch_size": 120,
    "p_batch_size": 10,
    "first_epochs": 200,
    "epochs": 200,
    "steps_per_epoch": None,
    "patience": None,
    "negative_share": 0.9,
    "surrogate": "logistic",
}


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="pubn",
            name="PUbN",
            summary="a first network's posterior makes negatives of unlikely rows of U; P stands for the rest",
            family="risk minimization",
            reference=Reference(
                authors="Hsieh, Niu, Sugiyama",
                title="Classification from Positive, Unlabeled and Biased Negative Data",
                venue="ICML",
                year=2019,
                url="https://arxiv.org/abs/1810.00846",
            ),
            load="pubench_pubn.method:PUbN",
            needs=frozenset({"prior"}),
            setting="two-sample",
            follows="cyber-meow/PUbiasedN, its form without biased negatives (ρ = 0): both stages, AMSGrad, the "
            "percentile cut to an integer, means over whole batches, logistic losses; adapted: the first stage ends "
            "with the state of least squared error of the posterior on held-out rows of the training part, where the "
            "official script has the smoothed PU risk of a validation set, an epoch is a pass over U (the same as one "
            "over P where batches have the proportion of the sets, as theirs), P and U pass through a network "
            "together, σ is at least 0.001; backbones of PU-Bench, which does not run PUbN. Wang et al.'s loss, of "
            "one stage, is variant = single-stage; it reads π, which is .5 in their code and in their protocols",
            presets={
                "official": Preset(
                    values=OFFICIAL,
                    per_data={
                        "mnist": {"batch_size": 100, "first_epochs": 100, "epochs": 100, "negative_share": 0.7},
                    },
                    note="the official script for CIFAR-10 without negatives; MNIST's values are of its file with them",
                ),
                "pubench": Preset(
                    values={
                        **OFFICIAL,
                        "lr": 3e-4,
                        "first_lr": 3e-4,
                        "batch_size": 256,
                        "p_batch_size": None,
                        "first_epochs": 40,
                        "epochs": 40,
                        "patience": 10,
                    },
                    note="PU-Bench does not run PUbN; these are its optimizer values for nnPU, in both stages, with as "
                    "many rows of P as of U; the share of negatives is the official one",
                ),
                "wang": Preset(
                    values={
                        **OFFICIAL,
                        "variant": "single-stage",
                        "optimizer": "sgd",
                        "lr": 1e-3,
                        "momentum": 0.9,
                        "weight_decay": 0.0,
                        "batch_size": 128,
                        "p_batch_size": None,
                        "epochs": 200,
                        "steps_per_epoch": 100,
                        "negative_share": 0.5,
                    },
                    per_data={"cifar10": {"batch_size": 64}, "imagenette": {"batch_size": 64}},
                    note="Wang et al., Table 4: learning rate, momentum, 128 rows of P and 128 of U (images 64 and "
                    "64), share .5, 20,000 iterations, evaluated every 100: 200 epochs of 100 steps. One stage, ρ = .2 "
                    "and no weight decay are from their code (core/algorithms.py, PUbN); no augmentation",
                ),
                "quick": Preset(
                    values={"batch_size": 64, "p_batch_size": None, "first_epochs": 5, "epochs": 5},
                    note="short, for a first try",
                ),
            },
        )
    ]
