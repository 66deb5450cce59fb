"""A method of whole numbers, whose scores are the same to the last bit on every processor.

It reads everything that the engine gives a method: the order of rows, batches of every kind, draws, views, parts.
"""

from __future__ import annotations

import torch
from torch import Tensor

from pubench.method import Batch, Field, Method, PUData, PUPart, Run, Scorer, TrainingConfig
from pubench_core import MethodInfo, hookimpl

#: Weights stay below it, and scores with them below 2^24, up to which float32 holds every whole number.
MODULUS = 257


class Config(TrainingConfig):
    batch_size: int = Field(64, ge=1, description="rows per batch")
    epochs: int = Field(6, ge=1, description="epochs of the second stage")
    patience: int | None = Field(3, ge=1, description="epochs without improvement")


def shifted(x: Tensor, generator: torch.Generator) -> Tensor:
    """Every row with a whole number of its own added."""
    drawn = torch.randint(5, (len(x), 1), generator=generator, device=x.device)
    return x + drawn.reshape(-1, *[1] * (x.dim() - 1))


class Exact(Method[Config]):
    """A hash of what the engine gives, one weight per feature: features are multiples of 1/16, weights whole."""

    scored_by = ("weights",)

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.weights = torch.zeros(data.x[0].numel())
        for prior in (data.prior, data.unlabeled_prior):
            self._take(torch.full_like(self.weights, round(1e6 * prior)))
        kept, held_out = data.hold_out(0.25, run.generator)
        for _ in run.epochs(2, stage="first", selectable=False):
            for batch in run.joint_batches():
                self._learn(batch)
            for batch in run.batches(kept, 100, shuffle=True):
                self._learn(batch)
        for _ in run.epochs(self.config.epochs, stage="second"):
            for p, u in run.paired_batches(16, 64, tail=("span", "drop")):
                self._learn(p)
                self._learn(u)
            for batch in run.stacked_batches(32):
                self._learn(Batch(run.augment(shifted, batch.x), batch.labeled, batch.row))
            self._take(run.permutation(500)[: len(self.weights)])
            self._take(run.integers(1000, len(self.weights)))
            self._take((run.uniform(len(self.weights)) * 1000).floor())
            self._take(torch.from_numpy(run.numpy_rng.integers(1000, size=len(self.weights))))
            self._take(run.scores(self.decision_function, held_out)[: len(self.weights)])

    def _learn(self, batch: Batch) -> None:
        place = torch.arange(len(batch.row))
        factors = torch.where(batch.labeled, 1.0, -1.0) * (1 + batch.row % 7) * (1 + place % 5)
        self._take((16 * batch.x).flatten(1).T @ factors)

    def _take(self, numbers: Tensor) -> None:
        """Goes on from the weights and some whole numbers, one for each."""
        self.weights = (3 * self.weights.double() + numbers.double()).remainder(MODULUS).float()

    def decision_function(self, x: Tensor) -> Tensor:
        return 16 * (x.flatten(1) @ (self.weights - MODULUS // 2))

    def selection_score(self, validation: PUPart, score: Scorer, run: Run[Config]) -> float:
        return float(run.scores(score, part=validation)[validation.labeled].double().sum())


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    needs = frozenset({"prior"})
    return [
        MethodInfo(key="exact", name="Exact", summary="a test double", load="pubench_exact:Exact", needs=needs),
    ]
