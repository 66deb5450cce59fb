"""MPE-PU: what it is. The algorithm is in :mod:`pubench_mpe_pu.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="mpe-pu",
            name="MPE-PU",
            summary="TED^n: estimates the share of positives in U on held-out rows and ignores that share, in turn",
            family="sample selection",
            reference=Reference(
                authors="Garg, Wu, Smola, Balakrishnan, Lipton",
                title="Mixture Proportion Estimation and PU Learning: A Modern Approach",
                venue="NeurIPS",
                year=2021,
                url="https://arxiv.org/abs/2111.00980",
            ),
            load="pubench_mpe_pu.method:MPEPU",
            setting="two-sample",
            aliases=("ted-n",),
            follows="acmi-lab/PU_learning, TED^n: best bin estimation, CVIR, their alternation; adapted: rows held out "
            "of the training part in place of separate sets, an epoch is a pass over U, rows are ranked by logits and "
            "without augmentation, an estimate above 0.99 is cut, one logit in place of two outputs; optimizer values "
            "of PU-Bench, whose MPE-PU is another algorithm: nnPU after a warm-up, without CVIR (nnpu with surrogate = "
            "sigmoid, gamma = 0.5, beta = 0.1); its output bias of logit(π) at the start and its margin of 1e-4 in "
            "early stopping are not kept",
            presets={
                "pubench": Preset(
                    values={
                        "lr": 3e-4,
                        "weight_decay": 1e-4,
                        "batch_size": 128,
                        "warm_up": 8,
                        "epochs": 40,
                        "patience": 20,
                    },
                    note="PU-Bench's values for its MPE-PU, all data sets",
                ),
                "official": Preset(
                    values={
                        "optimizer": "sgd",
                        "lr": 0.1,
                        "momentum": 0.9,
                        "weight_decay": 5e-4,
                        "batch_size": 200,
                        "unlabeled_batch": "proportional",
                        "warm_up": 100,
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
                            "warm_up": 2,
                            "epochs": 50,
                        },
                    },
                    note="the official scripts",
                ),
                "quick": Preset(values={"warm_up": 2, "epochs": 5, "patience": None}, note="short, for a first try"),
            },
        )
    ]
