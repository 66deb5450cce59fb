"""pubench core: what a PU-learning data set, labeling mechanism, method, metric, prior estimator and backbone is.

Importing this package is cheap: it brings in no torch. Method authors import from :mod:`pubench_core.method`.
"""

from .plugins.hooks import hookimpl as hookimpl
from .plugins.info import ApiInfo as ApiInfo
from .plugins.info import BackboneInfo as BackboneInfo
from .plugins.info import CommandInfo as CommandInfo
from .plugins.info import DatasetInfo as DatasetInfo
from .plugins.info import ExecutorInfo as ExecutorInfo
from .plugins.info import MechanismInfo as MechanismInfo
from .plugins.info import MethodInfo as MethodInfo
from .plugins.info import MetricInfo as MetricInfo
from .plugins.info import Preset as Preset
from .plugins.info import PriorInfo as PriorInfo
from .plugins.info import Reference as Reference
from .plugins.info import SinkInfo as SinkInfo
from .plugins.info import TableInfo as TableInfo
