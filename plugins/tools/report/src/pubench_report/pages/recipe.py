"""The command that carries a run out again, from its recorded spec.

It names everything that decides the scores and is not what the installed plugins would take anyway: hyper-parameters
that the preset gives, and classes and preprocessing that the data set has by itself, are left out.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from pubench_core.data.table_reader import in_memory
from pubench_core.plugins.info import DatasetInfo, MechanismInfo, MethodInfo
from pubench_core.results import Result
from pubench_core.specs import ExecutionSpec, RunSpec, UserTableSpec
from pubench_core.specs.run_fields import RunField, run_fields

from .names import info_of

#: One encoder for all: json.dumps makes one for every call.
_as_json = json.JSONEncoder(separators=(",", ":")).encode
#: Marks a field that no request sets.
LEFT_OUT = object()
#: Stands for the seed in what the runs of a cell have in common.
SEED = "\N{SYMBOL FOR SUBSTITUTE}"
#: Fields outside of the run id that a recipe names all the same.
_NAMED = frozenset(
    {"method.preset", "data.binarization", "data.own.path", "data.own.test", "data.own.positives"}
    | {"selection.criterion", "selection.non_finite", "execution.threads", "execution.device"}
)


class Recipe(NamedTuple):
    """``command`` for a shell, with ``SEED`` in the place of the seed. ``first``: what must be done before, if any."""

    command: str
    first: str = ""


def recipe(result: Result) -> Recipe:
    """Recipe of a recorded run. Threads and a CPU are named, as they can decide the last digits."""
    execution = {"threads": result.threads, "device": "cpu" if result.device.startswith("cpu") else "auto"}
    spec = result.spec.model_copy(update={"execution": ExecutionSpec.model_validate(execution)})
    own, first = spec.data.own, ""
    words = ["pubench", "run", "--method", spec.method.key]
    words += ["--data", spec.data.key if own is None else str(_saved(own.path))]
    for one, value in named_fields(spec):
        words += _typed(one, _saved_test(own) if own is not None and one.name == "data.own.test" else value)
    info, preset = info_of(MethodInfo, spec.method.key), spec.method.preset
    known = info.presets.get(preset) if info is not None and preset is not None else None
    given = known.resolve(spec.data.key) if known is not None else {}
    for name, value in spec.method.config.items():
        if name not in given or given[name] != value:
            words += ["--set", f"{name}={_yaml(value)}"]
    if own is not None and any(path is not None and in_memory(path) for path in (own.path, own.test)):
        saved = _saved(own.path) if in_memory(own.path) else Path(own.path.name).with_suffix(".parquet")
        first = f"The table was in memory: table.save({str(saved)!r}) writes what is read here."
    return Recipe(f"{shlex.join(words)} --seed {SEED}", first)


def named_fields(spec: BaseModel) -> Iterator[tuple[RunField, Any]]:
    """The fields that a request for this run must set, in the order of their declaration, with their values.

    Those with a flag or an argument are named unless they are neutral, the others if they are not as by default.
    """
    taken = _taken(spec) if isinstance(spec, RunSpec) else {}
    for one in run_fields(type(spec)):
        value: Any = spec
        for name in one.path:
            value = getattr(value, name, None)
        if value in (None, (), {}, one.neutral) or (one.name in taken and taken[one.name] in (value, LEFT_OUT)):
            continue
        if (one.identifies or one.name in _NAMED) and (one.flag or one.argument or value != one.default):
            yield one, value


def _taken(spec: RunSpec) -> dict[str, Any]:
    """Field -> the value that installed plugins take by themselves, or :data:`LEFT_OUT`."""
    names = ["method.key", "method.config", "data.key", "data.own.path", "seed"]
    names += [f"data.own.{name}sha256" for name in ("", "test_", "positives_")]
    found: dict[str, Any] = dict.fromkeys(names, LEFT_OUT) | {"execution.device": "auto"}
    info, mechanism = info_of(DatasetInfo, spec.data.key), info_of(MechanismInfo, spec.mechanism.key)
    if spec.data.own is not None or info is not None:
        found["data.preprocess"] = LEFT_OUT if spec.data.own is not None or info is None else info.preprocess
    usual = None if info is None else (tuple(sorted(info.positive)), tuple(sorted(info.negative)))
    if spec.data.own is not None or spec.data.binarization or usual == (spec.data.positive, spec.data.negative):
        found["data.positive"] = found["data.negative"] = LEFT_OUT
    if spec.mechanism.amount is None:  # labels are given
        found["mechanism.key"] = found["mechanism.variant"] = LEFT_OUT
    elif mechanism is not None:
        found["mechanism.variant"] = mechanism.variants[0]
    return found


def _saved(path: Path) -> Path:
    """Where a table in memory is once it is saved; a file stays where it is."""
    return Path(f"{path.name}.parquet") if in_memory(path) else path


def _saved_test(own: UserTableSpec) -> Path | None:
    """As ``PUTable.save`` names it."""
    if own.test is None or not in_memory(own.test):
        return own.test
    return Path(f"{_saved(own.path).stem}-test.parquet")


def _typed(field: RunField, value: Any) -> list[str]:
    """A field as it is typed; a list whose texts have commas themselves is written as YAML."""
    plain = list(value) if isinstance(value, tuple) else value
    commas = isinstance(plain, list) and any("," in str(one) or str(one) != str(one).strip() for one in plain)
    if not field.flag or commas:
        return ["--set", f"{field.name}={_yaml(plain)}"]
    if field.switch is not None:
        return [field.flag]
    return [field.flag, ",".join(map(str, plain)) if isinstance(plain, list) else str(plain)]


def _yaml(value: Any) -> str:
    return value if isinstance(value, str) else _as_json(value)
