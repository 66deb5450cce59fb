"""PAN: what it is. The algorithm is in :mod:`pubench_pan.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl

OFFICIAL = {
    "optimizer": "adam",
    "lr": 1e-4,
    "betas": (0.5, 0.999),
    "weight_decay": 1e-3,
    "batch_size": 500,
    "unlabeled_batch": "proportional",
    "epochs": 200,
    "steps_per_epoch": None,
    "patience": None,
    "balance": 1e-4,
    "epsilon": 0.01,
    "update_order": "joint",
}


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="pan",
            name="PAN",
            summary="a classifier follows a discriminator of P and unlikely positives of U; needs no class prior",
            family="distribution matching",
            reference=Reference(
                authors="Hu, Le, Liu, Ji, Ma, Zhao, Yan",
                title="Predictive Adversarial Learning from Positive and Unlabeled Data",
                venue="AAAI",
                year=2021,
            ),
            load="pubench_pan.method:PAN",
            setting="either",
            follows="morning-dews/PAN: the value as a sum over the batch, joint batches in the proportion of P and U, "
            "both gradients from one forward pass (its script steps in between, which torch refuses today), Adam with "
            "its betas; batches of one size in place of counters, and they go on where the epoch before stopped; an "
            "average of 1 is cut in the logarithm; backbones of PU-Bench; its choice of the epoch by test score is not "
            "kept. What PU-Bench runs under this name is another algorithm: a discriminator of U against what the "
            "classifier calls positive, which never sees P, and a classifier that learns P against U weighted by it; "
            "only its optimizer values are a preset. Wang et al. take R's gradient after D's step: update_order",
            presets={
                "official": Preset(
                    values=OFFICIAL,
                    per_data={"mnist": {"batch_size": 3000}, "20news": {"batch_size": 300}},
                    note="the official script's values, which are the defaults (batches of CIFAR-10, MNIST and 20News)",
                ),
                "pubench": Preset(
                    values={
                        **OFFICIAL,
                        "lr": 3e-4,
                        "betas": (0.9, 0.999),
                        "weight_decay": 0.0,
                        "batch_size": 128,
                        "unlabeled_batch": "equal",
                        "epochs": 120,
                        "patience": 25,
                    },
                    note="PU-Bench's optimizer values, all data sets, for the authors' algorithm: 64 rows of P and 64 "
                    "of U. Its 120 epochs and patience of 25 end with the shorter loader; here they are passes over U",
                ),
                "wang": Preset(
                    values={
                        **OFFICIAL,
                        "optimizer": "sgd",
                        "lr": 1e-3,
                        "momentum": 0.9,
                        "weight_decay": 0.0,
                        "batch_size": 256,
                        "unlabeled_batch": "equal",
                        "epochs": 200,
                        "steps_per_epoch": 100,
                        "update_order": "sequential",
                    },
                    per_data={"cifar10": {"batch_size": 128}, "imagenette": {"batch_size": 128}},
                    note="Wang et al., Table 4: learning rate, momentum, balance, 128 rows of P and 128 of U (images "
                    "64 and 64), 20,000 iterations of both networks, evaluated every 100: 200 epochs of 100 steps; "
                    "no weight decay, 0.01 in logarithms and the order of the steps are from their code "
                    "(core/algorithms.py, PAN); no augmentation",
                ),
                "quick": Preset(
                    values={"lr": 1e-3, "batch_size": 128, "epochs": 10}, note="short, for a first try: a higher rate"
                ),
            },
        )
    ]
