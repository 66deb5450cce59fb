"""CVIR: what it is. The algorithm is in :mod:`pubench_cvir.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="cvir",
            name="CVIR",
            summary="unlabeled rows are negatives, except the share α of them with the highest scores in each epoch",
            family="sample selection",
            reference=Reference(
                authors="Garg, Wu, Smola, Balakrishnan, Lipton",
                title="Mixture Proportion Estimation and PU Learning: A Modern Approach",
                venue="NeurIPS",
                year=2021,
                url="https://arxiv.org/abs/2111.00980",
            ),
            load="pubench_cvir.method:CVIR",
            needs=frozenset({"prior"}),
            setting="two-sample",
            follows="acmi-lab/PU_learning, --train-method CVIR: loss, ranking, skipped batches; adapted: an epoch is a "
            "pass over U (theirs ends with the shorter loader), rows are ranked without augmentation, a warm-up of P "
            "against U comes first (warm_up = 0 is the official start), one logit in place of two outputs; optimizer "
            "values of PU-Bench, whose output bias of logit(π) at the start and margin of 1e-4 in early stopping are "
            "not kept; Wang et al.'s weights are an option, their P-only steps are not kept",
            presets={
                "pubench": Preset(
                    values={
                        "lr": 3e-4,
                        "weight_decay": 1e-4,
                        "batch_size": 128,
                        "epochs": 40,
                        "patience": 10,
                    },
                    note="PU-Bench does not run CVIR; these are the values of its MPE-PU, the same paper's method",
                ),
                "official": Preset(
                    values={
                        "optimizer": "sgd",
                        "lr": 0.1,
                        "momentum": 0.9,
                        "weight_decay": 5e-4,
                        "batch_size": 200,
                        "unlabeled_batch": "proportional",
                        "warm_up": 0,
                        "epochs": 5000,
                        "patience": None,
                    },
                    per_data={
                        "cifar10": {"epochs": 2000, "augment": True},
                        "mnist": {"epochs": 1000, "unlabeled_batch": "equal"},
                        "imdb": {
                            "optimizer": "adamw",
                            "lr": 5e-5,
                            "weight_decay": 0.0,
                            "batch_size": 8,
                            "unlabeled_batch": "equal",
                            "epochs": 50,
                        },
                    },
                    note="the official scripts",
                ),
                "wang": Preset(
                    values={
                        "weights": "prior",
                        "optimizer": "sgd",
                        "lr": 1e-3,
                        "momentum": 0.9,
                        "weight_decay": 0.0,
                        "batch_size": 128,
                        "warm_up": 0,
                        "epochs": 200,
                        "steps_per_epoch": 100,
                        "patience": None,
                    },
                    per_data={"cifar10": {"batch_size": 64}, "imagenette": {"batch_size": 64}},
                    note="Wang et al., Table 4: 20,000 iterations, evaluated every 100; U is ranked as often, where "
                    "their code ranks it once per pass (with r = .3 every 196 steps on CIFAR-10, 59 on ImageNette, "
                    "19 on USPS, 63 on Letter); no augmentation",
                ),
                "quick": Preset(values={"warm_up": 2, "epochs": 5, "patience": None}, note="short, for a first try"),
            },
        )
    ]
