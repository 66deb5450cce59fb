"""Count Loss: what it is. The algorithm is in :mod:`pubench_count_loss.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="count-loss",
            name="Count Loss",
            summary="likelihood that a batch of U has as many positives as the class prior says",
            family="count-based",
            reference=Reference(
                authors="Shukla, Zeng, Ahmed, Van den Broeck",
                title="A Unified Approach to Count-Based Weakly-Supervised Learning",
                venue="NeurIPS",
                year=2023,
                url="https://arxiv.org/abs/2311.13718",
            ),
            load="pubench_count_loss.method:CountLoss",
            needs=frozenset({"prior"}),
            setting="two-sample",
            follows="the paper's loss for an exact count; UCLA-StarAI/CountLoss, folder PU, for the positive term and "
            "the law of the count (form = distribution); the official routine for an exact count has the likelihood of "
            "at most k positives, which is not kept; weights 1 and 1 and a gradient norm of at most 10 are Wang et "
            "al.'s, whose count is rounded down (rounding = floor), whose law is normalized once more with 1e-6 (not "
            "kept) and who skip a step without a finite loss (none occurs in logarithms); an epoch is a pass over U "
            "(theirs ends with the shorter loader) in batches of one size; one logit; the official choice of the epoch "
            "by an accuracy near 75 % is not kept; optimizer values and backbones of PU-Bench, which has no such row",
            presets={
                "official": Preset(
                    values={
                        "form": "distribution",
                        "weight_positive": 10.0,
                        "weight_unlabeled": 10.0,
                        "max_norm": None,
                        "optimizer": "sgd",
                        "lr": 0.1,
                        "momentum": 0.9,
                        "weight_decay": 5e-4,
                        "batch_size": 200,
                        "epochs": 1000,
                        "patience": 100,
                    },
                    note="the method that the official README names first, Count: the law of the number (form = "
                    "distribution). Its second, Count_EV, has an exact number, as every other preset here. Values are "
                    "the official defaults, patience 100 included; 1,000 epochs are the README's (the default is "
                    "5,000). Its epoch is a pass over the shorter of P and U, ours one over U",
                ),
                "pubench": Preset(
                    values={
                        "lr": 3e-4,
                        "weight_decay": 1e-4,
                        "batch_size": 256,
                        "epochs": 40,
                        "patience": None,
                    },
                    note="PU-Bench does not run Count Loss; these are the values of its nnPU, except its patience of "
                    "10: official code waits for 100 epochs, and F1 can stand still for the first eleven. The number "
                    "is exact (form = exact, as in the official Count_EV); the official Count is form = distribution",
                ),
                "wang": Preset(
                    values={
                        "rounding": "floor",
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
                    note="Wang et al., Table 4 (optimizer, batch, 20,000 iterations, evaluated every 100) and their "
                    "class Count_Loss (weights 1 and 1, exact count rounded down, gradient norm 10); no augmentation",
                ),
                "quick": Preset(values={"epochs": 5, "patience": None}, note="short, for a first try"),
            },
        )
    ]
