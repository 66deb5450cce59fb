"""P3Mix-E: what it is. The algorithm is in :mod:`pubench_p3mix_e.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="p3mix-e",
            name="P3Mix-E",
            summary="mixup whose partners are chosen by the current network, held to an average of earlier networks",
            family="pseudo-labels and mixup",
            reference=Reference(
                authors="Li, Li, Feng, Ouyang",
                title="Who Is Your Right Mixup Partner in Positive and Unlabeled Learning",
                venue="ICLR",
                year=2022,
            ),
            load="pubench_p3mix_e.method:P3MixE",
            setting="either",
            follows="the paper, read with PU-Bench's source-aligned revision (the official code is not public): input "
            "mixing, 0-based epochs, so that the teacher is the student after the first epoch; its parameters alone "
            "are averaged, and it stays in training mode, where batch norm reads the batch and no running statistic; "
            "no early stopping before the heuristic starts; PU-Bench's mix_layer = 3, which mixes targets and leaves "
            "inputs alone on most networks, is refused; U is scored in evaluation mode, where PU-Bench and Wang et al. "
            "score it in training mode; batches go on where the epoch before stopped, while PU-Bench's loaders start "
            "again with every epoch; PU-Bench's output bias of logit(π) at the start and its margin of 1e-4 in early "
            "stopping are not kept; the teacher is updated and the pool chosen when an epoch ends, where Wang et al. "
            "do both before its first step, the pool in training mode",
            presets={
                "pubench": Preset(
                    values={
                        "lr": 1e-3,
                        "weight_decay": 1e-6,
                        "batch_size": 256,
                        "epochs": 40,
                        "steps_per_epoch": 100,
                        "patience": 10,
                        "warm_up": 5,
                        "pool_size": 100,
                        "confidence": 0.85,
                        "mixup_alpha": 0.5,
                        "weight_unlabeled": 1.0,
                        "weight_entropy": 0.01,
                        "weight_early": 0.5,
                        "teacher_decay": 0.997,
                    },
                    note="PU-Bench's revision, all data sets; its paper code has the same values except for mix_layer",
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
                        "confidence": 0.85,
                        "mixup_alpha": 1.0,
                        "weight_unlabeled": 1.0,
                        "weight_entropy": 0.5,
                        "weight_early": 5.0,
                        "teacher_decay": 0.997,
                    },
                    # .997 per pass over U (.7 x .9 of the rows), of 59 and 19 steps, in hundreds of steps:
                    per_data={
                        "cifar10": {"batch_size": 64},
                        "imagenette": {"batch_size": 64, "teacher_decay": 0.9949},
                        "usps": {"teacher_decay": 0.9843},
                    },
                    note="Wang et al., Table 4: 20,000 iterations, evaluated every 100; lr, batch size, threshold, "
                    "pool, weights; no augmentation. mixup_alpha, warm_up, milestones and the teacher come from their "
                    "code; warm_up and milestones are in passes over U as there. The teacher is there an even average "
                    "over passes and, from pass 333, one with decay .997 per pass, which USPS comes to early, "
                    "ImageNette at the end and the others never; the decay here is that of 100 steps, and holds for "
                    "r = .3 and the batch sizes of the preset. Teacher and pool are renewed every 100 steps, in their "
                    "code every pass",
                ),
                "quick": Preset(values={"epochs": 8, "warm_up": 3, "patience": None}, note="short, for a first try"),
            },
        )
    ]
