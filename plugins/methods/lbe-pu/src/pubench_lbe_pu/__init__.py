"""LBE-PU: what it is. The algorithm is in :mod:`pubench_lbe_pu.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl

OFFICIAL = {
    "lr": 5e-4,
    "weight_decay": 1e-4,
    "batch_size": 512,
    "pre_training": 100,
    "pre_training_batch_size": None,
    "epochs": 20,
    "steps_per_epoch": 20,
    "patience": None,
    "subset": 0.1,
    "subset_of": "all",
    "keep": 0.8,
    "class_balance": False,
}


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="lbe-pu",
            name="LBE-PU",
            summary="a classifier and the propensity to be labeled, estimated together by expectation-maximization",
            family="selection bias",
            reference=Reference(
                authors="Gong, Wang, Liu, Han, You, Yang, Tao",
                title="Instance-Dependent Positive and Unlabeled Learning With Labeling Bias Estimation",
                venue="TPAMI",
                year=2022,
            ),
            load="pubench_lbe_pu.method:LBEPU",
            setting="one-sample",
            follows="the authors' formulas and procedure as PU-Bench's source-aligned revision states them (the "
            "official code is not public); backbones, learning rate and EM epochs of PU-Bench; under preset pubench "
            "too, optimizers are new after the pre-training and classes are balanced over the rows of a step, where "
            "PU-Bench goes on with its optimizers and balances every 512 rows; its output bias of logit(π) at the "
            "start and its margin of 1e-4 in early stopping are not kept, nor is Wang et al.'s propensity loss, which "
            "leaves the posterior out",
            presets={
                "official": Preset(
                    values=OFFICIAL,
                    note="the authors' procedure, which is the default; the learning rate is PU-Bench's",
                ),
                "pubench": Preset(
                    values={
                        **OFFICIAL,
                        "pre_training": 20,
                        "pre_training_batch_size": 64,
                        "patience": 5,
                        "subset_of": "unlabeled",
                        "class_balance": True,
                    },
                    note="PU-Bench's paper code, all data sets: classes balanced, every labeled row in every step",
                ),
                "wang": Preset(
                    values={
                        **OFFICIAL,
                        "optimizer": "sgd",
                        "lr": 1e-3,
                        "momentum": 0.9,
                        "weight_decay": 0.0,
                        "pre_training": 44,
                        "pre_training_batch_size": 256,
                        "epochs": 200,
                        "steps_per_epoch": 100,
                        "subset": 0.0219,
                        "keep": 1.0,
                    },
                    per_data={
                        "cifar10": {"subset": 0.0071, "pre_training": 14, "pre_training_batch_size": 128},
                        "imagenette": {"subset": 0.0237, "pre_training": 47, "pre_training_batch_size": 128},
                        "usps": {"subset": 0.0711, "pre_training": 133},
                    },
                    # 2,000 iterations are 14, 47, 133 and 44 passes over the 18,000, 5,400, 3,600 and 11,700 rows.
                    note="Wang et al., Table 4: 2,000 iterations of warm-up, then 20,000 of as many rows as theirs, "
                    "evaluated every 100; keep and the size of the subset are from their code (wu-dd/PUBench), where "
                    "the copies of the E-step are renewed after a pass, here after 100 steps; losses, rows at random "
                    "and pre-trained propensity are the paper's; no augmentation",
                ),
                "quick": Preset(
                    values={
                        "pre_training": 10,
                        "pre_training_batch_size": 64,
                        "epochs": 5,
                        "subset_of": "unlabeled",
                        "class_balance": True,
                    },
                    note="for a first try: PU-Bench's choices, which need fewer passes",
                ),
            },
        )
    ]
