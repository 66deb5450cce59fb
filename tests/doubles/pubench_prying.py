"""A cheat that reads what is private to the view of its data."""

from __future__ import annotations

from pubench_nonconforming import Config, Sound, info_of

from pubench.method import PUData, Run
from pubench_core import MethodInfo, hookimpl


class Pries(Sound):
    """Reads what is private to the view of its data."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        super().fit(data, run)
        assert len(data._features) >= len(data.validation)


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [info_of(Pries)]
