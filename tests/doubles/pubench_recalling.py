"""A cheat that reads the labels of an embedded data set, which lie in the files of scikit-learn."""

from __future__ import annotations

from pubench_nonconforming import Config, Sound
from sklearn.datasets import load_digits

from pubench.method import PUData, Run
from pubench_core import MethodInfo, hookimpl


class Recalls(Sound):
    """Reads the labels of an embedded data set."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        super().fit(data, run)
        load_digits()


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="recalls", name="Recalls", summary="cheats", load=f"{__name__}:Recalls", needs=frozenset({"prior"})
        )
    ]
