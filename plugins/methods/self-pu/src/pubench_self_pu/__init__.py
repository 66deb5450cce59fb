"""Self-PU: what it is. The algorithm is in :mod:`pubench_self_pu.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="self-pu",
            name="Self-PU",
            summary="two students choose clean rows at their own pace, calibrate row weights and follow their averages",
            family="sample selection",
            reference=Reference(
                authors="Chen, Chen, Chen, Yuan, Gong, Chen, Wang",
                title="Self-PU: Self Boosted and Calibrated Positive-Unlabeled Training",
                venue="ICML",
                year=2020,
                url="https://arxiv.org/abs/2006.11280",
            ),
            load="pubench_self_pu.method:SelfPU",
            needs=frozenset({"prior"}),
            setting="two-sample",
            follows="TAMU-VITA/Self-PU: clean rows chosen after an epoch and from scratch, by the teachers once there "
            "are any, their entropy, nnPU on all others with P spread evenly over the stream, weights from a virtual "
            "step, teachers averaged twice per epoch with running statistics of their own, half a cosine. Adapted: the "
            "meta batch is of unlabeled validation rows (of training rows, if there are none), which the official "
            "code takes from the test part, and the best of both students and teachers is chosen by the run's "
            "criterion, there by test accuracy; the distance to the teacher is that of probabilities (the official "
            "softmax over one output makes it 0); the distance to the other student, in evaluation mode, counts in "
            "batches of noisy rows; weights come from the training step's own graph, without a copy of the network; "
            "rows of U before the present one use up the entropy budget for both students; U starts again where it is "
            "smaller than P. PU-Bench's clean rows, which keep the label of U, and its steps without calibration are "
            "not kept",
            presets={
                "pubench": Preset(
                    values={
                        "lr": 1e-3,
                        "weight_decay": 5e-4,
                        "batch_size": 256,
                        "epochs": 40,
                        "patience": None,
                        "schedule": "none",
                        "paced_from": 5,
                        "paced_until": 40,
                        "choose_every": 2,
                        "ramp_from": 5,
                        "ramp_epochs": 30,
                        "clean_share_first": 0.1,
                        "clean_share_second": 0.2,
                        "taught_from": 10,
                        "weight_consistency": 0.3,
                        "consistency_from": 0,
                        "consistency_epochs": 20,
                    },
                    note="budgets, optimizer values and ramps of PU-Bench's paper code, all data sets, with official "
                    "losses, calibration and teachers, to which its later revision returns. Here teachers choose the "
                    "clean rows from epoch 10 on, students before; there teachers always do, which are the initial "
                    "networks until epoch 10. Its teachers are averaged per step, with running statistics",
                ),
                "official": Preset(
                    values={
                        "lr": 5e-4,
                        "weight_decay": 5e-3,
                        "batch_size": 256,
                        "epochs": 200,
                        "patience": None,
                        "schedule": "cosine",
                        "paced_from": 10,
                        "paced_until": 50,
                        "choose_every": 10,
                        "ramp_from": 0,
                        "ramp_epochs": 100,
                        "clean_share_first": 0.4,
                        "clean_share_second": 0.6,
                        "taught_from": 50,
                        "weight_consistency": 0.3,
                        "consistency_from": 30,
                        "consistency_epochs": 400,
                    },
                    note="the official code's defaults; the prior is the one given in all epochs, as there for MNIST",
                ),
                "table": Preset(
                    values={"surrogate": "logistic"},
                    note="the default on a table of your own: far from a prior of 1/2 the sigmoid loss can decide all "
                    "rows alike, in a poor order; the logistic one orders them better "
                    "(benchmarks/results/own-tables.csv)",
                ),
                "quick": Preset(
                    values={
                        "epochs": 10,
                        "patience": None,
                        "paced_from": 2,
                        "paced_until": 10,
                        "choose_every": 1,
                        "ramp_from": 1,
                        "ramp_epochs": 6,
                        "taught_from": 5,
                        "consistency_epochs": 8,
                    },
                    note="every part within ten epochs, for a first try",
                ),
            },
        )
    ]
