"""VPU: what it is. The algorithm is in :mod:`pubench_vpu.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="vpu",
            name="VPU",
            summary="variational bound on the posterior up to scale, with mixup of positives; needs no class prior",
            family="risk minimization",
            reference=Reference(
                authors="Chen, Liu, Wang, Zhao, Wu",
                title="A Variational Approach for Learning from Positive and Unlabeled Data",
                venue="NeurIPS",
                year=2020,
                url="https://arxiv.org/abs/1906.00642",
            ),
            load="pubench_vpu.method:VPU",
            setting="two-sample",
            follows="HC-Feynman/vpu: separate streams of P and of the marginal sample, attached mixup target, fixed "
            "weight of the regularizer, decision after division by the largest φ of the training rows, selection by "
            "the variational loss of the validation part (native); one logit in place of two outputs; batches go on "
            "where the epoch before stopped, while the official loaders start again with every epoch; optimizer values "
            "(Adam's betas too) and backbones of PU-Bench, whose random weight of the regularizer, detached target, "
            "threshold of 0.5, output bias of logit(π) at the start and margin of 1e-4 in early stopping are not kept, "
            "nor is Wang et al.'s use of a raw output as a logarithm",
            presets={
                "pubench": Preset(
                    values={
                        "lr": 3e-4,
                        "betas": (0.9, 0.999),
                        "weight_decay": 1e-4,
                        "batch_size": 256,
                        "epochs": 40,
                        "steps_per_epoch": None,
                        "halve_every": None,
                        "patience": 10,
                    },
                    note="PU-Bench, all data sets",
                ),
                "official": Preset(
                    values={
                        "lr": 3e-5,
                        "betas": (0.5, 0.99),
                        "weight_decay": 0.0,
                        "batch_size": 500,
                        "epochs": 50,
                        "steps_per_epoch": 30,
                        "halve_every": 20,
                        "weight_regularizer": 0.03,
                        "patience": None,
                    },
                    per_data={"fashion-mnist": {"lr": 3e-4, "weight_regularizer": 0.3}},
                    note="the official script's defaults, which are those of CIFAR-10, and its command for "
                    "Fashion-MNIST; it selects by the variational loss (selection.criterion native)",
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
                        "halve_every": None,
                        "weight_regularizer": 0.03,
                        "mixup_alpha": 0.3,
                        "patience": None,
                    },
                    per_data={"cifar10": {"batch_size": 64}, "imagenette": {"batch_size": 64}},
                    note="Wang et al., Table 4: 20,000 iterations, evaluated every 100; the regularizer's weight "
                    "and mixup_alpha are from their code (wu-dd/PUBench); no augmentation",
                ),
                "quick": Preset(values={"epochs": 10, "patience": None}, note="short, for a first try"),
            },
        )
    ]
