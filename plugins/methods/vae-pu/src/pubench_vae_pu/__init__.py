"""VAE-PU: what it is. The algorithm is in :mod:`pubench_vae_pu.method`."""

from pubench_core import MethodInfo, Preset, Reference, hookimpl

COMMON = {"optimizer": "adam", "weight_decay": 0.0, "steps_per_epoch": None, "likelihood": "auto"}


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="vae-pu",
            name="VAE-PU",
            summary="a variational autoencoder makes the unlabeled positives that labels are biased against",
            family="distribution matching",
            reference=Reference(
                authors="Na, Kim, Song, Joo, Kim, Moon",
                title="Deep Generative Positive-Unlabeled Learning under Selection Bias",
                venue="CIKM",
                year=2020,
            ),
            load="pubench_vae_pu.method:VAEPU",
            needs=frozenset({"prior"}),
            setting="two-sample",
            follows="byeonghu-na/vae-pu: all terms of the bound, virtual rows, both losses of them with gradients "
            "to the encoder, the risk, the order of the stages as shares of the epochs (400, 500, 600, 700 of "
            "800), full batches of P and U; adapted: log π enters responsibilities once (responsibilities = "
            "per-dimension: as in the code), log variances are cut to [-10, 10], masses come from the split "
            "and the given prior, copies in U of labeled rows are left out, rows of values beyond 0 "
            "and 1, and color images, are generated as they are reconstructed, discriminator and generator "
            "share a draw of virtual rows, batch norm and dropout are active in training (the official code "
            "calls its layers without the flag for it); backbones of PU-Bench, and its networks next to them, "
            "except for the observation code, which there does not read the label. Not kept of PU-Bench's code: "
            "virtual rows without gradients, early stopping before the classifier trains, stage boundaries "
            "that a shorter training never reaches, thresholds from true labels",
            presets={
                "official": Preset(
                    values={
                        **COMMON,
                        "networks": "mlp",
                        "responsibilities": "per-dimension",
                        "lr": 1e-5,
                        "generator_lr": 3e-4,
                        "discriminator_lr": 3e-4,
                        "batch_size": 990,
                        "p_batch_size": None,
                        "pretraining_epochs": 100,
                        "epochs": 800,
                        "patience": None,
                        "class_dim": 100,
                        "observation_dim": 100,
                        "weight_adversarial": 0.1,
                        "weight_discriminator": 0.1,
                        "weight_consistency": 1.0,
                    },
                    per_data={
                        "mnist": {"class_dim": 10, "observation_dim": 2},
                        "cifar10": {"weight_adversarial": 0.3, "weight_discriminator": 0.3},
                        "20news": {"weight_adversarial": 0.01, "weight_discriminator": 0.01},
                    },
                    note="the official code's values under SCAR (MNIST's are those of even against odd; of codes, the "
                    "configuration file's elsewhere). Batches have 1,000 rows where 1 % of the rows are labeled; one "
                    "rate for encoder, decoder and observer. Its classifier has four layers of 300, ours the backbone",
                ),
                "pubench": Preset(
                    values={
                        **COMMON,
                        "networks": "by-shape",
                        "responsibilities": "once",
                        "lr": 2e-4,
                        "generator_lr": 2e-4,
                        "discriminator_lr": 2e-4,
                        "batch_size": 128,
                        "p_batch_size": 64,
                        "pretraining_epochs": 100,
                        "epochs": 300,
                        "patience": 30,
                        "class_dim": None,
                        "observation_dim": None,
                        "weight_adversarial": 0.1,
                        "weight_discriminator": 0.1,
                        "weight_consistency": 3.0,
                    },
                    per_data={
                        **{
                            data: {
                                "epochs": 200,
                                "weight_adversarial": 0.01,
                                "weight_discriminator": 0.01,
                                "weight_consistency": 1.0,
                            }
                            for data in ("20news", "imdb", "connect-4")
                        },
                        "spambase": {
                            "batch_size": 256,
                            "p_batch_size": 128,
                            "epochs": 800,
                            "weight_adversarial": 0.05,
                            "weight_discriminator": 0.05,
                            "weight_consistency": 1.0,
                        },
                        "adni": {
                            "batch_size": 64,
                            "p_batch_size": 32,
                            "epochs": 400,
                            "weight_adversarial": 0.01,
                            "weight_discriminator": 1.0,
                            "weight_consistency": 0.5,
                        },
                    },
                    note="what PU-Bench's released code comes to run (its tables by data set are not reached), for the "
                    "authors' algorithm: networks, rates, batches, epochs, weights; the values next to data sets are "
                    "those of images. Stages end at shares of the epochs, and its patience of 30 counts in the last "
                    "two stages, in each again, for what has not stopped: there, it counts from the first epoch",
                ),
                "quick": Preset(
                    values={
                        "lr": 1e-3,
                        "generator_lr": 1e-3,
                        "discriminator_lr": 1e-3,
                        "networks": "mlp",
                        "pretraining_epochs": 8,
                        "epochs": 16,
                    },
                    note="every stage within sixteen epochs, for a first try: higher rates, and networks that batch "
                    "norm lets learn to reconstruct within a hundred steps",
                ),
            },
        )
    ]
