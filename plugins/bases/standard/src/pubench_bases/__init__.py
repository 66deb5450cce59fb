"""Scikit-learn classifiers that PU methods train, and what such methods share.

:mod:`pubench_bases.bases` makes them, :mod:`pubench_bases.models` holds what they learn as plain arrays,
:mod:`pubench_bases.fitting` scores rows with models that did not see them and places thresholds.
"""

from pubench_core import hookimpl


@hookimpl
def pubench_shared() -> None:
    """The methods that import this package list themselves."""
