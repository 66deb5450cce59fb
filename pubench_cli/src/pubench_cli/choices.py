"""Options that several commands have: the closed lists that typer checks, and completion of keys."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Kind(StrEnum):
    """Kinds of things to list."""

    methods = "methods"
    datasets = "datasets"
    mechanisms = "mechanisms"
    metrics = "metrics"
    priors = "priors"
    backbones = "backbones"
    sinks = "sinks"
    executors = "executors"
    protocols = "protocols"


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
    return lambda incomplete: [key for key in _usable(kind) if key.startswith(incomplete)]


def any_key(incomplete: str) -> list[str]:
    """Completion of a key of any kind."""
    return sorted({key for kind in Kind for key in _usable(kind.removesuffix("s")) if key.startswith(incomplete)})


def criteria(incomplete: str) -> list[str]:
    """Completion of a selection criterion."""
    from pubench_core.plugins.info import MetricInfo
    from pubench_core.plugins.registry import registry

    names = ["native", "last", *(m.key for m in registry().infos(MetricInfo) if m.criterion and not m.parameter)]
    return sorted(name for name in names if name.startswith(incomplete))


def presets(context: typer.Context, incomplete: str) -> list[str]:
    """Completion of a preset: of the method that was named before, else of any."""
    from pubench_core.plugins.info import MethodInfo
    from pubench_core.plugins.registry import registry

    method = context.params.get("method")
    infos = [m for m in registry().infos(MethodInfo) if method is None or method in (m.key, *m.aliases)]
    return sorted({name for info in infos for name in info.presets if name.startswith(incomplete)})


def runs(context: typer.Context, incomplete: str) -> list[str]:
    """Completion of a run id: of the folder of records that was named before, else of ``results``."""
    folder = Path(context.params.get("results") or "results")
    try:
        ids = [path.parent.name for path in folder.glob("*/result.json")]
    except OSError:
        return []
    return sorted(name for name in ids if name.startswith(incomplete))


def _usable(kind: str) -> list[str]:
    from pubench_core.plugins.registry import registry

    return [e.key for e in registry().entries(kind) if e.status == "ok"]


PrintFormat = Annotated[Format, typer.Option("--format", help="How to print it.")]
#: Of tables of results, and the criterion that chose the epochs in them.
TestMeasure = Annotated[str, typer.Option(help="Measure on test rows.")]
NamingCriterion = Annotated[
    str | None,
    typer.Option(help="Selection criterion. (default: the one that names the results)", autocompletion=criteria),
]
Results = Annotated[Path, typer.Option(help="Folder of records.")]
RecordedRun = Annotated[str, typer.Argument(help="Run id, its first digits, or the run's folder.", autocompletion=runs)]
