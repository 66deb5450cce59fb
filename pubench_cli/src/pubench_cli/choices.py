"""What options can be: the closed lists that typer checks, and completion of keys."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Kind(StrEnum):
    """What can be listed."""

    methods = "methods"
    datasets = "datasets"
    mechanisms = "mechanisms"
    metrics = "metrics"
    priors = "priors"
    backbones = "backbones"


class Format(StrEnum):
    """How a result is printed."""

    table = "table"
    json = "json"


class ListFormat(StrEnum):
    """How a listing is printed."""

    table = "table"
    json = "json"
    csv = "csv"


def keys(kind: str) -> Callable[[str], list[str]]:
    """Completion of a plugin's key."""

    def complete(incomplete: str) -> list[str]:
        from pubench_core.plugins.registry import registry

        return [e.key for e in registry().entries(kind) if e.status == "ok" and e.key.startswith(incomplete)]

    return complete
