"""Requests as validated models: run specs, hyper-parameters, sampling schemes."""

from .run import GIVEN as GIVEN
from .run import BackboneSpec as BackboneSpec
from .run import DataSpec as DataSpec
from .run import DecisionSpec as DecisionSpec
from .run import EvaluationSpec as EvaluationSpec
from .run import ExecutionSpec as ExecutionSpec
from .run import MechanismSpec as MechanismSpec
from .run import MethodSpec as MethodSpec
from .run import RunSpec as RunSpec
from .run import SelectionSpec as SelectionSpec
from .run import UserTableSpec as UserTableSpec
from .run import ValidationSpec as ValidationSpec
from .schemes import DRAWN_SCHEMES as DRAWN_SCHEMES
from .schemes import Scheme as Scheme
from .schemes import is_one_sample as is_one_sample
from .schemes import population_prior as population_prior
from .schemes import unlabeled_prior as unlabeled_prior
