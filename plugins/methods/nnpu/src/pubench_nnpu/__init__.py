"""nnPU: what it is. The algorithm is in :mod:`pubench_nnpu.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="nnpu",
            name="nnPU",
            summary="non-negative PU risk: the estimated risk on negatives is kept from going below zero",
            family="risk minimization",
            reference=Reference(
                authors="Kiryo, Niu, du Plessis, Sugiyama",
                title="Positive-Unlabeled Learning with Non-Negative Risk Estimator",
                venue="NeurIPS",
                year=2017,
                url="https://arxiv.org/abs/1703.00593",
            ),
            load="pubench_nnpu.method:NNPU",
            needs=frozenset({"prior"}),
            setting="two-sample",
            learns_from_negatives=True,
            follows="kiryor/nnPUlearning: Algorithm 1 (gradient ascent) over joint batches, the prior of U; optimizer "
            "values and backbones of PU-Bench; its inflated prior, its output bias of logit(π) at the start and its "
            "margin of 1e-4 in early stopping are not kept",
            presets={
                "pubench": Preset(
                    values={
                        "lr": 3e-4,
                        "weight_decay": 1e-4,
                        "batch_size": 256,
                        "epochs": 40,
                        "patience": 10,
                    },
                    note="PU-Bench, all data sets; its sigmoid loss can fail "
                    "at priors far from 1/2: every row is decided alike, in a poor order",
                ),
                "official": Preset(
                    values={
                        "lr": 1e-3,
                        "weight_decay": 5e-3,
                        "batch_size": 30_000,
                        "epochs": 100,
                        "patience": None,
                    },
                    per_data={"cifar10": {"lr": 1e-5, "batch_size": 500}},
                    note="the official script's defaults; its sigmoid loss can fail "
                    "at priors far from 1/2: every row is decided alike, in a poor order",
                ),
                "wang": Preset(
                    values={
                        "surrogate": "logistic",
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
                    note="Wang et al., Table 4: 20,000 iterations, evaluated every 100; correction and batching are "
                    "from their code (wu-dd/PUBench); no augmentation",
                ),
                "table": Preset(
                    values={"surrogate": "logistic", "patience": None},
                    note="the default on a table of your own: far from a prior of 1/2 the sigmoid loss can decide all "
                    "rows alike, in a poor order; the logistic one orders them better "
                    "(benchmarks/results/own-tables.csv and own-priors.csv)",
                ),
                "quick": Preset(
                    values={"epochs": 5, "patience": None},
                    note="short, for a first try; the sigmoid loss, as in pubench",
                ),
            },
        )
    ]
