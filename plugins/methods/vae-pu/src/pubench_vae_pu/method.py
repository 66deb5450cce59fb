"""VAE-PU: a variational autoencoder makes the unlabeled positives that labels are biased against.

Paper: Na, Kim, Song, Joo, Kim, Moon, CIKM 2020. Official code: byeonghu-na/vae-pu.
Every row has a code of its class, a mixture of two components, and a code of whether it is labeled. The class code of a
labeled positive and the observation code of the nearest row of U give a virtual unlabeled positive. A discriminator
tells virtual rows from U. The classifier minimizes a non-negative risk in which virtual rows stand for the positives of
U: labeled positives need not look like them. Follows the official code in its objectives and its order: reconstruction
alone, the mixture, then the generator, the classifier, the generator again with the label-consistency loss (the
classifier is to call virtual rows positive), both, and the classifier; its boundaries (400, 500, 600, 700 of 800) are
shares of ``epochs``. Gradients of the adversarial and of the label-consistency loss reach decoder and encoder. An epoch
without training of the classifier is not chosen. Differs in log π, which enters a responsibility once and not once per
dimension of the code; in log variances cut to [-10, 10]; in masses, which come from the split and the prior that is
told: copies in U of labeled rows are left out of U, as in the official data; in rows without a Bernoulli likelihood,
which are generated as they are reconstructed; in one draw of virtual rows for a step of discriminator and generator; in
batch norm, which normalizes; and in networks, which are PU-Bench's (``networks = mlp``: the official ones), as the
classifier's backbone is. PU-Bench's code generates without gradients, chooses epochs before the classifier trains, and
never trains it on some data. Labels may depend on features. The risk is that of P and U together, in which no row
counts twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from torch import Tensor
from torch.optim import Optimizer

from pubench.method import (
    Field,
    LogUniform,
    Method,
    NetworkBuilder,
    PowerOfTwo,
    PUData,
    RequestError,
    Run,
    RunFailed,
    TrainingConfig,
)
from pubench_formulas.losses import logistic_loss, sigmoid_loss
from pubench_formulas.risks import PURisk

from .course import Masses, masses_of, schedule
from .networks import Design, Generator, is_image, new_discriminator
from .variational import (
    Counting,
    Encoded,
    Mixture,
    bound,
    discrimination,
    drawn,
    ordered,
    reconstruction,
    responsibility,
    value_range,
    virtual_codes,
    within_unit_interval,
)


class Config(TrainingConfig):
    lr: float = Field(2e-4, gt=0, description="learning rate of the classifier", search=LogUniform(10**-4.5, 10**-2.5))
    generator_lr: float = Field(2e-4, gt=0, description="learning rate of encoder, decoder and observer")
    discriminator_lr: float = Field(2e-4, gt=0, description="learning rate of the discriminator")
    batch_size: int = Field(128, ge=2, description="rows of U per batch", search=PowerOfTwo(5, 8))
    p_batch_size: int | None = Field(64, ge=1, description="rows of P per batch; none: in the proportion of the sets")
    epochs: int = Field(
        300, ge=1, description="passes over U after reconstruction; with 7 or more, every stage has one"
    )
    pretraining_epochs: int = Field(100, ge=0, description="passes over U for reconstruction alone; not in epochs")
    patience: int | None = Field(
        None, ge=1, description="epochs of a last stage without improvement that stop a criterion; none: never"
    )
    networks: Design = Field("by-shape", description="PU-Bench's networks, or official ones of two layers (mlp)")
    class_dim: int | None = Field(None, ge=1, description="size of the class code; none: 128 for images, else 64")
    observation_dim: int | None = Field(None, ge=1, description="size of the observation code; none: as class_dim")
    likelihood: Literal["auto", "bernoulli", "gaussian"] = Field(
        "auto",
        description="of a row; auto: bernoulli where all values are from 0 to 1, except color images; else gaussian",
    )
    responsibilities: Counting = Field(
        "once", description="how often log π enters them: once, or once per dimension of the class code (official)"
    )
    weight_adversarial: float = Field(
        0.1, ge=0, description="weight of the discriminator's loss of virtual rows as rows of U"
    )
    weight_discriminator: float = Field(0.1, ge=0, description="weight of the discriminator's loss")
    weight_consistency: float = Field(
        3.0, ge=0, description="weight of the classifier's loss of virtual rows as positives"
    )


class Optimizers(NamedTuple):
    generator: Optimizer
    discriminator: Optimizer
    classifier: Optimizer


def virtual_risk(f_p: Tensor, f_virtual: Tensor, f_u: Tensor, masses: Masses) -> PURisk:
    """π_pl mean_P l(f) + π_pu mean_V l(f) + [π_u mean_U l(-f) - π_pu mean_V l(-f)] of logits; l is the sigmoid loss.

    Where the bracket, the risk of negatives, is below 0, minus it is minimized.
    """
    negative = masses.unlabeled * sigmoid_loss(-f_u).mean()
    negative = negative - masses.unlabeled_positive * sigmoid_loss(-f_virtual).mean()
    positive = masses.labeled * sigmoid_loss(f_p).mean() + masses.unlabeled_positive * sigmoid_loss(f_virtual).mean()
    return PURisk(positive + negative, torch.where(negative < 0, -negative, positive + negative))


class VAEPU(Method[Config]):
    scored_by = ("net", "discriminator")

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def check(self, data: PUData) -> None:
        if self.config.likelihood == "bernoulli" and not within_unit_interval(data):
            low, high = value_range(data)
            raise RequestError(
                f"likelihood bernoulli is for values from 0 to 1, given {low:g} to {high:g}; use likelihood=gaussian",
                field="method.config.likelihood",
            )

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c, u_rows = self.config, data.unlabeled_rows
        u_rows = u_rows[~torch.isin(data.instance[u_rows], data.instance[data.labeled_rows])]
        self.table, self.u_rows, self.masses = data, u_rows, masses_of(data, u_rows)
        self.net = run.backbone()
        self.generator = run.module(self._generator_for(data))
        self.discriminator = run.module(lambda: new_discriminator(data.shape, c.networks))
        optimizers = Optimizers(
            run.optimizer(self.generator.parameters(), lr=c.generator_lr),
            run.optimizer(self.discriminator.parameters(), lr=c.discriminator_lr),
            run.optimizer(self.net.parameters()),
        )
        for _ in run.epochs(c.pretraining_epochs, stage="reconstruction", selectable=False):
            for x, labeled, _ in self._batches(run):
                decoded = self.generator.decoder(torch.cat(self._codes(self.generator(x, labeled), run), dim=1))
                loss = -reconstruction(decoded, x, bernoulli=self.generator.bernoulli)
                run.step(loss, optimizers.generator, name="reconstruction")
        self.mixture = self._mixture(run)
        for number, stage in enumerate(schedule(c.epochs)):
            patience = c.patience if stage.final else None
            for _ in run.epochs(stage.epochs, stage=stage.name, selectable=stage.classifier, patience=patience):
                for x, labeled, n in self._batches(run):
                    if stage.generator:
                        self._train_generator(x, labeled, n, optimizers, run, consistency=number > 0)
                    if stage.classifier:
                        self._train_classifier(x, labeled, n, optimizers.classifier, run)

    def _generator_for(self, data: PUData) -> Callable[[], Generator]:
        """What makes a generator of rows like these."""
        c, shape = self.config, data.shape
        class_dim = c.class_dim or (128 if is_image(shape) else 64)
        sizes = class_dim, c.observation_dim or class_dim
        color = len(shape) == 3 and shape[0] > 1
        bernoulli = within_unit_interval(data) and not color if c.likelihood == "auto" else c.likelihood == "bernoulli"
        return lambda: Generator(shape, c.networks, *sizes, bernoulli=bernoulli)

    def _batches(self, run: Run[Config]) -> Iterator[tuple[Tensor, Tensor, int]]:
        """For a pass over U: rows of P and then of U, 1 for those of P and 0 for those of U, how many are of P."""
        c, m = self.config, self.masses
        u_size = min(c.batch_size, len(self.u_rows))
        p_size = c.p_batch_size or max(1, round(u_size * m.labeled / m.unlabeled))
        for p, u in run.paired_batches(p_size, u_size, tail="drop", u_rows=self.u_rows):
            yield torch.cat([p.x, u.x]), torch.cat([p.labeled, u.labeled]).float(), len(p.x)

    def _codes(self, encoded: Encoded, run: Run[Config]) -> tuple[Tensor, Tensor]:
        """A draw of each row's codes: (B, d_y) and (B, d_o)."""
        y_mean, y_log_variance, o_mean, o_log_variance = encoded
        h_y = drawn(y_mean, y_log_variance, run.normal(*y_mean.shape))
        return h_y, drawn(o_mean, o_log_variance, run.normal(*o_mean.shape))

    def _virtual_codes(self, encoded: Encoded, n: int, run: Run[Config]) -> Tensor:
        """(n, d_y + d_o) codes of a virtual row for each of the first n rows, which are of P."""
        return virtual_codes(encoded, run.normal(n, encoded.y_mean.shape[1]), run.normal(*encoded.o_mean.shape))

    def _mixture(self, run: Run[Config]) -> Mixture:
        """Two components of the class codes' means, fitted once; the code of a row's class does not read its label."""
        means = run.scores(lambda x: self.generator(x, x.new_zeros(len(x))).y_mean).double().cpu()
        if not means.isfinite().all():
            raise RunFailed("codes of the encoder are not finite", cause="non-finite", **run.position)
        model = GaussianMixture(2, covariance_type="diag", random_state=int(run.numpy_rng.integers(2**31)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # codes may be alike: then any two components do
            model.fit(means[self.table.distinct_rows.cpu()].numpy())
        fitted = (torch.from_numpy(values) for values in (model.means_, model.covariances_, model.weights_))
        found = ordered(means[self.table.labeled_rows.cpu()], *fitted)
        return Mixture(found.means.float().to(run.device), found.variances.float().to(run.device), found.positive_share)

    def _train_generator(
        self, x: Tensor, labeled: Tensor, n: int, optimizers: Optimizers, run: Run[Config], *, consistency: bool
    ) -> None:
        """A step of the discriminator, then one of encoder, decoder and observer."""
        c, prior, generator = self.config, self.masses.prior, self.generator
        encoded = generator(x, labeled)
        h_y, h_o = self._codes(encoded, run)
        codes = torch.cat([torch.cat([h_y, h_o], dim=1), self._virtual_codes(encoded, n, run)])
        decoded, of_virtual = generator.decoder(codes).split([len(x), n])
        virtual = generator.rows(of_virtual)
        d_virtual, d_u = self.discriminator(torch.cat([virtual.detach(), x[n:]])).split([n, len(x) - n])
        loss = c.weight_discriminator * discrimination(d_virtual, d_u)
        run.step(loss, optimizers.discriminator, name="discriminator")
        shares = responsibility(h_y, self.mixture, prior, c.responsibilities)
        likelihood = reconstruction(decoded, x, bernoulli=generator.bernoulli)
        terms = bound(encoded, shares, self.mixture, prior, likelihood, generator.observer(h_o), labeled)
        with run.evaluation(self.discriminator, self.net):
            adversarial = logistic_loss(self.discriminator(virtual)).mean()
            report = {"reconstruction": -likelihood, "adversarial": adversarial}
            loss = -terms.total + c.weight_adversarial * adversarial
            if consistency:
                report["consistency"] = sigmoid_loss(self.net(virtual)).mean()
                loss = loss + c.weight_consistency * report["consistency"]
        run.step(loss, optimizers.generator, name="generator", report=report)

    def _train_classifier(self, x: Tensor, labeled: Tensor, n: int, optimizer: Optimizer, run: Run[Config]) -> None:
        generator = self.generator
        with run.inference(generator):
            virtual = generator.rows(generator.decoder(self._virtual_codes(generator(x, labeled), n, run)))
        f_p, f_u, f_virtual = self.net(torch.cat([x, virtual])).split([n, len(x) - n, n])
        risk = virtual_risk(f_p, f_virtual, f_u, self.masses)
        run.step(risk.objective, optimizer, name="classifier", report={"risk": risk.value})

    def assemble(self, build: NetworkBuilder) -> None:
        self.discriminator = new_discriminator(build.shape, self.config.networks)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)

    def auxiliary_scores(self, x: Tensor) -> dict[str, Tensor]:
        return {"discriminator": self.discriminator(x).sigmoid()}

    def samples(self, n: int, run: Run[Config]) -> dict[str, Tensor]:
        """Virtual rows of labeled positives, and rows of either component, whose observation codes are N(0, I)."""
        data, generator = self.table, self.generator
        p, u = (rows[run.integers(len(rows), n)] for rows in (data.labeled_rows, self.u_rows))
        rows = torch.cat([p, u])
        codes = {"virtual": self._virtual_codes(generator(data.take(rows), data.labeled[rows].float()), n, run)}
        for name, m, v in zip(("negative", "positive"), self.mixture.means, self.mixture.variances, strict=True):
            codes[name] = torch.cat(
                [drawn(m, v.log(), run.normal(n, len(m))), run.normal(n, generator.sizes[1])], dim=1
            )
        return {name: generator.rows(generator.decoder(h)) for name, h in codes.items()}
