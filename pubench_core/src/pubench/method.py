"""Everything that the author of a method needs, in one import.

A method's file reads: docstring (paper, official code, what is followed and where it differs), ``Config``, pure loss
functions, the ``Method`` class with ``fit`` and ``decision_function``.
"""

from pubench_core.backbones.base import Backbone
from pubench_core.data.generator import exact
from pubench_core.errors import PluginError, RequestError, RunFailed, Undefined
from pubench_core.formulas import averaging, ramps
from pubench_core.formulas.bbe import BestBin, best_bin
from pubench_core.formulas.counts import Rounding, count_log_probabilities, expected_count, posterior_given_count
from pubench_core.formulas.entropy import binary_entropy
from pubench_core.formulas.mixing import forward_mixed, mix
from pubench_core.formulas.risks import (
    SURROGATES,
    Correction,
    PURisk,
    Surrogate,
    logistic_loss,
    masked_mean,
    pu_risk,
    sigmoid_loss,
)
from pubench_core.method import Method, Scorer
from pubench_core.specs.config import MethodConfig, TrainingConfig
from pubench_core.specs.fields import Choice, Field, LogUniform, PowerOfTwo, Uniform
from pubench_core.training.batches import Batch
from pubench_core.training.epochs import Epoch
from pubench_core.training.networks import NetworkBuilder
from pubench_core.training.run import Run
from pubench_core.training.views import PUData, PUPart

__all__ = [
    "SURROGATES",
    "Backbone",
    "Batch",
    "BestBin",
    "Choice",
    "Correction",
    "Epoch",
    "Field",
    "LogUniform",
    "Method",
    "MethodConfig",
    "NetworkBuilder",
    "PUData",
    "PUPart",
    "PURisk",
    "PluginError",
    "PowerOfTwo",
    "RequestError",
    "Rounding",
    "Run",
    "RunFailed",
    "Scorer",
    "Surrogate",
    "TrainingConfig",
    "Undefined",
    "Uniform",
    "averaging",
    "best_bin",
    "binary_entropy",
    "count_log_probabilities",
    "exact",
    "expected_count",
    "forward_mixed",
    "logistic_loss",
    "masked_mean",
    "mix",
    "posterior_given_count",
    "pu_risk",
    "ramps",
    "sigmoid_loss",
]
