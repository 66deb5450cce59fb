"""``pubench advise``: from a table without negatives to an answer. The steps are in :mod:`pubench_advise.advise`."""

from pubench_core import hookimpl


@hookimpl
def pubench_shared() -> None:
    """Nothing to list: a command and a function of Python."""
