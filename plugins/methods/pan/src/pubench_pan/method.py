"""PAN: predictive adversarial networks.

Paper: Hu, Le, Liu, Ji, Ma, Zhao, Yan, AAAI 2021. Official code: morning-dews/PAN.
Two networks with outputs in (0, 1) play for one value V: the discriminator D raises it, the classifier R lowers it. D
learns P against those rows of U that it takes for less positive than their mean; R follows D on U, up where D is above
1/2 and down where it is below. No class prior is needed.
Follows the official code: all terms are sums; only the first rows of U, as many as there are of P, are negatives for D;
both gradients come from the forward pass before either step. ``update_order = sequential`` is Wang et al.'s: R's
gradient comes from a second forward pass, after D's step. Differs in batches, whose sizes are the same in every step
where the official loader counts; in cutting 1 - mean D at epsilon in its logarithm, which changes no gradient; and in
networks, which are PU-Bench's. What PU-Bench runs under this name is another algorithm.
As terms are sums, D's weight decay and the balance of both terms depend on the size of the batch. With plain SGD, R
moves by ``balance`` times the learning rate and hardly learns. R may end at one class where few rows are labeled.
"""

from __future__ import annotations

from typing import Annotated, Literal

import pydantic
import torch
from torch import Tensor
from torch.optim import Optimizer

from pubench.method import Field, LogUniform, Method, PowerOfTwo, PUData, Run, TrainingConfig

#: A share of the past in a running mean of Adam.
Decay = Annotated[float, pydantic.Field(ge=0, lt=1)]


class Config(TrainingConfig):
    lr: float = Field(1e-4, gt=0, description="learning rate of both networks", search=LogUniform(10**-4.5, 10**-2.5))
    betas: tuple[Decay, Decay] = Field(
        (0.5, 0.999),
        description="decay rates of Adam's running means, of gradients and of their squares; not used by sgd",
        accepts="two numbers, 0 or more and below 1",
    )
    weight_decay: float = Field(1e-3, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(500, ge=2, description="rows of P and U together per batch", search=PowerOfTwo(6, 9))
    unlabeled_batch: Literal["equal", "proportional"] = Field(
        "proportional", description="rows of U per batch: as many as of P, or in the proportion of the whole sets"
    )
    epochs: int = Field(200, ge=1, description="passes over U")
    patience: int | None = Field(
        None, ge=1, description="epochs without improvement after which a criterion stops; none: never"
    )
    balance: float = Field(1e-4, ge=0, description="weight of the difference between R and D in the value (lambda)")
    epsilon: float = Field(0.01, gt=0, lt=1, description="added to probabilities in logarithms")
    update_order: Literal["joint", "sequential"] = Field(
        "joint", description="both gradients before either step, or R's from a forward pass after D's step"
    )


def separation(d_p: Tensor, d_h: Tensor, epsilon: float) -> Tensor:
    """sum_P log(D + e) + sum_H max(0, log(1 - D + e) - log(1 - mean_H D)), V's first term: a scalar; D raises it.

    ``d_p``: (n,) probabilities of P; ``d_h``: (m,) of the rows of U that may be negatives. Their mean is a constant.
    Rows above it have no gradient.
    """
    margin = (1 - d_h + epsilon).log() - (1 - d_h.detach().mean()).clamp(min=epsilon).log()
    return (d_p + epsilon).log().sum() + margin.clamp(min=0).sum()


def difference(d_u: Tensor, r_u: Tensor, epsilon: float) -> Tensor:
    """sum_U (log(1 - R + e) - log(R + e)) (2 D - 1), V's second term: a scalar; R lowers it by following D.

    ``d_u``, ``r_u``: (n,) probabilities of the same rows of U. Up to constants it is KL(D||R) - KL(D||1-R).
    """
    return (((1 - r_u + epsilon).log() - (r_u + epsilon).log()) * (2 * d_u - 1)).sum()


class PAN(Method[Config]):
    scored_by = ("net", "discriminator")

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        share = 0.5 if c.unlabeled_batch == "equal" else data.n_labeled / len(data)
        p_size = max(1, round(share * c.batch_size))
        u_size = max(2, c.batch_size - p_size)  # R's batch norm cannot train on one row
        self.net, self.discriminator = run.backbone(), run.backbone()
        lowers, raises = (run.optimizer(n.parameters(), betas=c.betas) for n in (self.net, self.discriminator))
        for _ in run.epochs(c.epochs):
            for p, u in run.paired_batches(p_size, u_size):
                self._update(p.x, u.x, lowers, raises, run)

    def _update(self, p: Tensor, u: Tensor, lowers: Optimizer, raises: Optimizer, run: Run[Config]) -> None:
        """A step of each network on rows of P and of U."""
        value = self._value(p, u)
        if self.config.update_order == "joint":
            run.step((value, lowers), (-value, raises), report={"loss": value})
        else:
            run.step(-value, raises, name="discriminator")
            run.step(self._value(p, u), lowers)

    def _value(self, p: Tensor, u: Tensor) -> Tensor:
        """V of a batch; P and U pass through D together, and the rows of U are in random order."""
        c = self.config
        d_p, d_u = self.discriminator(torch.cat([p, u])).sigmoid().split([len(p), len(u)])
        r_u = self.net(u).sigmoid()
        return separation(d_p, d_u[: len(p)], c.epsilon) + c.balance * difference(d_u, r_u, c.epsilon)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)

    def auxiliary_scores(self, x: Tensor) -> dict[str, Tensor]:
        return {"discriminator": self.discriminator(x).sigmoid()}
