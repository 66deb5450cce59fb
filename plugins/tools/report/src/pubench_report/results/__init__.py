"""Finished runs as one object: filtered, as a frame, as a table of methods by data sets, with tests of differences.

``runs`` is that object, ``loading`` reads what is stored as one, ``frames`` makes rows of runs.
"""

from ..grouping import FailedRun
from .loading import load_results
from .runs import Results

__all__ = ["FailedRun", "Results", "load_results"]
