"""GLWS: what it is. The algorithm is in :mod:`pubench_glws.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="glws",
            name="GLWS",
            summary="expectation-maximization: U is labeled by its posterior given the number of positives in a batch",
            family="count-based",
            reference=Reference(
                authors="Chen, Wang, Feng, Li, Wang, Xie, Sugiyama, Singh, Raj",
                title="A General Framework for Learning from Weak Supervision",
                venue="ICML",
                year=2024,
                url="https://arxiv.org/abs/2402.01922",
            ),
            load="pubench_glws.method:GLWS",
            needs=frozenset({"prior"}),
            setting="two-sample",
            follows="Hhhhhhao/General-Framework-Weak-Supervision, imp_pos_ulb: E-step, M-step, their weights, "
            "batches of P and of U of one size without incomplete ones; the posterior is exact, where the "
            "released automaton has a wrong term (posterior = released); the number of positives is the "
            "nearest one, where the released code rounds down (rounding = floor); one view without "
            "augmentation, where the released code has two weak ones (augment); one logit in place of two "
            "outputs; optimizer values and backbones of PU-Bench, which has no such row",
            presets={
                "official": Preset(
                    values={
                        "posterior": "released",
                        "rounding": "floor",
                        "optimizer": "adamw",
                        "lr": 1e-3,
                        "final_lr": 1e-6,
                        "weight_decay": 1e-3,
                        "decay_biases": False,
                        "batch_size": 64,
                        "epochs": 50,
                        "steps_per_epoch": 1000,
                        "patience": None,
                    },
                    per_data={
                        "cifar10": {"augment": True},
                        "mnist": {"lr": 5e-4, "weight_decay": 1e-4},
                        "fashion-mnist": {"lr": 5e-4, "weight_decay": 1e-4},
                    },
                    note="the released configurations of CIFAR-10, MNIST and Fashion-MNIST; other data sets have "
                    "CIFAR-10's values. 50,000 steps along a cosine, evaluated every 1,000 here; no decay of biases; "
                    "the released posterior (posterior=exact has the paper's)",
                ),
                "pubench": Preset(
                    values={
                        "lr": 3e-4,
                        "weight_decay": 1e-4,
                        "batch_size": 256,
                        "epochs": 40,
                        "patience": 10,
                    },
                    note="PU-Bench does not run GLWS; these are the values of its nnPU",
                ),
                "wang": Preset(
                    values={
                        "posterior": "released",
                        "rounding": "floor",
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
                    note="Wang et al., Table 4 (optimizer, batch, 20,000 iterations, evaluated every 100) and their "
                    "class GLWS (the released automaton, count rounded down, one view); no augmentation",
                ),
                "quick": Preset(
                    values={"lr": 1e-3, "epochs": 20, "patience": None},
                    note="short, for a first try: the E-step has no signal until P has moved the network",
                ),
            },
        )
    ]
