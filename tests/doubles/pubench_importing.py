"""A cheat that reads the labels of a data set when its module is imported, before any check watches."""

from __future__ import annotations

import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from pubench_nonconforming import Config, Sound, info_of

from pubench.method import PUData, Run
from pubench_core import MethodInfo, hookimpl

_SKLEARN = find_spec("sklearn")  # importing it would take most of the time of every process of these tests
with gzip.open(Path(_SKLEARN.origin).with_name("datasets") / "data" / "digits.csv.gz", "rt") as _file:
    DIGITS = np.array([float(line.rpartition(",")[2]) for line in _file])


class Imports(Sound):
    """Shifts its scores by a number that the labels give."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        super().fit(data, run)
        with torch.no_grad():
            self.net.head.bias += int(DIGITS @ np.arange(len(DIGITS))) % 9_973 / 100


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [info_of(Imports, devices=("cpu",))]
