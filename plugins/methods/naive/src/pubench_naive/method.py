"""Unlabeled as negative: a classifier of P against U, both classes weighing the same. Known negatives are negative.

No paper of its own; described by any survey (Bekker, Davis, Machine Learning 109, 2020, section 5). Under SCAR
p(s=1|x) rises with p(y=1|x), so its ranking is what a PU method has to beat. Its threshold is wrong unless the prior
places it: ``threshold: half`` is what people do by mistake, kept because it shows the mistake.

``base: network`` trains the backbone of the data set, as the oracle ``pn`` does (cross-entropy over joint batches,
PU-Bench's optimizer values), so that a gain over it is one of PU learning and not of the learner. Its threshold is the
quantile of its own scores of U, as scores out of fold would take five more networks in every epoch.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from pubench_bases.bases import Base
from pubench_bases.fitting import (
    BaseConfig,
    array_of,
    at_posterior,
    at_prior,
    check,
    folds_of,
    on_classes,
    out_of_fold,
    prepared,
)
from pydantic import ValidationInfo, field_validator
from torch import Tensor
from torch.nn import functional as F

from pubench.method import Field, Method, MethodConfig, NetworkBuilder, PUData, RequestError, Run

Array = npt.NDArray[Any]


NETWORK = "network"


class NetworkConfig(MethodConfig):
    """Training of the network, in ``base_config``; the values are those of ``pn``."""

    lr: float = Field(5e-4, gt=0, description="learning rate of Adam")
    weight_decay: float = Field(1e-5, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(128, ge=1, description="rows per batch")
    epochs: int = Field(50, ge=1, description="epochs")
    patience: int | None = Field(5, ge=1, description="epochs without improvement that end the run; none: never")


class Config(BaseConfig):
    against: Literal["unlabeled", "known"] = Field(
        "unlabeled",
        description="which rows are the negative class: unlabeled (and known negatives), or known negatives alone, a "
        "supervised classifier of what is known",
        neutral="unlabeled",
    )
    folds: int = Field(5, ge=2, description="folds of the scores that place the threshold")
    threshold: Literal["auto", "prior", "posterior", "half"] = Field(
        "auto",
        description="a row is positive above the score that: leaves the prior's share of U positive (prior); means a "
        "posterior of 1/2 (posterior); is 1/2 (half). auto: prior if one is given, else half",
    )

    @field_validator("base")
    @classmethod
    def _known(cls, given: str) -> str:
        return given if given == NETWORK else super()._known(given)

    @field_validator("base_config")
    @classmethod
    def _complete(cls, given: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if info.data.get("base") == NETWORK:
            return NetworkConfig.model_validate(given).model_dump(mode="json")
        return super()._complete(given, info)

    @property
    def classifier(self) -> Base | None:
        """The base, so configured; None for the backbone of the data set."""
        return None if self.base == NETWORK else self.made


class Naive(Method[Config]):
    scored_by = ("model", "threshold")

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"} if config.threshold in ("prior", "posterior") else ())

    @classmethod
    def uses(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"} if config.threshold == "auto" else ())

    @classmethod
    def takes_gaps(cls, config: Config) -> bool:
        return config.classifier is not None and config.classifier.takes_gaps

    @classmethod
    def takes_sparse(cls, config: Config) -> bool:
        return config.classifier is not None and config.classifier.takes_sparse

    @classmethod
    def takes_weights(cls, config: Config) -> bool:
        return config.classifier is not None

    def assemble(self, build: NetworkBuilder) -> None:
        base = self.config.classifier
        self.model: Any = build(1) if base is None else base.model.empty()

    def check(self, data: PUData) -> None:
        check(data, self.config.classifier)
        if self.config.against == "known" and data.n_negative < 2:
            raise RequestError(
                f"against known negatives needs at least 2 of them, got {data.n_negative}",
                field="method.config.against",
                value="known",
            )

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.threshold = 0.0 if self.config.base == NETWORK else 0.5
        if (base := self.config.classifier) is None:
            self._train(data, run)
        else:
            self._fit(base, data, run)

    def places_threshold(self, data: PUData) -> bool:
        """Whether a prior places the threshold."""
        return self.config.threshold in ("prior", "posterior") or (self.config.threshold == "auto" and data.knows_prior)

    def _fit(self, base: Base, data: PUData, run: Run[Config]) -> None:
        c = self.config
        x, labeled = prepared(data, base, run)
        classes = labeled.copy()
        if c.against == "known":
            classes[data.unlabeled_rows.numpy()] = -1
        fit = on_classes(base, x, classes, data)
        for _ in run.epochs(1, patience=None):
            seeds = run.numpy_rng.integers(2**31, size=c.folds + 1)
            fold = folds_of(data, c.folds, run.numpy_rng)
            self.model = fit(np.arange(len(labeled)), int(seeds[-1]))
            if self.places_threshold(data):
                #: (n,) scores of the table LP ‖ U, each by a model that did not see the row
                self.out_of_fold = out_of_fold(fit, x, fold, seeds, run.threads)
                self.threshold = self._threshold(self.out_of_fold, data)

    def _train(self, data: PUData, run: Run[Config]) -> None:
        c = NetworkConfig.model_validate(self.config.base_config)
        self.model = run.backbone()
        optimizer = torch.optim.Adam(self.model.parameters(), c.lr, weight_decay=c.weight_decay)
        rows = torch.arange(len(data))
        if self.config.against == "known":
            rows = torch.cat([rows[: data.n_labeled], rows[data.n_labeled + data.n_unlabeled :]])
        weight = torch.tensor((len(rows) - data.n_labeled) / data.n_labeled, device=run.device)
        for _ in run.epochs(c.epochs, patience=c.patience):
            for batch in run.batches(rows, c.batch_size, shuffle=True):
                labeled = batch.labeled.float()
                run.step(F.binary_cross_entropy_with_logits(self.model(batch.x), labeled, pos_weight=weight), optimizer)

    def finalize(self, data: PUData, run: Run[Config]) -> None:
        if self.config.base == NETWORK and self.places_threshold(data):
            self.threshold = self._threshold(run.scores(self.model).cpu().numpy(), data)

    def _threshold(self, scores: Array, data: PUData) -> float:
        """``scores``: (n,) of the table LP ‖ U."""
        if self.config.threshold == "posterior":
            return at_posterior(scores, data.labeled.numpy().astype(np.int64), data)
        return at_prior(scores, data)

    def decision_function(self, x: Tensor) -> Tensor:
        if self.config.base == NETWORK:
            scores: Tensor = self.model(x)
            return scores - self.threshold
        return torch.from_numpy(self.model.probability(array_of(x)) - self.threshold)

    def feature_importances(self) -> Array | None:
        return None if self.config.base == NETWORK else self.model.importances()

    def coefficients(self) -> Array | None:
        return None if self.config.base == NETWORK else self.model.coefficients()
