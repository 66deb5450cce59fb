"""Robust-PU: what it is. The algorithm is in :mod:`pubench_robust_pu.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="robust-pu",
            name="Robust-PU",
            summary="P against U with self-paced weights: rows that contradict the network count little, later more",
            family="sample selection",
            reference=Reference(
                authors="Zhu, Wang, Zhao, Du, Zhang, Dong, Qiao, Lin, Rajmohan, Zhang",
                title="Robust Positive-Unlabeled Learning via Noise Negative Sample Self-correction",
                venue="KDD",
                year=2023,
                url="https://arxiv.org/abs/2308.00279",
            ),
            load="pubench_robust_pu.method:RobustPU",
            needs=frozenset({"prior"}),
            setting="two-sample",
            follows="woriazzc/Robust-PU: nnPU pre-training, hardness, Welsch weights of all rows in evaluation mode, "
            "pacing, a new optimizer per episode, the mean over the batch; an epoch is an episode. An epoch of the "
            "pre-training is a candidate only in the presets of the two benchmarks, whose code has it so. Adapted: the "
            "state of the pre-training is chosen by the nnPU risk of the validation part (the last, where that has no "
            "labeled positive) and the episode by the run's criterion, both of which the official code chooses by true "
            "labels; convex pacing stays at its end, where the official sine falls again; the momentum of weights goes "
            "by row, not by place in a shuffled loader; restarts and cosine schedules (off by default there) are left "
            "out; budgets, optimizer values and backbones of PU-Bench, whose linear weights, division by the weight "
            "sum and other pacing are not kept, nor is Wang et al.'s hardness of U, whose sign is the opposite",
            presets={
                "pubench": Preset(
                    values={
                        "pre_training": 20,
                        "pre_training_lr": 1e-4,
                        "pre_training_weight_decay": 1e-4,
                        "pre_training_batch_size": 256,
                        "pre_training_selectable": True,
                        "epochs": 5,
                        "inner_epochs": 5,
                        "lr": 1e-2,
                        "weight_decay": 0.0,
                        "batch_size": 256,
                        "patience": None,
                        "pacing": "linear",
                        "threshold_positive": 0.1,
                        "threshold_unlabeled": 0.11,
                        "threshold_end": 1.0,
                        "growing_steps": 10,
                        "temperature_positive": 1.0,
                        "temperature_unlabeled": 1.5,
                    },
                    note="PU-Bench's paper code, all data sets, with the official weights and mean. Thresholds end at "
                    ".46 and .466, because growing_steps is 10 and there are 5 episodes. Its candidates are the 20 "
                    "epochs of the pre-training and each of the 25 passes; here they are those 20 and the 5 episodes. "
                    "So the result may be plain nnPU: its published means of the two are equal on 4 of 8 data sets. "
                    "pre_training_selectable=false chooses an episode, as the official code does. Its patience of 20 "
                    "checks by true labels is not kept",
                ),
                "official": Preset(
                    values={
                        "pre_training": 400,
                        "pre_training_lr": 1e-3,
                        "pre_training_weight_decay": 0.0,
                        "pre_training_batch_size": 64,
                        "epochs": 100,
                        "inner_epochs": 1,
                        "lr": 1e-4,
                        "weight_decay": 0.0,
                        "batch_size": 64,
                        "patience": 5,
                        "pacing": "linear",
                        "threshold_positive": 0.1,
                        "threshold_unlabeled": 0.1,
                        "threshold_end": 2.0,
                        "growing_steps": 10,
                        "temperature_positive": 1.0,
                        "temperature_unlabeled": 1.0,
                    },
                    per_data={
                        "mnist": {
                            "pre_training": 100,
                            "pre_training_weight_decay": 1e-4,
                            "pre_training_batch_size": 128,
                            "inner_epochs": 20,
                            "lr": 1e-2,
                            "threshold_unlabeled": 0.11,
                            "threshold_end": 1.0,
                            "growing_steps": 5,
                            "temperature_unlabeled": 1.3,
                        }
                    },
                    note="the official parser's defaults, and the README's command for MNIST; patience is in episodes",
                ),
                "wang": Preset(
                    values={
                        "optimizer": "sgd",
                        "momentum": 0.9,
                        "pre_training": 20,
                        "pre_training_lr": 1e-3,
                        "pre_training_weight_decay": 0.0,
                        "pre_training_batch_size": 128,
                        "pre_training_selectable": True,
                        "surrogate": "logistic",
                        "correction": "clamp",
                        "batching": "paired",
                        "epochs": 200,
                        "inner_epochs": 1,
                        "steps_per_epoch": 100,
                        "lr": 1e-3,
                        "weight_decay": 0.0,
                        "batch_size": 128,
                        "patience": None,
                        "pacing": "linear",
                        "threshold_positive": 0.1,
                        "threshold_unlabeled": 0.1,
                        "threshold_end": 2.0,
                        "growing_steps": 32,
                        "temperature_positive": 1.0,
                        "temperature_unlabeled": 1.0,
                    },
                    # A pass over U (.7 x .9 of the rows) takes 196, 59, 19, 63 steps; 10 x 5 of them, in hundreds:
                    per_data={
                        "cifar10": {"batch_size": 64, "pre_training_batch_size": 64, "growing_steps": 98},
                        "imagenette": {"batch_size": 64, "pre_training_batch_size": 64, "growing_steps": 30},
                        "usps": {"growing_steps": 10},
                        "letter": {"growing_steps": 32},
                    },
                    note="Wang et al., Table 4: 2,000 iterations of warm-up, then 20,000, evaluated every 100; lr, "
                    "batch size, linear pacing from .1 to 2, temperature 1, 10 growing steps. Pairs of batches and the "
                    "loss of the pre-training are those of their code, and all its evaluations are candidates. Their "
                    "code renews the weights every 5 passes over U, so thresholds grow for 50 passes; in our episodes "
                    "of 100 steps that holds for r = .3 and their four data sets (any other has Letter's). Not kept: "
                    "10 passes of pre-training within the 20,000 iterations, one optimizer for all of them, the sign "
                    "of the hardness of U, hardness by one of two logits",
                ),
                "table": Preset(
                    values={
                        "pre_training": 40,
                        "pre_training_lr": 3e-4,
                        "pre_training_selectable": True,
                        "surrogate": "logistic",
                        "patience": None,
                    },
                    note="the default on a table of your own: nnPU as in its preset table, whose epochs can be chosen "
                    "too. If few rows are labeled, the episodes decide every row negative, in a poor order "
                    "(benchmarks/results/own-tables.csv)",
                ),
                "quick": Preset(
                    values={
                        "pre_training": 10,
                        "pre_training_lr": 1e-3,
                        "epochs": 3,
                        "lr": 1e-3,
                        "growing_steps": 2,
                        "patience": None,
                    },
                    note="for a first try: few rows, so a larger learning rate before and a smaller one after",
                ),
            },
        )
    ]
