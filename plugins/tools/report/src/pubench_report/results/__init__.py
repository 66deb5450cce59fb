"""Finished runs as one object: filtered, as a frame, as a table of methods by data sets, with tests of differences.

``runs`` is that object and ``loading`` reads a folder as one; ``frames`` makes rows of runs, ``compared`` tables and
tests.
"""

from ..grouping import FailedRun
from .loading import load_results
from .runs import Results

__all__ = ["FailedRun", "Results", "load_results"]
