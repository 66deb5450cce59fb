"""nnPU-GA: what it is. The algorithm is in :mod:`pubench_nnpu_ga.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl

#: Wang et al., Table 4. Theirs is the only published code of this rule, so that it is also the official one.
WANG = {
    "surrogate": "logistic",
    "batching": "paired",
    "optimizer": "sgd",
    "lr": 1e-3,
    "momentum": 0.9,
    "weight_decay": 0.0,
    "batch_size": 128,
    "epochs": 200,
    "steps_per_epoch": 100,
    "patience": None,
}
WANG_PER_DATA = {"cifar10": {"batch_size": 64}, "imagenette": {"batch_size": 64}}


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="nnpu-ga",
            name="nnPU-GA",
            summary="unbiased PU risk whose whole gradient changes sign where the risk of a batch is negative",
            family="risk minimization",
            reference=Reference(
                authors="Kiryo, Niu, du Plessis, Sugiyama",
                title="Positive-Unlabeled Learning with Non-Negative Risk Estimator",
                venue="NeurIPS",
                year=2017,
                url="https://arxiv.org/abs/1703.00593",
            ),
            load="pubench_nnpu_ga.method:NNPUGA",
            needs=frozenset({"prior"}),
            setting="two-sample",
            follows="wu-dd/PUBench (its nnPU_GA; Wang et al., ICLR 2026, who credit Kiryo et al.): the sign rule, the "
            "prior of U; loss, batches, optimizer values and backbones are those of nnpu here unless a preset says "
            "otherwise, so that the two differ in their rule only; the gradient ascent of Kiryo et al. is method nnpu; "
            "PU-Bench's output bias of logit(π) at the start and its margin of 1e-4 in early stopping are not kept",
            presets={
                "official": Preset(
                    values=WANG,
                    per_data=WANG_PER_DATA,
                    note="as wang: the rule has no other published code",
                ),
                "pubench": Preset(
                    values={
                        "lr": 3e-4,
                        "weight_decay": 1e-4,
                        "batch_size": 256,
                        "epochs": 40,
                        "patience": 10,
                    },
                    note="PU-Bench's values for nnPU, all data sets; its tables have no row with this rule; its "
                    "sigmoid loss can fail at priors far from 1/2: every row is decided alike, in a poor order",
                ),
                "wang": Preset(
                    values=WANG,
                    per_data=WANG_PER_DATA,
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
