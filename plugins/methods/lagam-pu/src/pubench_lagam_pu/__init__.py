"""LaGAM: what it is. The algorithm is in :mod:`pubench_lagam_pu.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl

#: Mirrored digits are other digits, or none.
NOT_MIRRORED = {key: {"flip": False} for key in ("mnist", "usps")}


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="lagam-pu",
            name="LaGAM",
            summary="soft labels follow a meta step on the head; views are contrasted within latent groups",
            family="pseudo-labels and mixup",
            reference=Reference(
                authors="Long, Wang, Jiang, Feng, Yao, Chen, Zhao",
                title="Positive-Unlabeled Learning by Latent Group-Aware Meta Disambiguation",
                venue="CVPR",
                year=2024,
            ),
            load="pubench_lagam_pu.method:LaGAM",
            setting="either",
            follows="llong-cs/LaGAM: labels accumulate, the virtual step moves the weight of the last layer, a warm-up "
            "with contrast of rows alone, clusters renewed every epoch, groups cut by the logit .5. Adapted: the "
            "support set, officially 500 rows with true labels (oracle_support, an oracle: held_out of the true "
            "positives and of the negatives), is a fifth of the labeled positives, as officially, and a twentieth of "
            "the other rows; the outer loss is the class-balanced one with the sigmoid loss, whose gradient from P and "
            "U has the direction of that from true labels; one pass over weak, strong and mixed views, which the "
            "virtual step reads as well; incomplete batches are kept; batches without labeled positives are left "
            "out of the warm-up; k-means starts five times at random rows; "
            "lengths are shares of the epochs. The head reads the backbone's features, of text and tables too. "
            "PU-Bench's labels that never accumulate, two or three moved layers and smaller mixing coefficients are "
            "not kept; its published cells come from true labels",
            presets={
                "pubench": Preset(
                    values={
                        "optimizer": "adam",
                        "lr": 1e-3,
                        "weight_decay": 1e-4,
                        "batch_size": 64,
                        "epochs": 50,
                        "patience": 25,
                        "schedule": "none",
                        "warm_up": 0.3,
                        "clusters": 50,
                    },
                    per_data=NOT_MIRRORED,
                    note="PU-Bench's paper code, all data sets: Adam (which it builds where it is configured as sgd), "
                    "15 epochs of warm-up. Its 50 epochs never come to neighbors, which are counted there in 50 "
                    "epochs of 400; here they come after the official share of the epochs. Its patience counts "
                    "validation F1 by true labels",
                ),
                "official": Preset(
                    values={
                        "optimizer": "sgd",
                        "lr": 1e-3,
                        "momentum": 0.9,
                        "weight_decay": 1e-4,
                        "batch_size": 64,
                        "epochs": 400,
                        "patience": None,
                        "schedule": "steps",
                        "warm_up": 0.05,
                        "clusters": 100,
                    },
                    per_data={"cifar10": {"clusters": 5}, **NOT_MIRRORED},
                    note="the official code's defaults, and its README's clusters of CIFAR-10",
                ),
                "quick": Preset(
                    values={"epochs": 10, "patience": None, "warm_up": 0.4, "clusters": 10},
                    per_data=NOT_MIRRORED,
                    note="for a first try",
                ),
            },
        )
    ]
