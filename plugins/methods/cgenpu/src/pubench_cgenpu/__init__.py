"""CGenPU: what it is. The algorithm is in :mod:`pubench_cgenpu.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl

OFFICIAL = {
    "optimizer": "adam",
    "lr": 1e-4,
    "discriminator_lr": 1e-4,
    "generator_lr": 1e-4,
    "betas": (0.5, 0.999),
    "weight_decay": 0.0,
    "batch_size": 128,
    "epochs": 1000,
    "steps_per_epoch": None,
    "patience": None,
    "latent": 8,
    "noise": "uniform",
    "weight_auxiliary": 1.0,
    "reduction": "mean",
    "weight_prior": 0.0,
}


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="cgenpu",
            name="CGenPU",
            summary="a generator of both classes, a discriminator of real rows, a classifier of the generated ones",
            family="distribution matching",
            reference=Reference(
                authors="Papic, Kononenko, Bosnic",
                title="Conditional generative positive and unlabeled learning",
                venue="Expert Systems with Applications",
                year=2023,
            ),
            load="pubench_cgenpu.method:CGenPU",
            setting="either",
            follows="apapich/CGenPU: batches of equal size, the discriminator's, the classifier's and the generator's "
            "step with the modes of each, one-sided divergences, three Adam optimizers, no class prior. Adapted: "
            "the official code has toy networks only; the classifier is the backbone of the run, generator and "
            "discriminator are PU-Bench's, sized from the shape for other images, and a generated row has the range "
            "of the data (a sigmoid for images in [0, 1], nothing for vectors and standardized images) where "
            "PU-Bench has tanh, by which its discriminator can tell rows apart; cross-entropies are of logits; rows "
            "of P are drawn with replacement where there are fewer than a batch takes. Of PU-Bench are not kept: two "
            "sigmoids on vectors, by which every row is positive, generation and both others in training mode, its "
            "initial bias and views of MRI images; its term with the prior, which works against the objective, is "
            "an option that no preset turns on (weight_prior)",
            presets={
                "official": Preset(
                    values=OFFICIAL, note="values of the official code's toy problem, the only one that it has"
                ),
                "pubench": Preset(
                    values={
                        **OFFICIAL,
                        "lr": 5e-5,
                        "generator_lr": 3e-4,
                        "batch_size": 32,
                        "epochs": 200,
                        "patience": 30,
                        "latent": 256,
                        "noise": "normal",
                        "weight_auxiliary": 0.5,
                    },
                    note="values of PU-Bench's paper code, all data sets, for the official objective; without its "
                    "term with the prior (weight_prior is 3 there), which its later revision sets to 0. Its patience "
                    "is of the validation F1",
                ),
                "quick": Preset(
                    values={
                        "lr": 3e-4,
                        "discriminator_lr": 3e-4,
                        "generator_lr": 3e-4,
                        "batch_size": 32,
                        "epochs": 10,
                        "latent": 32,
                    },
                    note="short, for a first try: the highest of PU-Bench's rates for all three",
                ),
            },
        )
    ]
