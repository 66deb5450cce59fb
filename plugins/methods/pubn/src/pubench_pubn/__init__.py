"""PUbN: what it is. The algorithm is in :mod:`pubench_pubn.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl

OFFICIAL = {
    "variant": "two-stage",
    "optimizer": "adam",
    "lr": 1e-3,
    "first_lr": 1e-3,
    "weight_decay": 1e-4,
    "batch_size": 100,
    "p_batch_size": 10,
    "first_epochs": 200,
    "epochs": 200,
    "milestones": (80, 120),
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
            learns_from_negatives=True,
            follows="cyber-meow/PUbiasedN, with biased negatives if some are known, else as without (ρ = 0): both "
            "stages, AMSGrad, the percentile cut to an integer, means over whole batches, logistic losses, and a "
            "first stage that ends with the state of least squared error of the posterior; adapted: that error is of "
            "held-out rows of the training part, where the official script has a validation set; the run's criterion "
            "chooses the epoch of the second stage, where the official script has the smoothed PU risk of that set; "
            "an epoch is a pass over U (the same as one over P if batches have the proportion of the sets, as "
            "theirs); σ is at least 0.001; backbones of PU-Bench, which does not run PUbN. Wang et al.'s loss, of "
            "one stage, is variant = single-stage; it reads π, which is .5 in their code and in their protocols",
            presets={
                "official": Preset(
                    values=OFFICIAL,
                    per_data={
                        "mnist": {
                            "lr": 1e-2,
                            "first_lr": 1e-2,
                            "batch_size": 120,
                            "first_epochs": 100,
                            "epochs": 100,
                            "milestones": (),
                        },
                        "20news": {
                            "lr": 5e-4,
                            "first_lr": 5e-3,
                            "batch_size": 120,
                            "first_epochs": 50,
                            "epochs": 50,
                            "milestones": (),
                        },
                    },
                    note="the official files without negatives (PUbN-N.yml) of CIFAR-10 (vehicles positive), MNIST and "
                    "20 Newsgroups; milestones and the epochs of 20 Newsgroups are from the scripts that read them. "
                    "Other data sets have CIFAR-10's values. With mammals positive, τ is .7 (negative_share)",
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
                        "milestones": (),
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
                        "milestones": (),
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
