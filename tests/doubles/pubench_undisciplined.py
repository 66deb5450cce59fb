"""Methods that treat the device as if it were the host, each in one way."""

from __future__ import annotations

import torch
from pubench_nonconforming import Config, Sound, info_of
from torch import Tensor
from torch.optim import Optimizer

from pubench.method import Batch, PUData, Run
from pubench_core import MethodInfo, hookimpl
from pubench_formulas.risks import pu_risk


class Disciplined(Sound):
    """Does nothing wrong; the others differ in one step."""


class Mixes(Disciplined):
    """Weights that lie on the host."""

    def learn(self, batch: Batch, data: PUData, run: Run[Config], optimizer: Optimizer) -> None:
        weights = torch.ones(len(batch.x))
        run.step((self.net(batch.x) * weights).mean(), optimizer)


class IndexesFromHost(Disciplined):
    """Shuffles by row numbers that lie on the host."""

    def learn(self, batch: Batch, data: PUData, run: Run[Config], optimizer: Optimizer) -> None:
        order = torch.randperm(len(batch.x), generator=run.generator)
        run.step((self.net(batch.x) - self.net(batch.x)[order]).square().mean(), optimizer)


class IndexesFromDevice(Disciplined):
    """Keeps a table on the host and looks rows of a batch up in it."""

    def learn(self, batch: Batch, data: PUData, run: Run[Config], optimizer: Optimizer) -> None:
        table = torch.zeros(len(data))
        run.step(self.net(batch.x).mean() + table[batch.row].mean().to(run.device), optimizer)


class TakesFromHost(Disciplined):
    """Asks the engine for rows by numbers that lie on the host."""

    def learn(self, batch: Batch, data: PUData, run: Run[Config], optimizer: Optimizer) -> None:
        run.step(self.net(data.take(torch.arange(4))).mean(), optimizer)


class DrawsOnHost(Disciplined):
    """Noise of the device from a generator of the host."""

    def learn(self, batch: Batch, data: PUData, run: Run[Config], optimizer: Optimizer) -> None:
        host = torch.Generator()
        run.step(self.net(batch.x + torch.randn(batch.x.shape, generator=host, device=run.device)).mean(), optimizer)


class Converts(Disciplined):
    """Gives NumPy a tensor of the device."""

    def learn(self, batch: Batch, data: PUData, run: Run[Config], optimizer: Optimizer) -> None:
        loss = self.net(batch.x).mean()
        float(loss.detach().numpy())
        run.step(loss, optimizer)


class ScoresOnHost(Disciplined):
    """Scores with a threshold per column that lies on the host."""

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x) - torch.zeros(len(x))


class Reads(Disciplined):
    """Reads its loss in every step, and one number per epoch."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.net, self.seen = run.backbone(), 0.0
        optimizer = run.optimizer(self.net.parameters())
        for _ in run.epochs(self.config.epochs):
            self.seen += float(self.net.head.weight.detach().norm())
            for batch in run.joint_batches():
                self.learn(batch, data, run, optimizer)

    def learn(self, batch: Batch, data: PUData, run: Run[Config], optimizer: Optimizer) -> None:
        risk = pu_risk(self.net(batch.x), batch.labeled, data.prior).objective
        self.seen += risk.item()
        run.step(risk, optimizer)


class Selects(Disciplined):
    """Selects positives by a mask, whose gradient waits as well."""

    def learn(self, batch: Batch, data: PUData, run: Run[Config], optimizer: Optimizer) -> None:
        z = self.net(batch.x)
        on_positives = z[batch.labeled]
        run.step(z.mean() - on_positives.mean(), optimizer)


KINDS = [
    Disciplined, Mixes, IndexesFromHost, IndexesFromDevice, TakesFromHost, DrawsOnHost, Converts, ScoresOnHost, Reads,
    Selects,
]  # fmt: skip


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [*map(info_of, KINDS), info_of(Mixes, key="mixes-on-cpu", devices=("cpu",))]
