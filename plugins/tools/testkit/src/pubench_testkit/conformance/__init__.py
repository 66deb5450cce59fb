"""Checks that every method must pass, by name. The command line runs them; so does a test class of four lines
(:class:`pubench_testkit.testing.MethodConformance`).

A method whose nature forbids something says so in ``MethodInfo.declared_failures``: check name -> reason. What may not
be declared is in :data:`UNDECLARABLE`.
"""

from . import checks, leakage  # noqa: F401 - importing them registers their checks
from .register import CHECKS, UNDECLARABLE, Check, Finding, check_method
from .subject import Subject

__all__ = ["CHECKS", "UNDECLARABLE", "Check", "Finding", "Subject", "check_method"]
