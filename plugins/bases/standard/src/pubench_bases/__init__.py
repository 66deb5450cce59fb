"""Scikit-learn classifiers that PU methods train, and what such methods share.

:mod:`pubench_bases.bases` makes them, :mod:`pubench_bases.models` holds what they learn as plain arrays,
:mod:`pubench_bases.fitting` scores rows with models that did not see them and places thresholds.
"""

from pubench_core import MethodInfo, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    """No method: the entry point makes the code hash of a method follow its imports into this package."""
    return []
