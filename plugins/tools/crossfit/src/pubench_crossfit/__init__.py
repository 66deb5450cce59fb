"""Runs with ``validation.folds``: every fold is a run, and one record joins them."""

from pubench_core import hookimpl


@hookimpl
def pubench_folds() -> str:
    return "pubench_crossfit.work:JointWork"
