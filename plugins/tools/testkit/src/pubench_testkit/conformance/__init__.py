"""Checks that every method must pass, by name. The command line runs them; so does pytest, one test each
(:mod:`pubench_testkit.pytest_plugin`).

A method whose nature forbids something says so in ``MethodInfo.declared_failures``: check name -> reason. What may not
be declared is in :data:`UNDECLARABLE`.
"""

from . import checks, leakage  # noqa: F401 - importing them registers their checks
from .register import CHECKS, UNDECLARABLE, Check, Finding, check_method
from .subject import Subject

__all__ = ["CHECKS", "UNDECLARABLE", "Check", "Finding", "Subject", "check_method"]
