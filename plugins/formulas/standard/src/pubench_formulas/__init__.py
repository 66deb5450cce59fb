"""Formulas that several methods and prior estimators share, as pure functions.

A method imports the module that it needs (``from pubench_formulas.risks import pu_risk``), and that module counts as
code of the method: editing it runs the methods again that reach it, and no other.
"""

from pubench_core import hookimpl


@hookimpl
def pubench_shared() -> None:
    """The methods that import these modules list themselves."""
