"""PULDA: what it is. The algorithm is in :mod:`pubench_pulda.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl

OFFICIAL = {
    "lr": 1e-3,
    "weight_decay": 1e-4,
    "warm_up_lr": 1e-4,
    "warm_up_weight_decay": 5e-4,
    "warm_up_loss": "alignment",
    "p_batch_size": 16,
    "batch_size": 128,
    "epochs": 120,
    "warm_up": 60,
    "patience": None,
    "sharpness": 3.5,
    "smoothing": 0.85,
    "two_way": True,
    "margin": 0.6,
    "margin_smoothing": 0.5,
    "clip": 10.0,
    "mixup_alpha": 11.0,
    "weight_mixup": 4.2,
}


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="pulda",
            name="PULDA",
            summary="running means of the predictions on U are aligned with the prior, and the classes separated",
            family="label distribution",
            reference=Reference(
                authors="Jiang, Xu, Zhao, Yang, Wen, Cao, Huang",
                title="Positive-Unlabeled Learning with Label Distribution Alignment",
                venue="TPAMI",
                year=2023,
            ),
            load="pubench_pulda.method:PULDA",
            needs=frozenset({"prior"}),
            setting="two-sample",
            follows="jiangyangby/PULDA at 7b3dcad: both stages, losses with running means, schedules, pseudo-label "
            "store, batches of 16 P and 128 U; its validation pass, which updated the running means with test rows, is "
            "not kept; backbones are PU-Bench's, no epoch of the warm-up can be chosen, and P drops an incomplete "
            "batch at a reshuffle; U drops its incomplete last batch, which PU-Bench keeps, and mixed rows pass before "
            "clean ones, both as in that code (PU-Bench: clean ones first); PU-Bench's output bias of logit(π) at the "
            "start and its margin of 1e-4 in early stopping are not kept",
            presets={
                "official": Preset(values=OFFICIAL, note="the official script's values, which are the defaults"),
                "pubench": Preset(
                    values={**OFFICIAL, "warm_up_loss": "bce", "patience": 20},
                    note="PU-Bench's paper code, all data sets: its warm-up takes U as negative",
                ),
                "quick": Preset(
                    values={"epochs": 8, "warm_up": 4, "steps_per_epoch": 100, "warm_up_lr": 1e-3},
                    note="for a first try: both stages, short and at one rate",
                ),
            },
        )
    ]
