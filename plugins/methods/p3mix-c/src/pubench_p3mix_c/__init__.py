"""P3Mix-C: what it is. The algorithm is in :mod:`pubench_p3mix_c.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="p3mix-c",
            name="P3Mix-C",
            summary="mixup whose partners are chosen by the current network, with corrected pseudo-negatives",
            family="pseudo-labels and mixup",
            reference=Reference(
                authors="Li, Li, Feng, Ouyang",
                title="Who Is Your Right Mixup Partner in Positive and Unlabeled Learning",
                venue="ICLR",
                year=2022,
            ),
            load="pubench_p3mix_c.method:P3MixC",
            setting="either",
            follows="the paper, read with PU-Bench's source-aligned revision (the official code is not public): input "
            "mixing, 0-based epochs, no early stopping before the heuristic starts; PU-Bench's mix_layer = 3, which "
            "mixes targets and leaves inputs alone on most networks, is refused; U is scored in evaluation mode, where "
            "PU-Bench and Wang et al. score it in training mode; batches go on where the epoch before stopped, while "
            "PU-Bench's loaders start again with every epoch; PU-Bench's output bias of logit(π) at the start and its "
            "margin of 1e-4 in early stopping are not kept",
            presets={
                "pubench": Preset(
                    values={
                        "lr": 1e-3,
                        "weight_decay": 1e-6,
                        "batch_size": 256,
                        "epochs": 40,
                        "steps_per_epoch": 100,
                        "patience": 10,
                        "warm_up": 15,
                        "pool_size": 100,
                        "confidence": 0.85,
                        "mixup_alpha": 0.5,
                        "weight_unlabeled": 0.5,
                        "weight_entropy": 0.05,
                    },
                    note="PU-Bench's revision, all data sets",
                ),
                "wang": Preset(
                    values={
                        "optimizer": "sgd",
                        "lr": 1e-3,
                        "momentum": 0.9,
                        "weight_decay": 0.0,
                        "batch_size": 128,
                        "epochs": 200,
                        "steps_per_epoch": 100,
                        "patience": None,
                        "warm_up": 5,
                        "milestones": (19, 39, 59, 79, 99),
                        "counted_in": "passes",
                        "pool_size": 96,
                        "confidence": 0.8,
                        "mixup_alpha": 1.0,
                        "weight_unlabeled": 1.0,
                        "weight_entropy": 0.1,
                    },
                    per_data={"cifar10": {"batch_size": 64}, "imagenette": {"batch_size": 64}},
                    note="Wang et al., Table 4: 20,000 iterations, evaluated every 100; no augmentation. warm_up and "
                    "milestones come from their code, in passes over U as there. The pool is renewed after 100 steps, "
                    "in their code after a pass",
                ),
                "quick": Preset(values={"epochs": 8, "warm_up": 3, "patience": None}, note="short, for a first try"),
            },
        )
    ]
