"""Packed files and archives, as packages of data sets read them."""

from pubench_core import hookimpl


@hookimpl
def pubench_shared() -> None:
    """The packages that import :mod:`pubench_archives.archives` list their data sets."""
