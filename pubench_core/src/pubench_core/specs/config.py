"""Hyper-parameters of methods. A method's own ``Config`` derives from one of these two."""

from __future__ import annotations

from typing import Literal

from .fields import Field, LogUniform, Strict


class MethodConfig(Strict):
    """The base of every configuration: no field, because no hyper-parameter is common to all methods."""


class TrainingConfig(MethodConfig):
    """For methods that train networks: optimizer, learning rate, batches and length of training.

    The three fields about length mean: ``epochs`` turns of the training loop, each of ``steps_per_epoch`` steps
    (or one pass over the training rows), ended early for a criterion that has not improved for ``patience`` epochs.
    """

    optimizer: Literal["adam", "adamw", "sgd"] = Field("adam", description="optimizer; sgd uses momentum")
    lr: float = Field(1e-3, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    momentum: float = Field(0.9, ge=0, lt=1, description="momentum, used by sgd only")
    weight_decay: float = Field(0.0, ge=0, description="L2 penalty added to the gradient (adamw: decoupled)")
    batch_size: int = Field(256, ge=1, description="rows per batch")
    epochs: int = Field(40, ge=1, description="epochs")
    steps_per_epoch: int | None = Field(None, ge=1, description="steps per epoch; none: one pass over the rows")
    patience: int | None = Field(
        10, ge=1, description="epochs without improvement after which a criterion stops; none: never"
    )
