"""PUL-CPBF: what it is. The algorithm is in :mod:`pubench_pul_cpbf.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl

#: Mirrored digits are other digits, or none.
NOT_MIRRORED = {key: {"flip": False} for key in ("mnist", "usps")}


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="pul-cpbf",
            name="PUL-CPBF",
            summary="weak classifiers put every unlabeled row between two posteriors; its label is drawn there",
            family="pseudo-labels and mixup",
            reference=Reference(
                authors="Li, Dai, Feng, Li, Wang, Ouyang",
                title="Positive and Unlabeled Learning with Controlled Probability Boundary Fence",
                venue="ICML",
                year=2024,
            ),
            load="pubench_pul_cpbf.method:PULCPBF",
            needs=frozenset({"prior"}),
            setting="two-sample",
            follows="the paper's method, read with PU-Bench's author-provided parts, as no official code is public: "
            "weights of the fence, its intervals, stochastic labels, the losses of the final network, no average of "
            "networks. The final network is fresh by default; PU-Bench's goes on from its first stage, as it does here "
            "in the preset pubench. Its classifiers share batches, their risk is divided by the labeled share r, and "
            "an inconsistent row is below the first boundary that it is not above. What PU-Bench runs under this name "
            "is another algorithm, and its published row is no target: the targets of U are made of hidden true "
            "labels, one network stands for the fence, the positive term counts five times, beta is at least 0.05 and "
            "the mean is held to the prior, which all moves the boundary; its labels by trends are inverted. None of "
            "that is kept, nor is its output bias of logit(π) at the start or its clamp of logits at 10",
            presets={
                "pubench": Preset(
                    values={
                        "fence": 9,
                        "fence_optimizer": "adam",
                        "fence_epochs": 20,
                        "fence_lr": 2e-3,
                        "fence_weight_decay": 5e-3,
                        "surrogate": "logistic",
                        "labels": "stochastic",
                        "start": "weak",
                        "optimizer": "sgd",
                        "lr": 2e-3,
                        "momentum": 0.9,
                        "weight_decay": 5e-3,
                        "schedule": "cosine",
                        "batch_size": 64,
                        "labeled_batch": "proportional",
                        "epochs": 50,
                        "patience": None,
                        "trust": None,
                        "temperature_start": 1.5,
                        "temperature": 0.5,
                        "threshold_start": 0.6,
                        "threshold": 0.9,
                        "weight_unlabeled": 0.85,
                        "weight_entropy": 0.0,
                    },
                    per_data=NOT_MIRRORED,
                    note="PU-Bench's paper code, all data sets, for the fence of nine that it has as an inactive "
                    "option: Adam before, SGD along a cosine after; its joint batches are batches in proportion. "
                    "Temperature and threshold are annealed from where its trainer begins, which its yaml file does "
                    "not name. As there, the second stage goes on with the network of the first. From a fresh one "
                    "(start=fresh) the low first threshold can teach that every row is positive (Spambase with seed "
                    "2). Its candidates are the epochs of both stages, here those of the second",
                ),
                "revision": Preset(
                    values={
                        "optimizer": "adam",
                        "lr": 2e-3,
                        "weight_decay": 5e-3,
                        "trust": 0.5,
                        "temperature_start": 0.5,
                        "temperature": 0.5,
                        "threshold_start": 0.9,
                        "threshold": 0.9,
                        "weight_unlabeled": 0.85,
                    },
                    per_data=NOT_MIRRORED,
                    note="PU-Bench's later revision, nearer to the authors' files: Adam, and constants where the paper "
                    "code anneals. These are the defaults except for trust, which rises there as in the paper code",
                ),
                "quick": Preset(
                    values={"fence": 5, "fence_epochs": 5, "epochs": 15, "labeled_batch": "proportional"},
                    per_data=NOT_MIRRORED,
                    note="short, for a first try",
                ),
            },
        )
    ]
