"""Holistic-PU: what it is. The algorithm is in :mod:`pubench_holistic_pu.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl

OFFICIAL = {
    "optimizer": "sgd",
    "lr": 0.01,
    "momentum": 0.9,
    "weight_decay": 5e-4,
    "batch_size": 64,
    "trend_epochs": 15,
    "trend_steps": 512,
    "trend_schedule": 25 / 15,
    "trend_warm_up": 0.0,
    "epochs": 25,
    "steps_per_epoch": 512,
    "patience": None,
    "smoothing": 0.1,
    "teacher_decay": 0.999,
    "ordinary": "constant",
    "growth": 0.8,
    "threshold": 0.9,
}
#: Mirrored digits are other digits, or none.
NOT_MIRRORED = {key: {"flip": False} for key in ("mnist", "usps")}


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="holistic-pu",
            name="Holistic-PU",
            summary="pseudo-labels are where predictions rise over epochs, by a natural break; needs no class prior",
            family="pseudo-labels and mixup",
            reference=Reference(
                authors="Wang, Wan, Geng, Li, Chen",
                title="Beyond Myopia: Learning from Positive and Unlabeled Data through Holistic Predictive Trends",
                venue="NeurIPS",
                year=2023,
                url="https://arxiv.org/abs/2310.04078",
            ),
            load="pubench_holistic_pu.method:HolisticPU",
            setting="either",
            follows="wxr99/HolisticPU: both stages, their losses, trends, breaks, schedule and views of color images; "
            "strong views of U are forwarded in the first stage as well, for batch norm, and have no loss. Adapted: "
            "strong views of P, which have none in the second stage, are not forwarded there; the first stage's "
            "schedule is as long in proportion to its steps as the official one, whatever the second stage has; all of "
            "U is scored, as it is, where the official loader drops the last rows and augments; pseudo-labels go by "
            "row; the network stays in training mode after the first evaluation; strong views of MRI images have "
            "our brightness, contrast and rotation, where the official ones have torchvision's; crops move by an "
            "eighth of the side, of Fashion-MNIST by 3 pixels for 4; the epoch is chosen by the run's criterion, "
            "officially by true labels. PU-Bench's schedule, which ends at 0.04 of the learning rate in each stage, "
            "its epochs that count from 1 and its class index are not kept, nor is Wang et al.'s prediction by an "
            "average that starts in the first stage",
            presets={
                "official": Preset(
                    values=OFFICIAL,
                    per_data={
                        "cifar10": {"lr": 1.5e-3},
                        "fashion-mnist": {"lr": 2e-3, "operations": "gray"},
                        "adni": {
                            "operations": "mri",
                            "lr": 5e-4,
                            "batch_size": 16,
                            "trend_epochs": 10,
                            "trend_steps": 100,
                            "trend_schedule": 2.0,
                            "epochs": 20,
                            "steps_per_epoch": 100,
                        },
                        **NOT_MIRRORED,
                    },
                    note="the official run script, whose values are the defaults; CIFAR-10, Fashion-MNIST and MRI have "
                    "their own. On tables it has no views, no smoothing, plain pseudo-labels, no average, no weight "
                    "decay, 10 and 30 epochs of 500 steps, batches of 50 and lr 1e-3: augment=false, smoothing=0, "
                    "growth=0, teacher_decay=0, weight_decay=0 and these numbers. Its constant rate and its single "
                    "break are no settings here",
                ),
                "pubench": Preset(
                    values={
                        **OFFICIAL,
                        "batch_size": 256,
                        "trend_epochs": 10,
                        "epochs": 100,
                        "steps_per_epoch": None,
                        "patience": 20,
                        "smoothing": 0.05,
                        "ordinary": "three-sigma",
                    },
                    per_data={"fashion-mnist": {"operations": "gray"}, "adni": {"operations": "mri"}, **NOT_MIRRORED},
                    note="PU-Bench's paper code, all data sets: 10 epochs of 512 steps, then 100 passes over U with "
                    "patience 20, with the official interpolation and the official schedule in proportion to each "
                    "stage. Its candidates are the epochs of both stages, here those of the second. With fewer than "
                    "256 labeled rows, batches of its second stage have half their number: 71 rows on Spambase and "
                    "about 5,000 steps, here 256 and 1,500",
                ),
                "wang": Preset(
                    values={
                        **OFFICIAL,
                        "lr": 1e-3,
                        "batch_size": 128,
                        "trend_epochs": None,
                        "trend_total": 2000,
                        "trend_steps": None,
                        "trend_warm_up": 1.0,
                        "epochs": 200,
                        "steps_per_epoch": 100,
                    },
                    per_data={"cifar10": {"batch_size": 64}, "imagenette": {"batch_size": 64}, **NOT_MIRRORED},
                    note="Wang et al., Table 4: 2,000 iterations of warm-up, whose trends they follow pass by pass, "
                    "then 20,000, evaluated every 100; batches of 128, of 64 for images in color. Smoothing, "
                    "threshold, filter and the rise of the rate over the first stage are from their code, which "
                    "interpolates per step, keeps the initial weights for the second stage and has candidates in both "
                    "stages",
                ),
                "quick": Preset(
                    values={"trend_epochs": 5, "trend_steps": None, "epochs": 10, "steps_per_epoch": None},
                    per_data=NOT_MIRRORED,
                    note="short, for a first try",
                ),
            },
        )
    ]
