"""MPE-PU, which its authors call (TED)^n: best bin estimation and CVIR in turn.

Paper: Garg, Wu, Smola, Balakrishnan, Lipton, NeurIPS 2021. Official code: acmi-lab/PU_learning.
After a warm-up of P against U, every epoch ignores the estimated share of U, its rows with the highest scores, and
takes the rest as negative; then the share is estimated again from the scores of held-out rows. No class prior is
needed. Follows the official code in estimate, ranking, loss and their order. Differs in holding rows of P and U out of
the training part (the official data come with separate sets; the validation part, which may be tiny, is left to the
choice of epoch); in ranking rows as they are, by logits; in an epoch, which is a pass over U while P cycles; in cutting
an estimate near or above 1; and in optimizer values and networks, which are PU-Bench's. What PU-Bench runs under this
name has neither CVIR nor estimate.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from pubench.method import Field, LogUniform, Method, PowerOfTwo, PUData, RequestError, Run, TrainingConfig
from pubench_formulas.augmentation import weak_view
from pubench_formulas.bbe import best_bin
from pubench_formulas.losses import masked_mean

#: Estimates are cut here: were all of U ignored, no step would be taken and no later estimate could differ.
LARGEST_SHARE = 0.99


class Config(TrainingConfig):
    lr: float = Field(3e-4, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(128, ge=1, description="rows of P per batch", search=PowerOfTwo(5, 8))
    unlabeled_batch: Literal["equal", "proportional"] = Field(
        "equal", description="rows of U per batch: as many as of P, or in the proportion of the whole sets"
    )
    warm_up: int = Field(8, ge=0, description="epochs of P against all of U before rows are ignored; not in epochs")
    patience: int | None = Field(
        20, ge=1, description="epochs without improvement after which a criterion stops; none: never"
    )
    hold_out: float = Field(0.2, gt=0, lt=1, description="share of P and of U that is kept for estimates only")
    delta: float = Field(0.1, gt=0, lt=1, description="1 - confidence of the bounds that choose a bin")
    gamma: float = Field(0.01, ge=0, description="relaxation of these bounds")
    augment: bool = Field(False, description="train on weakly augmented rows")


def provisional_negatives(scores: Tensor, share: float) -> Tensor:
    """(n,) logits of U -> (n,) bool: all but the floor(share n) highest, of equal ones the last. share in [0, 1]."""
    ascending = torch.sort(scores, stable=True).indices
    kept = torch.ones_like(scores, dtype=torch.bool)
    ignored = math.floor(share * len(scores) + 1e-9)  # 0.29 x 100 is 28.999999999999996 and means 29
    kept[ascending[len(scores) - ignored :]] = False
    return kept


def cvir_loss(scores: Tensor, labeled: Tensor) -> Tensor:
    """Half of mean_P log(1 + e^-z) plus half of mean_U log(1 + e^z) of (B,) logits: P and *kept* rows of U.

    Each is a mean over its own rows (0 if there is none). With all of U it separates P from U, the warm-up's loss.
    """
    positive, negative = masked_mean(F.softplus(-scores), labeled), masked_mean(F.softplus(scores), ~labeled)
    return (positive + negative) / 2


def discriminator_threshold(share: float, labeled_share: float = 0.5) -> float:
    """b / (2 (b + (1 - b) α)): above this probability of 'labeled', a row of P and U together is likelier positive.

    ``share``: α, of positives in U; ``labeled_share``: b, of P in what the discriminator was trained on - 1/2 where
    P and U weigh the same, whatever their sizes.
    """
    return 0.5 * labeled_share / (labeled_share + (1 - labeled_share) * share)


class MPEPU(Method[Config]):
    scored_by = ("net", "threshold")

    def check(self, data: PUData) -> None:
        """Two labeled positives, at least, are held out."""
        fraction, n = self.config.hold_out, data.n_labeled
        held = data.held_out_labeled(fraction)
        if held < 2:
            remedy = f"hold_out={math.ceil(200 / n) / 100:g} would do" if n > 2 else "label more (mechanism.c)"
            raise RequestError(
                f"mpe-pu estimates from held-out labeled positives and needs at least 2; hold_out = {fraction:g} of "
                f"{n} gives {held}; {remedy}"
            )

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        p_rows, u_rows, p_held, u_held = self._held_out(data, run)
        u_size = c.batch_size if c.unlabeled_batch == "equal" else max(1, c.batch_size * len(u_rows) // len(p_rows))
        self.net = run.backbone()
        self.threshold = 0.0
        optimizer = run.optimizer(self.net.parameters())
        kept = torch.ones(len(data), dtype=torch.bool, device=run.device)
        share = 0.0  # nothing is ignored before a first estimate, and none is made of an untrained network
        for epoch in chain(
            run.epochs(c.warm_up, stage="warm-up", selectable=False, patience=None),
            run.epochs(c.epochs),
        ):
            warm = epoch.total < c.warm_up
            if not warm:
                kept[u_rows] = provisional_negatives(run.scores(self.net, u_rows), share)
            alpha = torch.tensor(share, device=run.device)
            for p, u in run.paired_batches(c.batch_size, u_size, p_rows=p_rows, u_rows=u_rows):
                negatives = u.x[kept[u.row]]  # ignored rows are in no forward pass: batch norm must not see them
                if not len(negatives):
                    continue  # the official code takes no step, not even on P
                x = torch.cat([p.x, negatives])
                scores = self.net(self._view(x, run) if c.augment else x)
                labeled = torch.arange(len(x), device=run.device) < len(p.x)
                run.step(cvir_loss(scores, labeled), optimizer, report={"alpha": alpha})
            share = self._share(p_held, u_held, run)
            # While the network separates P from U, the boundary of the classes is below a probability of 1/2.
            boundary = discriminator_threshold(share) if warm else 0.5
            self.threshold = math.log(boundary / (1 - boundary))

    def _held_out(self, data: PUData, run: Run[Config]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Rows of P and U to train on, and of P and U to estimate from."""
        train, held = data.hold_out(self.config.hold_out, run.generator)
        (p_rows, u_rows), (p_held, u_held) = (
            (rows[data.labeled[rows]], rows[~data.labeled[rows]]) for rows in (train, held)
        )
        return p_rows, u_rows, p_held, u_held

    def _share(self, p_held: Tensor, u_held: Tensor, run: Run[Config]) -> float:
        """The estimated share of positives in U, cut to [0, LARGEST_SHARE]."""
        positive, unlabeled = (run.scores(self.net, rows).cpu().numpy() for rows in (p_held, u_held))
        found = best_bin(positive, unlabeled, delta=self.config.delta, gamma=self.config.gamma)
        return min(found.share, LARGEST_SHARE)

    @staticmethod
    def _view(x: Tensor, run: Run[Config]) -> Tensor:
        """Weakly augmented rows; images are padded with zeros before they are cropped, as in the official code."""
        return run.augment(weak_view, x, padding="zeros") if x.dim() == 4 else run.augment(weak_view, x)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x) - self.threshold
