"""PUbN: a risk weighted by an estimated posterior; without biased negatives its authors write PUbN\\N.

Paper: Hsieh, Niu, Sugiyama, ICML 2019. Official code: cyber-meow/PUbiasedN.
A first network estimates σ(x) = p(y = 1 | x) by the non-negative PU risk with the logistic loss. A threshold η is a
percentile of σ over U. A second, fresh network then takes rows of U with σ up to η as negatives, with weight 1 - σ;
the negatives above η are made up for by P, with weight (1 - σ) / σ. No term is negative, so none has to be corrected.
The first stage ends in the state with the least mean_U σ² - 2 π mean_P σ, the squared error of σ up to a constant.
Follows the official code in both stages (above: with ρ = 0, no negatives given). Differs in the rows of that error,
which are held out of the training part (the official script has a validation set, which here may have one labeled
row); in the epoch of the second stage, which the run's criterion chooses (there: the sigmoid PU risk of the validation
set); in an epoch, which is a pass over U; in a floor of σ; and in networks, which are PU-Bench's.
``variant = single-stage`` is the loss that Wang et al. run under this name, for their table: σ is the network's own,
the term of P has a minus sign, means are over the chosen rows, and η is the largest σ of the batch unless U is small.

If there are known negatives, which may be biased (bN), σ is p(s = +1 | x): of being positive or such a negative, by the
PU risk of P and bN together, whose prior is π + ρ. They get a risk of their own, ρ R_bN, and with weight (1 - σ) / σ
make up for rows above η next to P. ρ, which the paper takes as known, is ``known_share`` of 1 - π.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor
from torch.optim.lr_scheduler import MultiStepLR

from pubench.method import Batch, Choice, Field, LogUniform, Method, PowerOfTwo, PUData, Run, TrainingConfig, exact
from pubench_formulas import averaging
from pubench_formulas.losses import SURROGATES, Surrogate, logistic_loss, masked_mean
from pubench_formulas.risks import pu_risk

#: σ is at least this: (1 - σ) / σ stays finite.
SMALLEST_POSTERIOR = 1e-3
#: ρ of Wang et al.'s loss: a share of biased negatives, of which there are none.
SINGLE_STAGE_RHO = 0.2


class Config(TrainingConfig):
    variant: Literal["two-stage", "single-stage"] = Field(
        "two-stage", description="the paper's two stages, or Wang et al.'s loss of one, which is another algorithm"
    )
    lr: float = Field(1e-3, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    first_lr: float = Field(1e-3, gt=0, description="learning rate of the first stage")
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(120, ge=1, description="rows of U per batch", search=PowerOfTwo(5, 8))
    p_batch_size: int | None = Field(10, ge=1, description="rows of P per batch; none: as many as of U")
    first_epochs: int = Field(100, ge=1, description="passes over U of the first stage; not in epochs")
    epochs: int = Field(100, ge=1, description="passes over U of the second stage (of the single one)")
    milestones: tuple[int, ...] = Field((), description="epochs of each stage after which its rate is divided by ten")
    patience: int | None = Field(
        None, ge=1, description="epochs without improvement after which a criterion stops; none: never"
    )
    negative_share: float = Field(
        0.9,
        gt=0,
        le=1,
        description="share of U, as a part of 1 - π, that is below η (tau)",
        search=Choice((0.5, 0.7, 0.9)),
    )
    known_share: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="if there are known negatives: share of the negatives that is of their kind, rho / (1 - pi)",
        neutral=0.5,
    )
    surrogate: Surrogate = Field("logistic", description="loss of the second stage; the first has the logistic one")
    hold_out: float = Field(
        0.1,
        gt=0,
        lt=1,
        description="share of P and of U that the first stage does not train on: its state is chosen there",
    )


def squared_error(sigma_p: Tensor, sigma_u: Tensor, prior: float) -> Tensor:
    """mean_U σ² - 2 π mean_P σ of probabilities: E(σ - p(y = 1 | x))² up to a constant, a scalar. Neither is empty."""
    return sigma_u.square().mean() - 2 * prior * sigma_p.mean()


def threshold(sigma_u: Tensor, prior: float, share: float) -> float:
    """η: the percentile floor(100 (1 - π) τ) of (n,) probabilities of U, linear between two of them.

    The product is that of the decimals as they are written: π = .3 and τ = .9 give 63, not 62.999...
    """
    percentile = math.floor(100 * (1 - exact(prior)) * exact(share))
    return float(torch.quantile(sigma_u.double(), percentile / 100))


def weighted_risk(
    z_p: Tensor, z_u: Tensor, sigma_p: Tensor, sigma_u: Tensor, eta: float, prior: float, surrogate: Surrogate
) -> Tensor:
    """π mean_P[l(f) + 1{σ > η} l(-f) (1 - σ) / σ] + mean_U[1{σ <= η} (1 - σ) l(-f)], the second stage: a scalar.

    ``z_p``, ``z_u``: (n,), (m,) logits f; ``sigma_p``, ``sigma_u``: σ of the same rows, above 0. Means are over all
    rows of a side: those that are not chosen count as 0.
    """
    loss = SURROGATES[surrogate]
    restored = (loss(-z_p) * (1 - sigma_p) / sigma_p).masked_fill(sigma_p <= eta, 0)
    negative = (loss(-z_u) * (1 - sigma_u)).masked_fill(sigma_u > eta, 0)
    return prior * (loss(z_p) + restored).mean() + negative.mean()


def known_risk(z_n: Tensor, sigma_n: Tensor, eta: float, rho: float, surrogate: Surrogate) -> Tensor:
    """ρ mean_bN[l(-f) + 1{σ > η} l(-f) (1 - σ) / σ], what known negatives add to the second stage: a scalar.

    ``z_n``, ``sigma_n``: (n,) logits and σ of known negatives.
    """
    restored = ((1 - sigma_n) / sigma_n).masked_fill(sigma_n <= eta, 0)
    return rho * (SURROGATES[surrogate](-z_n) * (1 + restored)).mean()


def single_stage_risk(z_p: Tensor, z_u: Tensor, n_unlabeled: int, prior: float, share: float) -> Tensor:
    """Wang et al.'s loss: π mean_P l(f) - π mean_{P, σ > η} l(-f) (1 - σ) / σ + mean_{U, σ <= η} (1 - σ) l(-f).

    ``z_p``, ``z_u``: (n,), (m,) logits; σ is their sigmoid, without gradient; l is logistic. η is the quantile
    τ (1 - π - ρ) n_U / m of σ over the batch, where n_U (``n_unlabeled``) is the size of the whole of U: cut to 1.
    A mean over no row is 0.
    """
    sigma_p, sigma_u = (z.detach().sigmoid().clamp(min=SMALLEST_POSTERIOR) for z in (z_p, z_u))
    level = share * (1 - prior - SINGLE_STAGE_RHO) * n_unlabeled / len(z_u)
    eta = torch.quantile(sigma_u, min(max(level, 0.0), 1.0))
    subtracted = masked_mean(logistic_loss(-z_p) * (1 - sigma_p) / sigma_p, sigma_p > eta)
    negative = masked_mean(logistic_loss(-z_u) * (1 - sigma_u), sigma_u <= eta)
    return prior * (logistic_loss(z_p).mean() - subtracted) + negative


class PUbN(Method[Config]):
    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c, prior = self.config, data.unlabeled_prior
        two_stages = c.variant == "two-stage"
        self.rho = c.known_share * (1 - prior) if data.n_negative else 0.0
        if two_stages:
            sigma = self._posterior(data, run)
            eta = threshold(sigma[data.unlabeled_rows], prior + self.rho, c.negative_share)
        elif data.n_negative:
            run.warn(f"variant single-stage has no risk of known negatives: {data.n_negative} are left out")
        self.net = run.backbone()
        optimizer = run.optimizer(self.net.parameters(), amsgrad=True)
        schedule = MultiStepLR(optimizer, c.milestones)
        for _ in run.epochs(c.epochs):
            for p, u in self._batches(run):
                if two_stages:
                    n = self._known(data.negative_rows, run)
                    x = torch.cat([p.x, u.x, data.take(n)])
                    z_p, z_u, z_n = self.net(x).split([len(p.x), len(u.x), len(n)])
                    risk = weighted_risk(z_p, z_u, sigma[p.row], sigma[u.row], eta, prior, c.surrogate)
                    if len(n):
                        risk = risk + known_risk(z_n, sigma[n], eta, self.rho, c.surrogate)
                else:
                    z_p, z_u = self.net(torch.cat([p.x, u.x])).split([len(p.x), len(u.x)])
                    risk = single_stage_risk(z_p, z_u, data.n_unlabeled, prior, c.negative_share)
                run.step(risk, optimizer)
            schedule.step()

    def _posterior(self, data: PUData, run: Run[Config]) -> Tensor:
        """The first stage: σ of every row of the table. P and known negatives are its labeled rows."""
        c, prior = self.config, data.unlabeled_prior
        is_unlabeled = torch.zeros_like(data.labeled).index_fill(0, data.unlabeled_rows, True)
        (p_rows, u_rows), (p_held, u_held) = (
            (rows[data.labeled[rows]], rows[is_unlabeled[rows]]) for rows in data.hold_out(c.hold_out, run.generator)
        )
        n_rows, n_held = data.negative_rows, data.negative_rows[:0]
        if data.n_negative > 1:
            n_rows = n_rows[run.permutation(data.n_negative)]
            n_held, n_rows = n_rows.split([k := max(1, int(c.hold_out * data.n_negative)), data.n_negative - k])
        of_kind = prior + self.rho
        self.net = run.backbone()
        optimizer = run.optimizer(self.net.parameters(), lr=c.first_lr, amsgrad=True)
        schedule = MultiStepLR(optimizer, c.milestones)
        best = averaging.Best(self.net)
        for _ in run.epochs(c.first_epochs, stage="posterior", selectable=False, patience=None):
            for p, u in self._batches(run, p_rows, u_rows):
                n, weights = self._known(n_rows, run), None
                x, labeled = torch.cat([p.x, u.x, data.take(n)]), torch.cat([p.labeled, u.labeled, ~is_unlabeled[n]])
                if len(n):  # mean 1 over P and bN, which stand for π and ρ
                    both = (len(p.x) + len(n)) / of_kind
                    sides = [prior * both / len(p.x), 1.0, self.rho * both / len(n)]
                    sizes = torch.tensor([len(p.x), len(u.x), len(n)], device=x.device)
                    weights = torch.tensor(sides, device=x.device).repeat_interleave(sizes, output_size=len(x))
                risk = pu_risk(
                    self.net(x), labeled, of_kind, surrogate="logistic", correction="ascent", weights=weights
                )
                run.step(risk.objective, optimizer, report={"risk": risk.value})
            schedule.step()
            if len(p_held):  # a single labeled positive is trained on: then the last state stays
                error = squared_error(self._sigma(run, p_held), self._sigma(run, u_held), prior)
                if len(n_held):
                    error = error - 2 * self.rho * self._sigma(run, n_held).mean()
                best.offer(-float(error))
        if len(p_held):
            best.restore()
        return self._sigma(run)

    def _known(self, rows: Tensor, run: Run[Config]) -> Tensor:
        """A draw of as many known negatives as a batch has rows of P, or all; none without drawing."""
        size = self.config.p_batch_size or self.config.batch_size
        return rows[run.permutation(len(rows))[:size]] if len(rows) else rows

    def _sigma(self, run: Run[Config], rows: Tensor | None = None) -> Tensor:
        """σ of the given rows of the table, by default of all: (n,) probabilities."""
        return run.scores(self.net, rows).sigmoid().clamp(min=SMALLEST_POSTERIOR)

    def _batches(
        self, run: Run[Config], p_rows: Tensor | None = None, u_rows: Tensor | None = None
    ) -> Iterator[tuple[Batch, Batch]]:
        """Batches of P and U for an epoch, of the given rows of each."""
        c = self.config
        return run.paired_batches(c.p_batch_size or c.batch_size, c.batch_size, p_rows=p_rows, u_rows=u_rows)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
