"""Small methods that strain the engine the way the hard published ones do, and the plugin that offers them.

They are not published methods: each exists to show that the engine has what a published one needs.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from pubench_priors_standard.held_out import ReadsScores
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional as F

from pubench.method import Field, Method, PUData, PUPart, Run, Scorer, TrainingConfig
from pubench_core import MethodInfo, PriorInfo, hookimpl
from pubench_core.prior import PriorEstimate
from pubench_formulas.losses import masked_mean
from pubench_formulas.risks import pu_risk


class Config(TrainingConfig):
    batch_size: int = Field(128, ge=1, description="rows per batch")
    epochs: int = Field(3, ge=1, description="epochs")


class Students(Method[Config]):
    """Two students and two teachers, two streams of batches, and a virtual step whose weights need second order."""

    scored_by = ("students", "teachers", "seen")

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.students = torch.nn.ModuleList([run.backbone(), run.backbone()])
        self.teachers = copy.deepcopy(self.students).requires_grad_(False)
        self.seen = 0
        optimizers = [run.optimizer(student.parameters()) for student in self.students]
        state = torch.zeros(len(data), device=run.device)
        for epoch in run.epochs(2, stage="warm-up", selectable=False):
            for batch in run.joint_batches():
                run.step(
                    *(
                        (pu_risk(student(batch.x), batch.labeled, data.prior).objective, optimizer)
                        for student, optimizer in zip(self.students, optimizers, strict=True)
                    )
                )
            state = run.scores(self.students[0], data.unlabeled_rows) if epoch.in_stage == 1 else state
        clean = data.unlabeled_rows[state.topk(64).indices]
        for _ in run.epochs(self.config.epochs, stage="self-paced"):
            meta = data.validation.take(data.validation.unlabeled_rows[:64])
            for noisy, kept in zip(run.joint_batches(), self._endless(run, clean), strict=False):
                for student, optimizer in zip(self.students, optimizers, strict=True):
                    weights = self._weights(student, noisy, meta)
                    loss = (weights * F.softplus(student(noisy.x))).sum() + F.softplus(-student(kept.x)).mean()
                    run.step(loss, optimizer)
                self.seen += 1
            for teacher, student in zip(self.teachers, self.students, strict=True):
                for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
                    slow.lerp_(fast.detach(), 0.5)

    @staticmethod
    def _endless(run: Run[Config], rows: Tensor) -> Any:
        while True:
            yield from run.batches(rows, 32, shuffle=True)

    @staticmethod
    def _weights(student: torch.nn.Module, batch: Any, meta: Tensor) -> Tensor:
        """Descent direction of the meta loss in the batch weights, through a virtual step."""
        parameters = dict(student.named_parameters())
        weight = torch.zeros(len(batch.x), requires_grad=True)
        inner = (weight * F.softplus(functional_call(student, parameters, (batch.x,)))).sum()
        gradients = torch.autograd.grad(inner, list(parameters.values()), create_graph=True)
        virtual = {n: p - 0.1 * g for (n, p), g in zip(parameters.items(), gradients, strict=True)}
        meta_loss = F.softplus(functional_call(student, virtual, (meta,))).mean()
        (direction,) = torch.autograd.grad(meta_loss, weight)
        positive = (-direction).clamp(min=0) + 1e-10
        return positive / positive.sum()

    def decision_function(self, x: Tensor) -> Tensor:
        return self.students[0](x)

    def candidates(self) -> dict[str, Scorer]:
        students = {f"student-{i}": net for i, net in enumerate(self.students)}
        return students | {f"teacher-{i}": net for i, net in enumerate(self.teachers)}


class Threshold(Method[Config]):
    """A stored threshold that is refreshed before every scoring, a criterion of its own, a further output."""

    scored_by = ("net", "threshold")

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.net = run.backbone()
        self.threshold = 0.0
        self.refreshed = 0
        optimizer = run.optimizer(self.net.parameters())
        for _ in run.epochs(self.config.epochs):
            for p, u in run.paired_batches(16, 64):
                run.step(F.softplus(-self.net(p.x)).mean() + F.softplus(self.net(u.x)).mean(), optimizer)

    def finalize(self, data: PUData, run: Run[Config]) -> None:
        scores = run.scores(self.net, data.unlabeled_rows)
        self.threshold = float(scores.quantile(1 - data.prior))
        self.refreshed += 1

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x) - self.threshold

    def selection_score(self, validation: PUPart, score: Scorer, run: Run[Config]) -> float:
        scores = run.scores(score, part=validation)
        return float(masked_mean(scores, validation.labeled) - masked_mean(scores, ~validation.labeled))

    def auxiliary_scores(self, x: Tensor) -> dict[str, Tensor]:
        return {"propensity": torch.sigmoid(self.net(x))}


class Centroids:
    """State that is not a module: kept through state_dict."""

    def __init__(self, positive: np.ndarray, unlabeled: np.ndarray) -> None:
        self.positive, self.unlabeled = positive, unlabeled

    def state_dict(self) -> dict[str, np.ndarray]:
        return {"positive": self.positive, "unlabeled": self.unlabeled}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        self.positive, self.unlabeled = state["positive"], state["unlabeled"]


class NoNetwork(Method[Config]):
    """NumPy only, one epoch, no batches, on the CPU."""

    scored_by = ("centroids",)

    def fit(self, data: PUData, run: Run[Config]) -> None:
        x = data.x.numpy().reshape(len(data), -1)
        labeled = data.labeled.numpy()
        for _ in run.epochs(1):
            jitter = run.numpy_rng.normal(size=x.shape[1]) * 1e-3
            self.centroids = Centroids(x[labeled].mean(axis=0) + jitter, x[~labeled].mean(axis=0))

    def decision_function(self, x: Tensor) -> Tensor:
        rows = x.numpy().reshape(len(x), -1)
        c = self.centroids
        distances = [((rows - center) ** 2).sum(axis=1) for center in (c.unlabeled, c.positive)]
        return torch.from_numpy(distances[0] - distances[1])


class LabeledShare(ReadsScores):
    """Not an estimator of anything: gives a share that a test can foretell."""

    def estimate(self, positive: np.ndarray, unlabeled: np.ndarray, rng: np.random.Generator) -> PriorEstimate:
        return PriorEstimate(0.25)


@hookimpl
def pubench_priors() -> list[PriorInfo]:
    load = "pubench_doubles:LabeledShare"
    return [PriorInfo(key="from-scores", name="from-scores", summary="a test double", load=load, inputs="scores")]


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    def info(key: str, name: str, **more: Any) -> MethodInfo:
        return MethodInfo(key=key, name=name, summary="a test double", load=f"pubench_doubles:{name}", **more)

    return [
        info("students", "Students", needs=frozenset({"prior"})),
        info("threshold", "Threshold", needs=frozenset({"prior"})),
        info("no-network", "NoNetwork", devices=("cpu",)),
    ]
