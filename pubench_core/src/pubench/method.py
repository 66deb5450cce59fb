"""Everything that the author of a method needs of the engine, in one import.

Risks, estimates and other formulas that methods share are in :mod:`pubench_formulas`, whose modules count as code of
the methods that import them.

A method's file reads: docstring (paper, official code, what is followed and where it differs), ``Config``, pure loss
functions, the ``Method`` class with ``fit`` and ``decision_function``.
"""

from pubench_core.backbone import Backbone, NetworkBuilder
from pubench_core.data.generator import exact
from pubench_core.errors import PluginError, RequestError, RunFailed, Undefined
from pubench_core.method import Method, Scorer
from pubench_core.specs.config import MethodConfig, TrainingConfig
from pubench_core.specs.fields import Choice, Field, LogUniform, PowerOfTwo, Uniform
from pubench_core.training.batches import Batch
from pubench_core.training.epochs import Epoch
from pubench_core.training.run import Run
from pubench_core.training.views import PUData, PUPart

__all__ = [
    "Backbone",
    "Batch",
    "Choice",
    "Epoch",
    "Field",
    "LogUniform",
    "Method",
    "MethodConfig",
    "NetworkBuilder",
    "PUData",
    "PUPart",
    "PluginError",
    "PowerOfTwo",
    "RequestError",
    "Run",
    "RunFailed",
    "Scorer",
    "TrainingConfig",
    "Undefined",
    "Uniform",
    "exact",
]
