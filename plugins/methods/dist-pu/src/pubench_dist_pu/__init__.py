"""Dist-PU: what it is. The algorithm is in :mod:`pubench_dist_pu.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl

OFFICIAL = {
    "lr": 5e-5,
    "weight_decay": 1e-3,
    "warm_up_lr": 5e-4,
    "warm_up_weight_decay": 5e-3,
    "schedule": "cosine",
    "batch_size": 256,
    "epochs": 120,
    "warm_up": 60,
    "patience": None,
    "bins": 1,
    "clip": 10.0,
    "mixup_alpha": 6.0,
    "weight_warm_up_entropy": 0.002,
    "weight_entropy": 0.004,
    "weight_mixed_entropy": 0.04,
    "weight_mixup": 5.0,
}


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="dist-pu",
            name="Dist-PU",
            summary="the mean prediction on U is aligned with the prior; entropy and mixup keep it from being trivial",
            family="label distribution",
            reference=Reference(
                authors="Zhao, Xu, Jiang, Wen, Huang",
                title="Dist-PU: Positive-Unlabeled Learning from a Label Distribution Perspective",
                venue="CVPR",
                year=2022,
                url="https://arxiv.org/abs/2212.02801",
            ),
            load="pubench_dist_pu.method:DistPU",
            needs=frozenset({"prior"}),
            setting="two-sample",
            follows="Ray-rui/Dist-PU-Positive-Unlabeled-Learning-from-a-Label-Distribution-Perspective at cb74be1: "
            "both stages, losses, schedules, pseudo-label store, the prior of U; backbones are PU-Bench's, and no "
            "epoch of the warm-up can be chosen; mixed rows pass before clean ones, which batch norm's statistics "
            "depend on, as in that code (PU-Bench: clean ones first); PU-Bench's output bias of logit(π) at the start "
            "and its margin of 1e-4 in early stopping are not kept, nor is Wang et al.'s matching of the negative "
            "share to the prior",
            presets={
                "official": Preset(values=OFFICIAL, note="the official script's values, which are the defaults"),
                "pubench": Preset(
                    values={
                        **OFFICIAL,
                        "weight_decay": 5e-4,
                        "warm_up_lr": 3e-4,
                        "warm_up_weight_decay": 5e-4,
                        "schedule": "none",
                        "epochs": 40,
                        "warm_up": 20,
                        "patience": 10,
                        "clip": None,
                        "mixup_alpha": 1.0,
                        "weight_warm_up_entropy": 0.0,
                        "weight_entropy": 0.0,
                    },
                    note="PU-Bench's paper code, all data sets, which leaves out two entropies, clipping and schedules",
                ),
                "wang": Preset(
                    values={
                        **OFFICIAL,
                        "optimizer": "sgd",
                        "lr": 1e-3,
                        "momentum": 0.9,
                        "weight_decay": 0.0,
                        "warm_up_lr": None,
                        "warm_up_weight_decay": 0.0,
                        "schedule": "none",
                        "batching": "paired",
                        "batch_size": 128,
                        "epochs": 200,
                        "warm_up": 7,
                        "counted_in": "passes",
                        "steps_per_epoch": 100,
                        "clip": None,
                        "weight_warm_up_entropy": 0.0,
                    },
                    per_data={"cifar10": {"batch_size": 64}, "imagenette": {"batch_size": 64}},
                    note="Wang et al., Table 4: 20,000 iterations, evaluated every 100, of which 7 passes over U are "
                    "warm-up. Bins, mixup, all weights, no clip and no schedule are from their code (wu-dd/PUBench); "
                    "the weight of the entropy grows over our epochs of 100 steps; no augmentation",
                ),
                "quick": Preset(
                    values={"epochs": 8, "warm_up": 4, "steps_per_epoch": 100, "lr": 5e-4},
                    note="for a first try: both stages, short and at one rate",
                ),
            },
        )
    ]
