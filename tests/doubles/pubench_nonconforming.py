"""Methods that each break one promise, to show that the conformance checks notice."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from pubench.method import Batch, Field, Method, PUData, Run, TrainingConfig
from pubench_core import MethodInfo, hookimpl
from pubench_formulas.risks import pu_risk


class Config(TrainingConfig):
    epochs: int = Field(2, ge=1, description="epochs")


class Sound(Method[Config]):
    """Keeps every promise; the others differ in one thing."""

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.net = run.backbone()
        optimizer = run.optimizer(self.net.parameters())
        for _ in run.epochs(self.config.epochs):
            for batch in run.joint_batches():
                self.learn(batch, data, run, optimizer)

    def learn(self, batch: Batch, data: PUData, run: Run[Config], optimizer: Optimizer) -> None:
        run.step(pu_risk(self.net(batch.x), batch.labeled, data.prior).objective, optimizer)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)


class Peeks(Sound):
    """Is granted the truth and does not say so in its info record."""

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior", "truth"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        super().fit(data, run)
        with torch.no_grad():
            self.net.head.bias += data.truth[data.unlabeled_rows][:50].mean()


class Relative(Sound):
    """Centers scores over whatever rows it is given."""

    def decision_function(self, x: Tensor) -> Tensor:
        z = super().decision_function(x)
        return z - z.mean()


class Restless(Sound):
    """Draws from the operating system."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        super().fit(data, run)
        with torch.no_grad():
            self.net.head.bias += int.from_bytes(os.urandom(2), "big") / 65536


class Stubborn(Sound):
    """Scores without having learned or drawn anything."""

    def decision_function(self, x: Tensor) -> Tensor:
        return x.flatten(1).mean(dim=1) - 0.3


class Meddling(Sound):
    """Draws from the caller's generator."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        super().fit(data, run)
        with torch.no_grad():
            self.net.head.bias += random.random()


class Lost(Sound):
    """Gives no number for one row."""

    def decision_function(self, x: Tensor) -> Tensor:
        z = super().decision_function(x)
        return z.masked_fill(z == z.max(), torch.nan)


class Brittle(Sound):
    """Divides by 1 - prior whatever it is, and takes the mean of no row."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        if data.n_labeled == 1 or not 0.01 < data.prior < 0.99 or self.config.batch_size == 2:
            raise ZeroDivisionError("division by zero")
        super().fit(data, run)


class Scribbling(Sound):
    """Keeps a file of its own."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        diary = Path(tempfile.gettempdir(), f"pubench-scribble-{os.getpid()}")
        diary.write_text("loss")
        super().fit(data, run)
        diary.unlink()


class TwoHeads(nn.Module):
    """More than a backbone."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Tensor) -> Any:
        return self.body(x)


class Unsavable(Sound):
    """Scores with a module of its own and does not say how to make it."""

    scored_by = ("heads",)

    def fit(self, data: PUData, run: Run[Config]) -> None:
        super().fit(data, run)
        self.heads = TwoHeads(self.net)

    def finalize(self, data: PUData, run: Run[Config]) -> None:
        self.heads = TwoHeads(self.net)

    def decision_function(self, x: Tensor) -> Tensor:
        scores: Tensor = self.heads(x)
        return scores


class Savable(Unsavable):
    """Says how."""

    def assemble(self, build: Any) -> None:
        self.heads = TwoHeads(build(1))


class VectorsOnly(Sound):
    """Cannot read images."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        if len(data.shape) > 1:
            raise ValueError("rows are not vectors")
        super().fit(data, run)


class Counts(Sound):
    """Counts the rows that it was asked to score."""

    scored_by = ("net", "scored")

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.scored = 0
        super().fit(data, run)

    def decision_function(self, x: Tensor) -> Tensor:
        self.scored += len(x)
        return super().decision_function(x)


class Borrows(Sound):
    """Has a further output that reads what no snapshot keeps."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.center = data.x.mean()
        super().fit(data, run)

    def auxiliary_scores(self, x: Tensor) -> dict[str, Tensor]:
        return {"distance": x.flatten(1).mean(dim=1) - self.center}


class Hoards(Sound):
    """Keeps the rows that any run of this process labeled: those of another split are hidden positives of this one."""

    labeled: ClassVar[set[bytes]] = set()

    def fit(self, data: PUData, run: Run[Config]) -> None:
        super().fit(data, run)
        self.labeled |= {row.numpy().tobytes() for row in data.x[data.labeled_rows]}
        with torch.no_grad():
            self.net.head.bias += 0.01 * len(self.labeled)


class Listens(Sound):
    """Hears when its state is copied."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.net, self.copies = run.backbone(), 0
        self.net.register_state_dict_pre_hook(self.note)
        optimizer = run.optimizer(self.net.parameters())
        for _ in run.epochs(20):
            for batch in run.joint_batches():
                run.step(pu_risk(self.net(batch.x), batch.labeled, data.prior).objective, optimizer)
            with torch.no_grad():
                self.net.head.bias += 0.01 * self.copies

    def note(self, *arguments: Any) -> None:
        self.copies += 1


class Wrapped(Tensor):
    """A tensor with methods of its own."""


class Wraps(Sound):
    """Gives scores that are called back with what is done to them."""

    def decision_function(self, x: Tensor) -> Tensor:
        return super().decision_function(x).as_subclass(Wrapped)


KINDS = [
    Hoards, Listens, Wraps,
    Sound, Peeks, Relative, Restless, Stubborn, Meddling, Lost, Brittle, Scribbling, Unsavable, Savable, VectorsOnly,
    Counts, Borrows,
]  # fmt: skip


def info_of(kind: type[Method[Any]], **more: Any) -> MethodInfo:
    """The record of a class, with its name in lower case as key."""
    facts = {
        "key": kind.__name__.lower().replace("_", "-"),
        "name": kind.__name__,
        "summary": (kind.__doc__ or "cheats").strip(),
        "load": f"{kind.__module__}:{kind.__name__}",
        "needs": frozenset({"prior"}),
    }
    return MethodInfo(**{**facts, **more})


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        *map(info_of, KINDS),
        info_of(VectorsOnly, key="vectors-declared", declared_failures={"image-text-tabular": "made for vectors"}),
        info_of(Sound, key="sound-declared", declared_failures={"calibration": "it was thought to fail"}),
        info_of(Restless, key="restless-declared", declared_failures={"same-seed-same-scores": "it likes chance"}),
        info_of(Sound, key="unheard", declared_failures={"no-such-check": "a slip"}),
    ]
