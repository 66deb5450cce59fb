"""Cheats that read labels of data sets: from the files of scikit-learn, and from the cache."""

from __future__ import annotations

import os
from contextlib import suppress

from pubench_nonconforming import Config, Sound, info_of
from sklearn.datasets import load_digits

from pubench.method import PUData, Run
from pubench_core import MethodInfo, hookimpl


class Recalls(Sound):
    """Reads the labels of an embedded data set."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        super().fit(data, run)
        load_digits()


class Browses(Sound):
    """Looks into the cache, where stored data sets lie with their labels."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        super().fit(data, run)
        with suppress(FileNotFoundError):  # of tests that stored nothing yet
            os.listdir(os.environ["PUBENCH_CACHE"])


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [info_of(Recalls), info_of(Browses)]
