"""CGenPU: conditional generative positive and unlabeled learning.

Paper: Papic, Kononenko, Bosnic, Expert Systems with Applications 224, 2023. Official code: apapich/CGenPU.
A generator makes rows of both classes from noise and the code of a class. A discriminator tells rows of P and U from
generated ones. The classifier is to call P positive, generated positives as P, and generated negatives the opposite of
generated positives; it sees no row of U: what it knows of negatives comes from U by way of discriminator and generator.
No class prior is needed. The classifier is what is scored.
Follows the official code: batches of as many rows of P and U as are generated of each class, because terms pair rows by
position; a step of the discriminator and one of the classifier on the same generated rows, which the generator in
inference mode made; then a step of the generator in training mode on new noise, with both others in inference mode.
Every batch passes alone: batch norm sees rows of one kind. Divergences lack the part of the other class, and may be
below 0. Differs in cross-entropies, which are of logits and not clipped; in rows of P, which are drawn with replacement
where there are fewer than a batch takes; in batches no larger than U; and in networks, which are PU-Bench's, with
generated rows in the range of the data: official code has a toy only. Probabilities are of one sigmoid: PU-Bench's
networks for vectors have two. Its divergence of the prior from generated negatives is off (``weight_prior``): it works
against the last term. A probability outside the clipped range has no gradient: generated rows that are all negative,
and a classifier that is certain of everything, are stationary points.
"""

from __future__ import annotations

from typing import Annotated, Literal

import pydantic
import torch
from torch import Tensor
from torch.nn import functional as F

from pubench.method import Field, LogUniform, Method, NetworkBuilder, PowerOfTwo, PUData, Run, TrainingConfig
from pubench_formulas.losses import logistic_loss

from .networks import new_discriminator, new_generator

#: Probabilities are clipped to [SMALLEST, 1] before a logarithm.
SMALLEST = 1e-7
Reduction = Literal["mean", "sum"]
#: A share of the past in a running mean of Adam.
Decay = Annotated[float, pydantic.Field(ge=0, lt=1)]


class Config(TrainingConfig):
    lr: float = Field(1e-4, gt=0, description="learning rate of the classifier", search=LogUniform(10**-4.5, 10**-2.5))
    discriminator_lr: float = Field(1e-4, gt=0, description="learning rate of the discriminator")
    generator_lr: float = Field(1e-4, gt=0, description="learning rate of the generator")
    betas: tuple[Decay, Decay] = Field(
        (0.5, 0.999),
        description="decay rates of Adam's running means, of gradients and of their squares; not used by sgd",
        accepts="two numbers, 0 or more and below 1",
    )
    batch_size: int = Field(
        128,
        ge=2,
        description="rows of P, of U and of each generated class per batch; U, if smaller",
        search=PowerOfTwo(5, 8),
    )
    epochs: int = Field(200, ge=1, description="passes over U, each without its incomplete batch")
    patience: int | None = Field(
        None, ge=1, description="epochs without improvement after which a criterion stops; none: never"
    )
    latent: int = Field(100, ge=1, description="numbers of noise per generated row")
    noise: Literal["uniform", "normal"] = Field("uniform", description="law of the noise: on [-1, 1), or standard")
    weight_auxiliary: float = Field(
        1.0, ge=0, description="weight of the divergences in both losses that have them, that of the prior included"
    )
    reduction: Reduction = Field("mean", description="divergences of a batch as mean or sum over its rows")
    weight_prior: float = Field(
        0.0, ge=0, description="weight of PU-Bench's divergence of the prior from the mean of generated negatives"
    )


def divergence(p: Tensor, q: Tensor, reduction: Reduction = "mean") -> Tensor:
    """Mean or sum of p log(p / q) of (B,) probabilities, row by row: a scalar, without the part of the other class.

    Both are clipped to [1e-7, 1], with no gradient outside. It is below 0 where q exceeds p.
    """
    p, q = p.clamp(SMALLEST, 1), q.clamp(SMALLEST, 1)
    terms = p * (p / q).log()
    return terms.mean() if reduction == "mean" else terms.sum()


def agreement(a_p: Tensor, a_gp: Tensor, a_gn: Tensor, reduction: Reduction = "mean") -> Tensor:
    """KL(A(P), A(g_p)) + KL(A(g_p), 1 - A(g_n)), of both losses: a scalar.

    Of the classifier's (B,) probabilities of P, of generated positives and of generated negatives.
    """
    return divergence(a_p, a_gp, reduction) + divergence(a_gp, 1 - a_gn, reduction)


def classifier_loss(a_p: Tensor, a_gp: Tensor, a_gn: Tensor, reduction: Reduction = "mean") -> Tensor:
    """KL(1, A(P)) + :func:`agreement`, of (B,) probabilities: a scalar; the gradient passes through both arguments."""
    return divergence(torch.ones_like(a_p), a_p, reduction) + agreement(a_p, a_gp, a_gn, reduction)


def discriminator_loss(z_p: Tensor, z_u: Tensor, z_gp: Tensor, z_gn: Tensor) -> Tensor:
    """Half of four mean cross-entropies, of the discriminator's (B,) logits: P and U are real. A scalar."""
    real = logistic_loss(z_p).mean() + logistic_loss(z_u).mean()
    return (real + logistic_loss(-z_gp).mean() + logistic_loss(-z_gn).mean()) / 2


def adversarial_loss(z_gp: Tensor, z_gn: Tensor) -> Tensor:
    """Mean cross-entropies of generated rows as real ones, of the discriminator's (B,) logits: a scalar."""
    return logistic_loss(z_gp).mean() + logistic_loss(z_gn).mean()


def prior_divergence(prior: float, a_gn: Tensor) -> Tensor:
    """KL(Bernoulli(prior), Bernoulli(mean A(g_n))), PU-Bench's: a scalar."""
    mean = a_gn.mean().clamp(SMALLEST, 1 - SMALLEST)
    return prior * (prior / mean).log() + (1 - prior) * ((1 - prior) / (1 - mean)).log()


class CGenPU(Method[Config]):
    scored_by = ("net", "discriminator")

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"} if config.weight_prior else ())

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        size = max(2, min(c.batch_size, data.n_unlabeled))  # batch norm cannot train on one row
        self.net, self.discriminator = run.backbone(), run.module(lambda: new_discriminator(data.shape))
        bounded = len(data.shape) == 3 and _within_unit_interval(run)
        self.generator = run.module(lambda: new_generator(data.shape, c.latent + 2, bounded=bounded))
        trained = ((self.net, c.lr), (self.discriminator, c.discriminator_lr), (self.generator, c.generator_lr))
        on_net, on_discriminator, on_generator = (
            run.optimizer(network.parameters(), lr=lr, betas=c.betas) for network, lr in trained
        )
        for _ in run.epochs(c.epochs):
            for p, u in run.paired_batches(size, size, tail=("span", "drop")):
                with run.inference(self.generator):
                    g_p, g_n = self._generate(size, run)
                real = discriminator_loss(*(self.discriminator(x) for x in (p.x, u.x, g_p, g_n)))
                run.step(real, on_discriminator, name="discriminator")
                run.step(self._classifier_loss(p.x, g_p, g_n, data), on_net, name="classifier")
                g_p, g_n = self._generate(size, run)
                with run.evaluation(self.discriminator, self.net):
                    loss = self._generator_loss(p.x, g_p, g_n)
                run.step(loss, on_generator, name="generator")

    def _classifier_loss(self, p: Tensor, g_p: Tensor, g_n: Tensor, data: PUData) -> Tensor:
        c = self.config
        a_p, a_gp, a_gn = (self.net(x).sigmoid() for x in (p, g_p, g_n))
        loss = classifier_loss(a_p, a_gp, a_gn, c.reduction)
        if c.weight_prior:
            loss = loss + c.weight_prior * prior_divergence(data.unlabeled_prior, a_gn)
        return c.weight_auxiliary * loss

    def _generator_loss(self, p: Tensor, g_p: Tensor, g_n: Tensor) -> Tensor:
        c = self.config
        a_p, a_gp, a_gn = (self.net(x).sigmoid() for x in (p, g_p, g_n))
        agreed = agreement(a_p, a_gp, a_gn, c.reduction)
        return adversarial_loss(self.discriminator(g_p), self.discriminator(g_n)) + c.weight_auxiliary * agreed

    def _generate(self, n: int, run: Run[Config]) -> tuple[Tensor, Tensor]:
        """n rows of each class, positive ones with the code (1, 0), negative ones with (0, 1)."""
        return self._of_class(1, n, run), self._of_class(0, n, run)

    def _of_class(self, code: int, n: int, run: Run[Config]) -> Tensor:
        c = self.config
        noise = run.normal(n, c.latent) if c.noise == "normal" else 2 * run.uniform(n, c.latent) - 1
        rows: Tensor = self.generator(F.pad(F.pad(noise, (0, 1), value=code), (0, 1), value=1 - code))
        return rows

    def assemble(self, build: NetworkBuilder) -> None:
        self.discriminator = new_discriminator(build.shape)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)

    def auxiliary_scores(self, x: Tensor) -> dict[str, Tensor]:
        return {"discriminator": self.discriminator(x).sigmoid()}

    def samples(self, n: int, run: Run[Config]) -> dict[str, Tensor]:
        positive, negative = self._generate(n, run)
        return {"positive": positive, "negative": negative}


def _within_unit_interval(run: Run[Config]) -> bool:
    """Whether all numbers of the training rows are in [0, 1]: images are, unless they are standardized."""
    return bool(run.scores(lambda x: ((x >= 0) & (x <= 1)).flatten(1).all(dim=1)).all())
