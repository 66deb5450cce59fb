"""One run: arguments become a plan, the plan a result. What the command line does, for a notebook."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from pubench_core.data.table_reader import is_table_path
from pubench_core.errors import RequestError, shown, visible
from pubench_core.results import RunResult as RunResult
from pubench_core.specs.run_fields import run_fields

from .call import given_of, shows_fields
from .field_names import PubenchWarning, in_words, said
from .fields import RunFields
from .openmp import wait_briefly

if TYPE_CHECKING:
    from pubench_datasets_tables.frames import PUTable

    from pubench_core.engine.layers import Layer
    from pubench_core.engine.plan import Plan


@shows_fields(RunFields)
def run(
    method: str,
    data: str | PUTable,
    *,
    force: bool = False,
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
    **fields: Unpack[RunFields],
) -> RunResult:
    """Runs one method on one data set under one labeling, or returns its stored result.

    ``data``: the key of a data set, or a table of your own (:func:`pubench.data`). ``force``: run although a result is
    stored. ``settings``: any other field of the spec by its dotted path. ``progress``: called with a line about each
    thing worth saying (``print`` shows them). All other arguments are fields of a run (:class:`RunFields`); one that is
    None is as on the command line.

    Raises InvalidRequest (a ValueError) if the request cannot be met, RunFailed if training fails.

    >>> result = run("nnpu", "digits", c=0.1, seed=2, config={"epochs": 2}, tracking=False)
    >>> result.test["accuracy"] > 0.5
    True
    >>> run("nnpu", "digits", c=0.1, seed=2, config={"epochs": 2}, tracking=False).reused
    True
    """
    with in_words():
        plan = plan_of(method, data, given_of(fields, RunFields, "run"), settings or {})
        return carry_out(plan, force=force, progress=progress)


def plan_of(method: str, data: str | PUTable, given: Mapping[str, Any], settings: Mapping[str, Any]) -> Plan:
    """The plan that arguments describe; ``settings`` win.

    ``given``: values by argument of :func:`run`. Raises RequestError, PluginError.
    """
    wait_briefly()  # before torch is loaded, which the next lines do
    from pubench_core.engine.resolve import resolve
    from pubench_core.plugins.registry import registry

    layer = layer_of(method, data, given, settings)
    return resolve([layer], registry(), warn=lambda text: warnings.warn(said(text), PubenchWarning, stacklevel=2))


def layer_of(method: str, data: str | PUTable, given: Mapping[str, Any], settings: Mapping[str, Any]) -> Layer:
    """Layer of arguments, as :func:`plan_of` takes them. Raises RequestError for data of an unknown type."""
    from pubench_core.engine.layers import Layer

    layer = Layer()
    layer.put(("method", "key"), method, f"method={shown(method)}")
    put_data(layer, data)
    put_fields(layer, given, settings)
    return layer


def put_fields(layer: Layer, given: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Adds the fields that arguments set, as :func:`plan_of` takes them."""
    for field in run_fields():
        names = [name for name in (field.argument, field.also) if name in given and not field.of_table]
        if len(names) > 1:
            both = " and ".join(f"{name}={shown(given[name])}" for name in names)
            raise RequestError(f"{both} set the same argument; give one", field=field.name)
        for name in names:
            if field.name == "method.config":
                if not isinstance(config := given[name], Mapping):
                    raise RequestError(f"config must be a mapping of hyper-parameters, got {shown(config)}")
                for key, value in config.items():
                    layer.put(f"method.config.{key}".split("."), plain(value), f"{key}={shown(value)}")
            else:
                layer.put(field.path, plain(given[name]), f"{name}={shown(given[name])}")
    for path, value in settings.items():
        layer.put(str(path).split("."), plain(value), f"settings {path}={shown(value)}")


def put_data(layer: Layer, data: str | Path | PUTable) -> None:
    """Adds the section of data. Raises RequestError for what is neither a key nor a table."""
    if isinstance(data, Path) or (isinstance(data, str) and is_table_path(data)):
        raise RequestError(
            f"data must be a table made of the file: pubench.data({str(data)!r}, labeled=COLUMN)", field="data.key"
        )
    if isinstance(data, str):
        layer.put(("data", "key"), data, f"data={shown(data)}")
        return
    if not hasattr(data, "own"):
        raise RequestError(
            f"data must be the key of a data set or a table made by pubench.data, got {type(data).__name__}",
            field="data.key",
        )
    for name, value in data.own.items():
        layer.put(("data", "own", name), value, f"data ({name})")
    if data.scheme is not None:
        layer.put(("data", "scheme"), data.scheme, f"scheme={data.scheme!r}")


def plain(value: Any) -> Any:
    """The value as a YAML file would have it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, Path):
        return value
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [plain(item) for item in value]
    return value


def carry_out(plan: Plan, *, force: bool = False, progress: Callable[[str], None] | None = None) -> RunResult:
    """Trains, or finds the stored result. Raises RequestError, RunFailed, RecordError.

    What a reader of the result must know is warned of.
    """
    from pubench_core.engine.execute import execute
    from pubench_core.sinks import listeners_of

    def say(text: str) -> None:
        if progress is not None:
            progress(said(text))

    done = execute(plan, listeners=listeners_of(plan.spec.execution), force=force, say=say)
    for text in (*done.result.warnings, *done.result.chosen.warnings):
        warnings.warn(visible(text), PubenchWarning, stacklevel=3)
    return done
