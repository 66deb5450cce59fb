"""Runs with ``validation.folds``: every fold is a run, and one record joins them."""

from pubench_core import ApiInfo, hookimpl


@hookimpl
def pubench_api() -> list[ApiInfo]:
    return [ApiInfo(name="run.folds", load="pubench_crossfit.work:JointWork")]
