"""Everything that the author of a method needs of the engine, in one import.

Risks, estimates and other formulas that methods share are in :mod:`pubench_formulas`, whose modules count as code of
the methods that import them.

A method's file reads: docstring (paper, official code, what is followed and where it differs), ``Config``, pure loss
functions, the ``Method`` class with ``fit`` and ``decision_function``.
"""

from pubench_core.backbone import Backbone as Backbone
from pubench_core.backbone import NetworkBuilder as NetworkBuilder
from pubench_core.data.generator import exact as exact
from pubench_core.errors import PluginError as PluginError
from pubench_core.errors import RequestError as RequestError
from pubench_core.errors import RunFailed as RunFailed
from pubench_core.errors import Undefined as Undefined
from pubench_core.method import Method as Method
from pubench_core.method import Scorer as Scorer
from pubench_core.specs.config import MethodConfig as MethodConfig
from pubench_core.specs.config import TrainingConfig as TrainingConfig
from pubench_core.specs.fields import Choice as Choice
from pubench_core.specs.fields import Field as Field
from pubench_core.specs.fields import LogUniform as LogUniform
from pubench_core.specs.fields import PowerOfTwo as PowerOfTwo
from pubench_core.specs.fields import Uniform as Uniform
from pubench_core.training.batches import Batch as Batch
from pubench_core.training.epochs import Epoch as Epoch
from pubench_core.training.run import Run as Run
from pubench_core.training.views import PUData as PUData
from pubench_core.training.views import PUPart as PUPart
