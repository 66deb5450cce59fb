"""PUSB: what it is. The algorithm is in :mod:`pubench_pusb.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="pusb",
            name="PUSB",
            summary="for biased labels: learns the ranking, then decides positive for the top share π of U",
            family="risk minimization",
            reference=Reference(
                authors="Kato, Teshima, Honda",
                title="Learning from Positive and Unlabeled Data with a Selection Bias",
                venue="ICLR",
                year=2019,
                url="https://openreview.net/forum?id=rJzLciCqKm",
            ),
            load="pubench_pusb.method:PUSB",
            needs=frozenset({"prior"}),
            setting="two-sample",
            follows="MasaKat0/PUlearning, folder BiasedPUlearning, neural version: logistic non-negative risk "
            "(gradient ascent), decision above the 1 - π quantile of the scores; the quantile is taken over the "
            "unlabeled training rows, where the official code takes it over the test set; optimizer values and "
            "backbones of PU-Bench; PU-Bench and Wang et al. decide at 0 (threshold = zero), which is not kept, nor "
            "are PU-Bench's output bias of logit(π) at the start and its margin of 1e-4 in early stopping",
            presets={
                "pubench": Preset(
                    values={
                        "lr": 3e-4,
                        "weight_decay": 1e-4,
                        "batch_size": 256,
                        "epochs": 40,
                        "patience": 10,
                    },
                    note="PU-Bench, all data sets; its tables have threshold = zero",
                ),
                "official": Preset(
                    values={
                        "lr": 1e-5,
                        "weight_decay": 5e-3,
                        "batch_size": 1000,
                        "epochs": 100,
                        "patience": None,
                    },
                    per_data={"cifar10": {"batch_size": 224}},
                    note="the official script's defaults",
                ),
                "wang": Preset(
                    values={
                        "correction": "clamp",
                        "batching": "paired",
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
                    note="Wang et al., Table 4: 20,000 iterations, evaluated every 100; correction and batching "
                    "are from their code (wu-dd/PUBench); no augmentation; their table has threshold = zero, and its "
                    "AUC is of hard decisions",
                ),
                "quick": Preset(values={"epochs": 5, "patience": None}, note="short, for a first try"),
            },
        )
    ]
