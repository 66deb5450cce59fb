"""A saved model, read again: scoring new rows with what a run scored with."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import torch
from annotated_types import Gt, Len
from pydantic import BaseModel, ConfigDict, FiniteFloat, PositiveInt, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as deserialize
from torch import Tensor, nn

from pubench_core.backbone import Backbone, NetworkBuilder
from pubench_core.data.labeled import Column
from pubench_core.data.preprocess import Preprocessing
from pubench_core.data.sparse import SparseRows
from pubench_core.data.store import row_wise
from pubench_core.engine.resolve_method import method_class
from pubench_core.errors import PluginError, PubenchError, RecordError, RequestError, said_by, shown
from pubench_core.isolation import tiny_numbers_as_zero
from pubench_core.method import AnyMethod
from pubench_core.plugins.info import BackboneInfo, MethodInfo
from pubench_core.plugins.registry import Registry, load
from pubench_core.records.files import MODEL, fold_model
from pubench_core.specs import RunSpec
from pubench_core.training.scoring import score_rows
from pubench_core.training.views import features_of

from .model_file import PREPROCESS, VERSION

#: Values of a row, at most; a real one has thousands.
MOST_VALUES = 1 << 24
#: A network that is made again has at most this many times the numbers that the file holds, and a million.
SLACK = 4


class ModelFacts(BaseModel):
    """Metadata of a model file. A file may come from anywhere: types and sizes are checked.

    ``numbers``: what a method scores with and is neither tensor nor array, by name. ``parts``: how each attribute that
    it scores with is made again.
    """

    model_config = ConfigDict(frozen=True)

    spec: RunSpec
    shape: Annotated[tuple[PositiveInt, ...], Len(1, 3)]
    mean: tuple[FiniteFloat, ...] | None
    std: tuple[Annotated[FiniteFloat, Gt(0)], ...] | None
    columns: tuple[Column, ...] | None
    candidate: str
    parts: dict[str, dict[str, Any]]
    numbers: dict[str, Any]


@dataclass(frozen=True)
class SavedModel:
    """``shape``: of one row as the network takes it. ``columns``: how a table becomes rows, where it was the user's."""

    method: AnyMethod
    spec: RunSpec
    shape: tuple[int, ...]
    preprocessing: Preprocessing
    columns: tuple[Column, ...] | None
    candidate: str

    def scores(self, x: npt.NDArray[Any] | SparseRows) -> npt.NDArray[np.float64]:
        """(n,) scores of (n, *shape) rows as read, before preprocessing; positive iff above 0."""
        rows = x if isinstance(x, SparseRows) else row_wise(x, self.preprocessing.kind)
        values: Any = self.preprocessing.apply(rows)  # type: ignore[type-var] # of the kind of the rows
        keep = type(self.method).takes_sparse(self.method.config)
        scorer = self.method.candidates()[self.candidate]
        places = torch.arange(len(values))
        with tiny_numbers_as_zero():
            found = score_rows(scorer, features_of(values, torch.device("cpu"), keep_sparse=keep), places)
        return np.asarray(found.double().numpy())


def load_model(path: Path, registry: Registry) -> SavedModel:
    """The model in a file of :func:`~.model_file.model_bytes`, ready to score on the CPU.

    Raises RequestError if the run kept none, RecordError if the file is damaged or of another version, PluginError if
    it cannot be rebuilt.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise RequestError(
            f"{path} is missing: the run kept no model; run it again with execution.save_model=true",
            field="execution.save_model",
        ) from error
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror or error}") from error
    return model_of(content, registry, str(path))


def models_in(folder: Path, registry: Registry) -> list[SavedModel]:
    """The models that a record keeps: one, or those of all folds, whose mean score is that of a row. As
    :func:`load_model`."""
    names = sorted(folder.glob(fold_model("*")), key=lambda path: int(path.stem.rpartition("-")[2]))
    return [load_model(path, registry) for path in names or [folder / MODEL]]


def model_of(content: bytes, registry: Registry, path: str = "the model") -> SavedModel:
    """The model in the content of such a file, which has scored one row. ``path``: its name, for messages."""
    facts, tensors = _read(content, path)
    info = registry.find(MethodInfo, facts.spec.method.key)
    backbone = registry.find(BackboneInfo, facts.spec.backbone.key)
    factory = _bounded(load(backbone), SLACK * sum(t.numel() for t in tensors.values()) + 10**6, path)
    in_bf16 = facts.spec.precision == "bf16"
    build = NetworkBuilder(backbone.key, factory, facts.shape, facts.mean, facts.std, in_bf16)
    implementation = method_class(info)
    try:
        model = _assembled(implementation, facts, tensors, build)
        model.scores(np.zeros((1, *facts.shape), dtype=np.float32))
    except PubenchError:
        raise
    # Code of the method's author runs on what the file says, which may be anything; the cause stays attached.
    except Exception as error:
        raise PluginError(f"{path} does not fit {info.key} as it is installed here ({said_by(error)})") from error
    return model


def _assembled(
    implementation: type[AnyMethod], facts: ModelFacts, tensors: Mapping[str, Tensor], build: NetworkBuilder
) -> SavedModel:
    """The method with its state put back. Raises whatever its code raises on a state that is none of its."""
    method = implementation(implementation.Config.model_validate(facts.spec.method.config))
    if set(facts.parts) != set(method.scored_by):
        raise ValueError(f"it holds {', '.join(sorted(facts.parts))}; expected {', '.join(method.scored_by)}")
    method.assemble(build)
    for name, recipe in facts.parts.items():
        _rebuild(method, name, recipe, tensors, facts.numbers, build)
    if facts.candidate not in method.candidates():
        raise ValueError(f"it has no scorer '{facts.candidate}'")
    arrays = {n.removeprefix(PREPROCESS): t.numpy() for n, t in tensors.items() if n.startswith(PREPROCESS)}
    preprocessing = Preprocessing(facts.spec.data.preprocess, **arrays)
    _check_numbers(preprocessing, facts.shape)
    return SavedModel(method, facts.spec, facts.shape, preprocessing, facts.columns, facts.candidate)


def _check_numbers(preprocessing: Preprocessing, shape: tuple[int, ...]) -> None:
    """Raises ValueError where its numbers are not those of rows of this shape, one for each value."""
    kind, mean, deviation = preprocessing.kind, preprocessing.mean, preprocessing.deviation
    if (mean is None) != (kind != "standardize") or (mean is None) != (deviation is None):
        raise ValueError(f"preprocessing '{kind}' without its numbers, or with those of another")
    for name, array in preprocessing.arrays().items():
        right = (math.prod(shape),) if name == "fill" else shape
        if array.dtype != np.float64 or array.shape != right or not np.isfinite(array).all():
            raise ValueError(f"'{name}' of the preprocessing is {array.dtype} {array.shape}; expected finite {right}")
    if deviation is not None and not (deviation > 0).all():
        raise ValueError("a deviation of the preprocessing is not above 0")
    if preprocessing.bound is not None and not (preprocessing.bound > 0).all():
        raise ValueError("a bound of the preprocessing is not above 0")


def _read(content: bytes, path: str) -> tuple[ModelFacts, dict[str, Tensor]]:
    """Facts and tensors. Raises RecordError for a file that has none, or none of this version."""
    try:
        tensors = deserialize(content)
        header = content[8 : 8 + int.from_bytes(content[:8], "little")]
        plain = json.loads(json.loads(header)["__metadata__"]["pubench"])
        version = plain["version"]
        facts = ModelFacts.model_validate(plain) if version == VERSION else None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise RecordError(f"{path} is not a model of this version of pubench ({where}: {first['msg']})") from error
    # RecursionError: lists in lists in lists
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"{path} is not a model of this version of pubench ({type(error).__name__})") from error
    if facts is None:
        raise RecordError(f"{path} has layout {version!r:.40}; this version reads layout {VERSION}")
    if wrong := _contradiction(facts, tensors):
        raise RecordError(f"{path} is damaged: {wrong}")
    return facts, tensors


def _contradiction(facts: ModelFacts, tensors: Mapping[str, Tensor]) -> str:
    """What in a file contradicts something else in it; empty if nothing does."""
    d = math.prod(facts.shape)
    if d > MOST_VALUES:
        return f"rows of {d:,} values; at most {MOST_VALUES:,} can be"
    if facts.columns is not None and (found := sum(len(column.features) for column in facts.columns)) != d:
        return f"its columns make {found} features, and its rows have {d}"
    for name, channels in (("mean", facts.mean), ("std", facts.std)):
        if channels is not None and len(channels) != facts.shape[0]:
            return f"'{name}' has {len(channels)} values for {facts.shape[0]} channels"
    return next((f"'{name}' holds complex numbers" for name, t in tensors.items() if t.is_complex()), "")


def _bounded(
    factory: Callable[[tuple[int, ...], int], Backbone], most: int, path: str
) -> Callable[[tuple[int, ...], int], Backbone]:
    """The factory of a backbone, which makes none of more than ``most`` numbers: a file decides shape and outputs."""

    def make(shape: tuple[int, ...], outputs: int) -> Backbone:
        try:
            with torch.device("meta"):  # nothing is allocated
                size = sum(p.numel() for p in factory(shape, outputs).parameters())
        except RuntimeError:  # a factory that computes with numbers, or one that refuses the shape: below, too
            size = 0
        if size > most:
            raise RecordError(f"{path} is damaged: a network for it has {size:,} numbers, far more than it holds")
        return factory(shape, outputs)

    return make


def _rebuild(
    method: AnyMethod,
    name: str,
    recipe: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    numbers: Mapping[str, Any],
    build: Callable[[int], Backbone],
) -> None:
    prefix = f"{name}."
    state: dict[str, Any] = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    state |= {k.removeprefix(prefix): v for k, v in numbers.items() if k.startswith(prefix)}
    kind = type(method).__name__
    match dict(recipe):
        case {"array": True}:
            setattr(method, name, tensors[name].numpy())
        case {"value": True}:
            setattr(method, name, tensors[name] if name in tensors else numbers[name])
        case {"object": str(where)}:
            made = getattr(method, name) if hasattr(method, name) else _object_of(where, method)
            made.load_state_dict({k: v.numpy() if isinstance(v, Tensor) else v for k, v in state.items()})
            setattr(method, name, made)
        case {"backbone": int(outputs)}:
            setattr(method, name, build(outputs))
            getattr(method, name).load_state_dict(state)
        case {"backbones": [*each]} if all(isinstance(outputs, int) for outputs in each) and len(each) <= len(state):
            setattr(method, name, nn.ModuleList([build(outputs) for outputs in each]))
            getattr(method, name).load_state_dict(state)
        case {"assembled": _}:
            if not hasattr(method, name):
                raise PluginError(
                    f"{kind} scores with '{name}', a module of its own; {kind}.assemble must make it before a saved "
                    "model can be loaded"
                )
            getattr(method, name).load_state_dict(state)
        case _:
            raise ValueError(f"'{name}' cannot be made of {shown(dict(recipe))}")


def _object_of(where: str, method: AnyMethod) -> Any:
    """An empty object of a class from the method's own package; a file cannot name any other."""
    module, _, name = where.partition(":")
    package = type(method).__module__.split(".")[0]
    if module.split(".")[0] != package:
        raise RecordError(f"the model names {where}, which is not of the method's package {package}")
    kind: Any = getattr(importlib.import_module(module), name)
    is_class = isinstance(kind, type)
    if not is_class:
        raise RecordError(f"the model names {where}, which is no class")
    return kind.__new__(kind)
